#!/bin/sh
# unzip -o removes the old file before it creates the new one, so a full disk leaves neither.
# unzip 6.0-28
# Found by the story unzip_over.
cd "$(mktemp -d)" && trap 'rm -r "$PWD"' EXIT
seq 9 >out
zip -q a.zip out
seq 8 >out
strace -qqo /dev/null -P "$PWD/out" -P out -e inject=openat:error=ENOSPC unzip -qo a.zip 2>/dev/null
[ ! -e out ] && echo "shown: out is removed, and not replaced" && exit
echo "not shown"
exit 1
