#!/bin/sh
# brotli -j removes its input although the output could not be written: the disk is full at the
# flush in fclose, brotli exits with 1, and both files are lost. brotli 1.0.9-2+deb12u1
# Found by the story brotli.
cd "$(mktemp -d)" && trap 'rm -r "$PWD"' EXIT
seq 9 >out
strace -qqo /dev/null -P "$PWD/out.br" -e inject=write:error=ENOSPC brotli -j out
[ -e out ] || brotli -t out.br 2>/dev/null || { echo "shown: out is removed, out.br is bad"; exit 0; }
echo "not shown"
exit 1
