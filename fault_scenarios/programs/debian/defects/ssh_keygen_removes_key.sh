#!/bin/sh
# ssh-keygen -p writes the key in place and unlinks it after a write error, so changing the
# passphrase on a full disk destroys the only private key. openssh-client 1:9.2p1-2+deb12u6
# Found by the story ssh_keygen_passphrase.
cd "$(mktemp -d)" && trap 'rm -r "$PWD"' EXIT
ssh-keygen -q -t ed25519 -N '' -C '' -f key
strace -qqo /dev/null -P "$PWD/key" -e inject=write:error=ENOSPC \
  ssh-keygen -q -p -N new -f key >/dev/null 2>&1
[ ! -e key ] && echo "shown: the private key is removed" && exit
echo "not shown"
exit 1
