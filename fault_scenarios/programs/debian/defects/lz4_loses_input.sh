#!/bin/sh
# lz4 --rm exits with 0 and removes its input although the output could not be written: the result
# of the flush in fclose is ignored. lz4 1.9.4-1
# Found by the story lz4.
cd "$(mktemp -d)" && trap 'rm -r "$PWD"' EXIT
seq 9 >out
strace -qqo /dev/null -P "$PWD/out.lz4" -e inject=write:error=ENOSPC lz4 -q --rm out out.lz4 &&
  ! [ -e out ] && ! [ -s out.lz4 ] && echo "shown: exit 0, out is removed, out.lz4 is empty" && exit
echo "not shown"
exit 1
