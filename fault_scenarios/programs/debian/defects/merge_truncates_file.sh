#!/bin/sh
# merge truncates the file before it writes the result, so a full disk loses the changes of the
# working copy. rcs 5.10.1-1
# Found by the story merge.
cd "$(mktemp -d)" && trap 'rm -r "$PWD"' EXIT
seq 9 >old
sed s/1/2/ old >out
sed s/9/8/ old >new
strace -fqqo /dev/null -P "$PWD/out" -e inject=write:error=ENOSPC merge out old new 2>/dev/null
! grep -q 7 out && echo "shown: out has $(wc -c <out) bytes" && exit
echo "not shown"
exit 1
