#!/bin/sh
# ci leaves its lock file ,out, if the last rename fails, here with ENOSPC, and each later ci fails
# because the RCS file is "in use". rcs 5.10.1-1
# Found by the story rcs_ci_again.
cd "$(mktemp -d)" && trap 'rm -r "$PWD"' EXIT
seq 9 >out
ci -q -t-t -mm -l out
seq 8 >out
strace -fqqo /dev/null -e inject=rename:error=ENOSPC ci -q -mm -l out 2>/dev/null
[ -e ,out, ] && ! ci -q -mm -l out 2>/dev/null && echo "shown: ci is blocked by ,out," && exit
echo "not shown"
exit 1
