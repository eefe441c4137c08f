#!/bin/sh
# perl -pi exits with 0 although it could not open the file that it had to change.
# perl 5.36.0-7+deb12u4
# Found by the story perl_i.
cd "$(mktemp -d)" && trap 'rm -r "$PWD"' EXIT
seq 9 >out
strace -qqo /dev/null -P "$PWD/out" -P out -e inject=openat:error=EMFILE:when=1 \
  perl -pi -e s/1/2/ out 2>/dev/null && grep -q 1 out && echo "shown: exit 0, out is the same" && exit
echo "not shown"
exit 1
