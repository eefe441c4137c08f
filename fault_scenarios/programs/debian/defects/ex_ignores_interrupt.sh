#!/bin/sh
# ex -s exits with 0 but neither edits nor writes the file if SIGINT arrives during its start.
# vim-tiny 2:9.0.1378-2+deb12u2
# Found by the story ex.
cd "$(mktemp -d)" && trap 'rm -r "$PWD"' EXIT
seq 9 >out
strace -qqo /dev/null -e inject=socket:signal=INT ex -s -c '1s/1/2/|x' out && grep -q 1 out &&
  echo "shown: exit 0, out is not edited" && exit
echo "not shown"
exit 1
