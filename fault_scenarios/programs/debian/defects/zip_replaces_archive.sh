#!/bin/sh
# zip exits with 0 and replaces a whole archive by the new file alone if it cannot open the archive
# for a moment, here with EMFILE: it takes any error for "no such archive". zip 3.0-13
# Found by the story zip_update.
cd "$(mktemp -d)" && trap 'rm -r "$PWD"' EXIT
seq 9 >new
seq 8 >old
zip -q a.zip old
strace -qqo /dev/null -P a.zip -e inject=openat:error=EMFILE:when=1 zip -q a.zip new 2>/dev/null &&
  unzip -qt a.zip >/dev/null && ! unzip -l a.zip | grep -q ' old$' &&
  echo "shown: exit 0, old is not in a.zip any more" && exit
echo "not shown"
exit 1
