#!/bin/sh
# zstd dies of SIGSEGV if its output cannot be created, here with ENOSPC: it calls setvbuf before it
# checks the stream that fopen or fdopen returned. zstd 1.5.4+dfsg2-5
# Found by the story zstd.
cd "$(mktemp -d)" && trap 'rm -r "$PWD"' EXIT
seq 9 >out
strace -qqo /dev/null -P out.zst -e inject=openat:error=ENOSPC zstd -q -T1 out >message 2>&1
[ $? = 139 ] && echo "shown: zstd died of SIGSEGV" && exit
echo "not shown"
exit 1
