#!/bin/sh
# gcc dies of SIGABRT if its temporary file cannot be created, here with ENOSPC: libiberty calls
# abort() instead of reporting the error. gcc-12 12.2.0-14+deb12u1
# Found by the story gcc_compile.
cd "$(mktemp -d)" && trap 'rm -r "$PWD"' EXIT
echo 'int f(void){return 1;}' >a.c
TMPDIR=$PWD strace -qqo log -e trace=openat gcc -c a.c
nth=$(grep -n '\.s"' log | head -n 1 | cut -d: -f1)
TMPDIR=$PWD strace -qqo log -e inject=openat:error=ENOSPC:when="$nth" gcc -c a.c 2>/dev/null
[ $? = 134 ] && echo "shown: gcc died of SIGABRT" && exit
echo "not shown"
exit 1
