#!/bin/sh
# gdbmtool exits with 0 although it could not open or write the database, so a script cannot notice
# that a record was not stored. gdbmtool 1.23-3
# Found by the story gdbm.
cd "$(mktemp -d)" && trap 'rm -r "$PWD"' EXIT
strace -qqo /dev/null -P "$PWD/db" -e inject=write:error=ENOSPC \
  gdbmtool -N db store a b 2>/dev/null && [ "$(gdbmtool -N db fetch a 2>/dev/null)" != b ] &&
  echo "shown: exit 0, the record is not stored" && exit
echo "not shown"
exit 1
