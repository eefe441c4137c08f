#!/bin/sh
# msgfmt exits with 0 and renames an empty file to the catalog if the disk is full: the flush at
# the end is not checked. gettext 0.21-12
# Found by the story gettext_msgfmt.
cd "$(mktemp -d)" && trap 'rm -r "$PWD"' EXIT
printf 'msgid "a"\nmsgstr "b"\n' >a.po
strace -qqo /dev/null -e inject=write:error=ENOSPC msgfmt a.po -o a.mo && ! [ -s a.mo ] &&
  echo "shown: exit 0, the catalog is empty" && exit
echo "not shown"
exit 1
