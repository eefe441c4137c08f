#!/bin/sh
# msgcat exits with 0 and an empty output if the disk is full: the flush at the end is
# not checked. gettext 0.21-12
# Found by the story gettext_msgfmt.
cd "$(mktemp -d)" && trap 'rm -r "$PWD"' EXIT
printf 'msgid "a"\nmsgstr "b"\n' >a.po
strace -qqo /dev/null -P "$PWD/b.po" -e inject=write:error=ENOSPC msgcat a.po -o b.po &&
  ! [ -s b.po ] && echo "shown: exit 0, b.po is empty" && exit
echo "not shown"
exit 1
