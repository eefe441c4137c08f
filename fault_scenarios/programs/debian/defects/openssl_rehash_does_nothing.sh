#!/bin/sh
# openssl rehash exits with 0, without a message, if the folder cannot be read, so certificates are
# not found later. openssl 3.0.19-1~deb12u2
# Found by the story openssl_rehash.
cd "$(mktemp -d)" && trap 'rm -r "$PWD"' EXIT
mkdir d
openssl req -x509 -newkey ed25519 -nodes -keyout key -subj /CN=a -out d/a.pem 2>/dev/null
strace -qqo /dev/null -P "$PWD/d" -P d -e inject=openat:error=EMFILE openssl rehash d 2>message &&
  ! ls d | grep -q '\.0$' && echo "shown: exit 0, no link is made" && exit
echo "not shown"
exit 1
