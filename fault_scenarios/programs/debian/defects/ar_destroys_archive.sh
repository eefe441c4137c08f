#!/bin/sh
# ar copies the new archive over the old one in place, so a full disk or a signal destroys all old
# members. binutils 2.40-2
# Found by the story ar_replace.
cd "$(mktemp -d)" && trap 'rm -r "$PWD"' EXIT
seq 8 >old
seq 9 >new
ar rc out.a old
strace -qqo /dev/null -P "$PWD/out.a" -e inject=write:error=ENOSPC ar r out.a new 2>/dev/null
ar t out.a 2>/dev/null | grep -q old || { echo "shown: out.a has $(wc -c <out.a) bytes"; exit 0; }
echo "not shown"
exit 1
