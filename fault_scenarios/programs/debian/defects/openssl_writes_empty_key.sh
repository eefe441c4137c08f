#!/bin/sh
# openssl genpkey -out exits with 0 and an empty key file if the disk is full: the flush at the end
# is not checked. openssl 3.0.19-1~deb12u2
# Found by the story openssl_genpkey.
cd "$(mktemp -d)" && trap 'rm -r "$PWD"' EXIT
strace -qqo /dev/null -P "$PWD/key" -e inject=write:error=ENOSPC \
  openssl genpkey -quiet -algorithm ed25519 -out key && ! [ -s key ] &&
  echo "shown: exit 0, the key is empty" && exit
echo "not shown"
exit 1
