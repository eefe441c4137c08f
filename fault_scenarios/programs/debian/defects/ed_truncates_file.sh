#!/bin/sh
# ed truncates the file before it writes, and its buffer ends with it: with a full disk, a script
# that edits a file loses both the old and the new text. ed 1.19-1
# Found by the story ed.
cd "$(mktemp -d)" && trap 'rm -r "$PWD"' EXIT
seq 9 >out
printf '1s/1/2/\nw\nq\n' |
  strace -qqo /dev/null -P "$PWD/out" -e inject=write:error=ENOSPC ed -s out >/dev/null 2>&1
! grep -q 9 out && echo "shown: out has $(wc -c <out) bytes" && exit
echo "not shown"
exit 1
