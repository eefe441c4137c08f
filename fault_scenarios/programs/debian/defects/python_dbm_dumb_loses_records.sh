#!/bin/sh
# Python's dbm.dumb takes any error at opening its index for "no index yet", and writes an index
# with the new record alone: all old records are lost, with exit 0. python3.11 3.11.2-6+deb12u6
# Found by the story python_shelve.
cd "$(mktemp -d)" && trap 'rm -r "$PWD"' EXIT
store() { echo "import dbm.dumb; d = dbm.dumb.open('db'); d['$1'] = 'x'; d.close()"; }
/usr/bin/python3 -ISE -c "$(store old)"
strace -qqo /dev/null -P "$PWD/db.dir" -P db.dir -e inject=openat:error=EMFILE:when=1 \
  /usr/bin/python3 -ISE -c "$(store new)" && ! grep -q old db.dir &&
  echo "shown: exit 0, the index has only $(cat db.dir)" && exit
echo "not shown"
exit 1
