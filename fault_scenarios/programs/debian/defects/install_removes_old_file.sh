#!/bin/sh
# install removes the old file before it knows that it can open the new one, so an unreadable
# source or a moment without descriptors loses the target. coreutils 9.1-1
# Found by the story install_over.
cd "$(mktemp -d)" && trap 'rm -r "$PWD"' EXIT
seq 9 >new
seq 8 >out
strace -qqo /dev/null -P new -P "$PWD/new" -e inject=openat:error=EMFILE install new out 2>/dev/null
[ ! -e out ] && echo "shown: out is removed, and not replaced" && exit
echo "not shown"
exit 1
