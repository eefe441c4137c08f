#!/bin/sh
# 7z removes the old archive before it renames the new one, so an error or a signal in between
# leaves no archive, only out.7z.tmp. p7zip-full 16.02+really26.02+dfsg-0+deb12u1
# Found by the story seven_zip_update.
cd "$(mktemp -d)" && trap 'rm -r "$PWD"' EXIT
seq 9 >new
seq 8 >old
7z a out.7z old >/dev/null
strace -fqqo /dev/null -e inject=rename:error=EACCES 7z a out.7z new >/dev/null 2>&1
[ ! -e out.7z ] && echo "shown: out.7z is removed; there is $(echo out*)" && exit
echo "not shown"
exit 1
