#!/bin/sh
# savelog exits with 0 and moves the log to the hidden file .0, not to log.0, if basename cannot
# write to its pipe: it uses the empty text as the name. debianutils 5.7-0.5~deb12u1
# Found by the story savelog.
cd "$(mktemp -d)" && trap 'rm -r "$PWD"' EXIT
seq 9 >log
strace -fqqo /dev/null -e inject=write:error=ENOMEM:when=1 savelog -q -l log 2>/dev/null &&
  [ ! -s log ] && [ ! -e log.0 ] && [ -e .0 ] && echo "shown: exit 0, the log is in .0" && exit
echo "not shown"
exit 1
