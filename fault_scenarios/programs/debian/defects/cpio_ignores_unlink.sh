#!/bin/sh
# cpio -iu exits with 0 and leaves the old file, without a message, if the old file cannot be
# unlinked, as in a folder of another user. cpio 2.13+dfsg-7.1
# Found by the story cpio_extract_over.
cd "$(mktemp -d)" && trap 'rm -r "$PWD"' EXIT
seq 9 >out
echo out | cpio -o --quiet >a.cpio
seq 8 >out
strace -qqo /dev/null -e inject=unlink:error=EACCES cpio -iu --quiet -I a.cpio &&
  ! grep -q 9 out && echo "shown: exit 0, out is not extracted" && exit
echo "not shown"
exit 1
