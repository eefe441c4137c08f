#!/bin/sh
# Python's fileinput with inplace=True renames the file to out.bak, and if it cannot open a file
# then, it removes out.bak in its cleanup: both are lost. python3.11 3.11.2-6+deb12u6
# Found by the story python_fileinput.
cd "$(mktemp -d)" && trap 'rm -r "$PWD"' EXIT
seq 9 >out
strace -qqo /dev/null -P "$PWD/out.bak" -P out.bak -e inject=openat:error=EMFILE \
  /usr/bin/python3 -ISE -c "import fileinput
for line in fileinput.input('out', inplace=True): print(line, end='')" 2>/dev/null
[ ! -s out ] && [ ! -e out.bak ] && echo "shown: neither out nor out.bak exists" && exit
echo "not shown"
exit 1
