#!/bin/sh
# sed -i leaves its temporary file, such as sedAbC123, next to the edited file when SIGTERM or
# SIGINT ends it: it has no handler. sed 4.9-1
# Found by the story sed_i.
cd "$(mktemp -d)" && trap 'rm -r "$PWD"' EXIT
seq 9 >out
sh -c 'strace -qqo /dev/null -e inject=fchown:signal=TERM sed -i s/1/2/ out; true' 2>/dev/null
ls | grep -q '^sed' && echo "shown: there is $(echo sed*)" && exit
echo "not shown"
exit 1
