#!/bin/sh
# zip removes the old archive before it renames the new one, so an error or a signal in between
# leaves no archive, only a temporary file with a random name. zip 3.0-13
# Found by the story zip_update.
cd "$(mktemp -d)" && trap 'rm -r "$PWD"' EXIT
seq 9 >new
seq 8 >old
zip -q a.zip old
strace -qqo /dev/null -e inject=rename:error=EACCES zip -q a.zip new 2>/dev/null
[ ! -e a.zip ] && echo "shown: a.zip is removed; there is $(echo zi*)" && exit
echo "not shown"
exit 1
