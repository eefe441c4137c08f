#!/usr/bin/env bash
# bisect_test: ./lastref bisect in a toy repository, whose commits are numbered 0 to 20.
#
#     bisect_test.sh LAUNCHER FOLDER
#
# Commit number N has the file `number`, which says N. A bug that commit FIRST introduced is seen in
# 5 % of the runs, which LASTREF_SEED decides. The commits in BROKEN cannot be tested.
set -euo pipefail
launcher=$1
folder=$2
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
export GIT_AUTHOR_NAME=toy GIT_AUTHOR_EMAIL=toy@localhost
export GIT_COMMITTER_NAME=toy GIT_COMMITTER_EMAIL=toy@localhost
export TMPDIR=$folder/tmp FIRST BROKEN FAILS

failed=0
complain() {
  printf 'bisect_test: %s\n' "$*"
  failed=1
}

git_here() {
  git -C "$folder/toy" "$@"
}

# commit N: on the branch that is checked out.
commit() {
  printf '%d\n' "$1" >"$folder/toy/number"
  git_here add --all
  git_here commit --quiet --message "number $1"
}

rm -rf "$folder"
mkdir -p "$folder/toy" "$folder/tmp" "$folder/bin"
git_here init --quiet --initial-branch main
cp "$launcher" "$folder/toy/lastref"
printf 'build/\n' >"$folder/toy/.gitignore"
: >"$folder/toy/packages.txt"
cat >"$folder/toy/step" <<'STEP'
#!/bin/sh
read -r number <number
case " $BROKEN " in *" $number "*) exit 125 ;; esac
[ "$number" -ge "$FIRST" ] || exit 0
draw=$(((LASTREF_SEED * 1000003 + number) * 2654435761 & 0xffffffff))
draw=$(((draw ^ draw >> 15) * 2246822519 & 0xffffffff))
[ $(((draw ^ draw >> 13) % 20)) -ne 0 ] || { echo "it is seen with $LASTREF_SEED"; exit 1; }
STEP
# A product whose build is a copy. Its hunt knows one scenario, and its suite one story.
cat >"$folder/toy/program" <<'PROGRAM'
#!/bin/bash
if [[ "$*" == "run --suite a/suite.toml --story leak* --first --bisect" ]]; then
  exec ./step  # In the tree of the commit
fi
shift 2  # hunt --first
while (($# > 0)); do
  case $1 in
    --seed) LASTREF_SEED=$2 ;;
    --runs) most=$2 ;;
    --scenario) [[ $2 == toy/race ]] || { echo "lastref: no scenario $2" >&2; exit 2; } ;;
  esac
  shift 2
done
cd "${0%/build/*}" || exit 2
LASTREF_SEED=$((LASTREF_SEED * 1000))
export LASTREF_SEED
for ((run = 1; run <= most; ++run)); do
  ./step || { echo "VIOLATION toy/race"; echo "$run runs of 1 scenarios"; exit 1; }
  LASTREF_SEED=$((LASTREF_SEED + 1))
done
echo "$most runs of 1 scenarios"
PROGRAM
cat >"$folder/bin/cmake" <<'CMAKE'
#!/bin/sh
mkdir -p build/ci && : >build/ci/build.ninja && : >build/ci/CMakeCache.txt
CMAKE
cat >"$folder/bin/ninja" <<'NINJA'
#!/bin/sh
[ "$3" != -n ] || exit 0
read -r number <"$2/../../number"
case " $FAILS " in *" $number "*) echo "it does not build" && exit 1 ;; esac
mkdir -p "$2/bin" && cp "$2/../../program" "$2/bin/lastref"
NINJA
chmod +x "$folder"/toy/{step,program} "$folder"/bin/*
for number in {0..20}; do
  commit "$number"
done
git_here branch start main~20

# bisects CODE EXPRESSION WORDS...: what it prints is left in `said`.
bisects() {
  local code=0 expected=$1 expression=$2
  shift 2
  said=$(cd "$folder" && PATH=$folder/bin:$PATH "$folder/toy/lastref" bisect "$@" 2>&1) || code=$?
  ((code == expected)) || complain "$*: exit $code, not $expected: $said"
  [[ $said =~ $expression ]] || complain "$*: nothing like $expression in: $said"
  [[ -z $(git_here status --porcelain) && -z $(ls "$folder/tmp") &&
    $(git_here worktree list | wc -l) == 1 ]] || complain "$*: leftovers"
}

BROKEN='' FAILS=''
firsts=(8 20)
[[ -z ${LASTREF_TEST_ALL_COMMITS-} ]] || firsts=({1..20})  # Takes some minutes.
for FIRST in "${firsts[@]}"; do
  bisects 0 "bad commit is"$'\n'"  $(git_here rev-parse main~$((20 - FIRST))) number $FIRST"$'\n' \
    start main --seed "${FIRST}00000" -- ./step
done
[[ $said == *"about 6 steps"* && $said == *"it is seen with "* &&
  $said =~ 'to repeat the last steps: ./lastref bisect '[0-9a-f]+' '[0-9a-f]+' --misses 0.01 -- ./step' ]] ||
  complain "it does not explain: $said"

# With commits that cannot be tested
FIRST=7 BROKEN='5 10 11 12'
bisects 0 'bad commit is'$'\n''  [0-9a-f]+ number 7'$'\n' start main -- ./step
[[ $said == *"number 10: skipped"* ]] || complain "it does not name a skipped commit: $said"
FIRST=11 BROKEN='10 11 12'
bisects 3 'one of 4; .*number 10.*number 11.*number 12.*number 13'$'\n''at the last' \
  start main --step ./step --misses 0.001
FIRST=1 BROKEN=0
bisects 2 'GOOD was skipped' start main --step ./step
FIRST=1 BROKEN=20
bisects 2 'BAD was skipped' start main --step ./step

# With a build and its hunt
FIRST=13 BROKEN='' FAILS='10 14'
bisects 0 'bad commit is'$'\n''  [0-9a-f]+ number 13'$'\n' start main --scenario toy/race
[[ $said == *"number 10: skipped"* && $said == *" runs, in toy/race"* ]] ||
  complain "no build has failed: $said"
bisects 2 'no scenario toy/other.*BAD was skipped' start main --scenario toy/other

# With a story of a suite, whose program is that of the checkout
FIRST=13 BROKEN=10 FAILS=''
story=(--suite a/suite.toml --story 'leak*')
bisects 0 'bad commit is'$'\n''  [0-9a-f]+ number 13'$'\n' start main "${story[@]}"
[[ $said == *"number 10: skipped"* &&
  $said == *'--misses 0.01 --suite a/suite.toml --story leak\*' ]] ||
  complain "it does not repeat the story: $said"

# With the commits of another repository
git clone --quiet "$folder/toy" "$folder/other"
bisects 0 'bad commit is'$'\n''  [0-9a-f]+ number 13'$'\n' origin/start main "${story[@]}" \
  --repository "$folder/other"
[[ $(git -C "$folder/other" worktree list | wc -l) == 1 &&
  $said == *" --repository $folder/other "* ]] || complain "another repository: $said"

# Only the first parents
git_here checkout --quiet -b side main~10
commit 100
git_here checkout --quiet main
git_here merge --quiet --strategy ours --message 'number 20, merged' side
FIRST=20
bisects 0 'about 6 steps.*bad commit is'$'\n''  [0-9a-f]+ number 20'$'\n' start main --step ./step

# What cannot be bisected
FIRST=30
bisects 2 'BAD shows nothing in 60 runs' start main --step ./step --runs 60
FIRST=0
bisects 2 'it is seen with .*GOOD shows this' start main --step ./step
bisects 2 'no commit nowhere' nowhere main --step ./step
bisects 2 'main is not an ancestor of start' main start --step ./step
bisects 2 'no commit after GOOD' main main --step ./step
bisects 2 'two commits' main --step ./step
bisects 2 '--misses needs' start main --misses 1.5
bisects 2 '--seed needs' start main --seed few
bisects 2 '--runs needs' start main --runs 0
bisects 2 '--step needs' start main --step
bisects 2 '--suite and --story need each other' start main --suite a
bisects 2 '--suite excludes a command' start main --suite a --story b --step c
bisects 2 'no option --steps' start main --steps 3
bisects 2 'has exited with 7' start main --step 'exit 7'
# shellcheck disable=SC2016
bisects 143 'work tree' start main --step 'kill $PPID'
[[ $(git_here rev-parse --abbrev-ref HEAD) == main ]] || complain 'the checkout has changed'

# A build that fails, as git bisect run wants it
FAILS=20
mkdir -p "$folder/toy/harness/cli"
touch "$folder"/toy/harness/cli/{command_line,run_options}.cpp
printf 'add_subcommand("%s"' gate replay >"$folder/toy/harness/cli/command_line.cpp"
printf '"--bisect"' >"$folder/toy/harness/cli/run_options.cpp"
for words in 'replay a --bisect' 'gate --bisect'; do
  code=0
  read -ra words <<<"$words"
  said=$(PATH=$folder/bin:$PATH "$folder/toy/lastref" "${words[@]}" 2>&1) || code=$?
  ((code == 125)) || complain "${words[*]}: exit $code, not 125: $said"
done
exit "$failed"
