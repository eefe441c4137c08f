#!/bin/sh
# mosquitto dies of SIGABRT at its end if it cannot rename its database, here with ENOSPC: it
# closes the file twice, and leaves its socket and pid file. mosquitto 2.0.11-1.2+deb12u2
# Found by the story mosquitto.
cd "$(mktemp -d)" && trap 'rm -r "$PWD"' EXIT
printf '%s\n' "listener 0 $PWD/sock" 'allow_anonymous true' 'persistence true' \
  "persistence_location $PWD/" "pid_file $PWD/pid" 'user root' >conf
strace -qqo /dev/null -e inject=rename:error=ENOSPC mosquitto -c conf >message 2>&1 &
until [ -S sock ] && [ -s pid ]; do sleep 0.1; done
kill "$(cat pid)"
wait $! 2>>message
[ $? = 134 ] && echo "shown: mosquitto died of SIGABRT" && exit
echo "not shown"
exit 1
