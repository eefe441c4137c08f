"""verbs_test: record, history and bisect as programs: beside each other, killed, and refused.

    verbs_test.py LASTREF_PERF FOLDER
"""
import itertools
import json
import os
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys

PERF, FOLDER = sys.argv[1:]
DATABASE = os.path.join(FOLDER, 'history.sqlite')


def check(condition, what):
    if not condition:
        sys.exit(f'verbs_test: {what}')


def perf(*words, code=0, says='', program=PERF, **options):
    """What it says, on both outputs."""
    done = subprocess.run([program, *words], cwd=options.pop('cwd', FOLDER), stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, **options)
    check(done.returncode == code, f'{words}: exit {done.returncode}, not {code}: {done.stdout}')
    check(says in done.stdout, f'{words}: nothing like {says} in {done.stdout}')
    return done.stdout


def perf_with(redirection, *words, **options):
    return perf('-c', f'exec "$0" "$@" {redirection}', PERF, *words, program='sh', **options)


def write(path, text):
    """Paths are below FOLDER, unless they are absolute."""
    path = os.path.join(FOLDER, path)
    with open(path, 'w', encoding='utf-8') as file:
        file.write(text)
    return path


def read(path):
    with open(os.path.join(FOLDER, path), encoding='utf-8') as file:
        return file.read()


def write_run(name, benchmarks, first=1.0):
    """A file as Google Benchmark writes it; the first time tells it from others."""
    rows = [{'name': f'b{number}', 'run_name': f'b{number}', 'run_type': 'iteration',
             'repetitions': 3, 'repetition_index': repetition, 'iterations': 10,
             'real_time': first + number, 'cpu_time': first + number, 'time_unit': 'us'}
            for number in range(benchmarks) for repetition in range(3)]
    return write(name, json.dumps({
        'context': {'date': '2024-05-01T10:00:00+00:00', 'executable': 'x'}, 'benchmarks': rows}))


def asked(statement, path=DATABASE):
    database = sqlite3.connect(path)
    rows = database.execute(statement).fetchall()
    database.close()
    return rows


def two_who_write_lose_nothing():
    for turn in range(6):
        runs = [write_run(f'{writer}.json', 20, turn + writer / 8) for writer in range(4)]
        writers = [subprocess.Popen([PERF, 'record', '--db', DATABASE, '--commit', run + str(turn),
                                     '--import', run], cwd=FOLDER, stdout=subprocess.DEVNULL)
                   for run in runs]
        codes = [writer.wait() for writer in writers]
        check(codes == [0] * 4, f'exit codes of writers: {codes}')
    check(asked('SELECT count(*) FROM records') == [(24,)], 'a record is lost')
    check(asked('SELECT count(*) FROM repetitions') == [(24 * 60,)], 'a repetition is lost')


def a_kill_leaves_whole_records():
    """Wherever the kill falls, for it comes as soon as there is a journal."""
    before = asked('SELECT count(*) FROM records')[0][0]
    path = write_run('large.json', 20000)
    journal = DATABASE + '-journal'
    for turn in range(5):
        writer = subprocess.Popen([PERF, 'record', '--db', DATABASE, '--commit', f'killed-{turn}',
                                   '--import', path], cwd=FOLDER, stdout=subprocess.DEVNULL)
        while not os.path.exists(journal) and writer.poll() is None:
            pass
        writer.kill()
        writer.wait()
    check(asked('PRAGMA integrity_check') == [('ok',)], 'a kill has damaged it')
    after = asked('SELECT count(*) FROM records')[0][0]
    check(before <= after <= before + 5, f'{before} records have become {after}')
    broken = asked('SELECT record_id FROM benchmarks JOIN records ON record_id = records.id JOIN '
                   "commits ON commit_id = commits.id WHERE commits.name LIKE 'killed%' "
                   'GROUP BY record_id HAVING count(*) != 20000')
    check(not broken, f'records are there in part: {broken}')
    perf('record', '--db', DATABASE, '--commit', 'next', '--import', write_run('n.json', 1, 77))


def files_that_are_none_are_named():
    words = write('words', 'no database' * 1000)
    perf('history', '--db', words, code=2, says='is no history of lastref perf')
    perf('history', '--db', os.path.join(FOLDER, 'nowhere'), code=2, says='cannot be opened')
    perf('record', '--db', words, '--import', words, code=2, says='is no history')
    perf('record', '--db', DATABASE, '--import', words, code=2, says='words: ')
    perf('record', '--db', DATABASE, '--commits', 'x', code=2, says='--commits wants A..B')
    perf('record', '--db', DATABASE, '--commits', 'no..where', code=2, says='names no commits')
    perf('record', '--every', '3', code=2, says='--commits')
    perf('compare', '.', '.', '--', 'no-such-command', code=2, says='cannot be started')
    perf('history', '--db', DATABASE, '--bench', 'no*', code=2,
         says='recorded, no benchmark matches no*')
    perf('history', '--db', DATABASE, '--html', '/proc/no/page', code=2, says='cannot be written')
    link = os.path.join(FOLDER, 'page')
    os.symlink('page.html', link)
    perf('history', '--db', DATABASE, '--html', link, says='wrote')
    check(os.path.islink(link) and os.path.exists(link), 'the link is a page now')
    perf('history', '--db', DATABASE, '--html', '/dev/stdout', says='</html>')
    perf('history', '--db', DATABASE, '--bench', 'b3', says='8.375 µs [')
    run = write_run('once.json', 2, 55)
    perf('record', '--db', DATABASE, '--import', run, '--here', says='recorded')
    perf('record', '--db', DATABASE, '--import', run, '--here', says='has been recorded before')


def growth_names_what_it_leaves_out():
    def write_rows(name, *rows):
        return write(name, json.dumps({'benchmarks': [
            {'name': row, 'run_type': 'iteration', 'iterations': 1, 'real_time': time,
             'cpu_time': time, **more} for row, time, more in rows]}))

    failed = ('a/1000', 0, {'error_occurred': True, 'error_message': 'no space'})
    sizes = (('a/10', 10, {}), ('a/100', 100, {}))
    perf('growth', '--limit', '1.5', '--json', write_rows('sizes.json', *sizes))
    name = write_rows('failed.json', *sizes, failed)
    perf('growth', '--limit', '1.5', '--json', name, code=3, says='LEFT OUT a/1000: no space')
    perf('growth', '--limit', '0.5', '--json', name, code=1, says='GROWS a: 1.00')


def git(checkout, *words):
    quiet = {'GIT_CONFIG_GLOBAL': '/dev/null', 'GIT_CONFIG_NOSYSTEM': '1'}
    return subprocess.run(['git', '-C', checkout, '-c', 'user.name=n', '-c', 'user.email=e',
                           *words], check=True, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, env={**os.environ, **quiet}).stdout


# The process that removes the file is the one that waits.
WAIT_ONCE = 'if rm {0}/hold 2>/dev/null; then echo >{0}/fifo; read end <{0}/fifo; fi'
BENCHMARKS = r"""
for word; do
  case $word in
    --benchmark_list_tests*) [ "$names" != broken ] && printf '%s\n' $names; exit ;;
    --benchmark_filter=*) filter=${word#*=} ;;
    --benchmark_out=*) out=${word#*=} ;;
  esac
done
. builders/before
echo $time >>builders/measured
for name in $names; do
  echo $name | grep -Eq "$filter" && cat <<END
{"name": "$name", "run_name": "$name", "run_type": "iteration", "iterations": 10,
 "real_time": $time, "cpu_time": $time, "time_unit": "ns"},
END
done | sed '1s/^/{"context": {}, "benchmarks": [/; $s/,$/]}/' >$out
"""


def write_program(path, text):
    path = write(path, '#!/bin/sh\n' + text)
    os.chmod(path, 0o755)
    return path


def said_before_its_end(process, what):
    return any(what in line for line in process.stderr)


class Ours:
    """A checkout with our program in it, whose commits say in a file what their benchmarks are
    called and how long each takes; what builds them only looks there, and fails without it."""

    def __init__(self, name, benchmarks):
        self.folder = os.path.join(FOLDER, name)
        self.perf = os.path.join(self.folder, 'bin', 'lastref_perf')
        self.builders = os.path.join(FOLDER, name + '.builders')
        for folder in (os.path.dirname(self.perf), os.path.join(self.folder, 'bench'),
                       self.builders):
            os.makedirs(folder)
        os.link(PERF, self.perf)
        git(self.folder, 'init', '--quiet', '--initial-branch', 'ours')
        self.write('.gitignore', 'bin\nbuild\n')
        self.write('bench/CMakeLists.txt', '')
        for number, benchmark in enumerate(benchmarks):
            if benchmark:
                self.write('benchmark', benchmark)
            else:
                os.remove(os.path.join(self.folder, 'benchmark'))
            git(self.folder, 'add', '--all')
            git(self.folder, 'commit', '--quiet', '-m', f'number {number}')
        write_program(os.path.join(self.builders, 'cmake'),
                      'mkdir -p build/ci; : >build/ci/build.ninja\n'
                      'echo CMAKE_CXX_FLAGS:STRING=$FLAGS >build/ci/CMakeCache.txt\n')
        self.write_before(WAIT_ONCE.format(self.builders))
        write(f'{self.builders}/measured', '')
        write(f'{self.builders}/benchmarks', BENCHMARKS.replace('builders', self.builders))
        os.mkfifo(os.path.join(self.builders, 'fifo'))
        write_program(os.path.join(self.builders, 'ninja'), f"""
while [ $# -gt 0 ]; do
  case $1 in
    -C) tree=$2 ;;
    -n) echo 'no work to do'; exit ;;
  esac
  shift
done
env >{self.builders}/variables
mkdir -p $tree/bin
[ -e benchmark ] || exit 1
read names time <benchmark
{{ printf '#!/bin/sh\\nnames="%s" time=%s\\n' "$(echo $names | tr , ' ')" $time
   cat {self.builders}/benchmarks; }} >$tree/bin/lastref_bench
chmod +x $tree/bin/lastref_bench
""")

    def write(self, name, text):
        write(os.path.join(self.folder, name), text)

    def write_before(self, script):
        """What each benchmark does before it measures."""
        write(f'{self.builders}/before', script + '\n')

    def measured(self):
        """The times of the commits that were measured since the last call."""
        times = read(f'{self.builders}/measured').split()
        write(f'{self.builders}/measured', '')
        return times

    def environment(self, more=()):
        return {**os.environ, 'PATH': f'{self.builders}:{os.environ["PATH"]}', **dict(more)}

    def run(self, *words, code=0, says='', cwd='', variables=()):
        return perf(*words, program=self.perf, code=code, says=says, cwd=cwd or self.folder,
                    env=self.environment(variables))

    def start(self, *words):
        return subprocess.Popen([self.perf, *words], cwd=self.folder, env=self.environment(),
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def start_and_hold(self, *words):
        """Until what it runs waits, which goes on with let_go."""
        write(f'{self.builders}/hold', '')
        started = self.start(*words)
        read(f'{self.builders}/fifo')
        return started

    def let_go(self):
        write(f'{self.builders}/fifo', '')

    def times(self):
        """Of the commits that were recorded, by their subjects."""
        return asked('SELECT DISTINCT subject, CAST(round(wall_seconds * 1e9) AS INTEGER) '
                     'FROM repetitions JOIN benchmarks ON benchmark_id = benchmarks.id '
                     'JOIN records ON record_id = records.id '
                     'JOIN commits ON commit_id = commits.id ORDER BY subject',
                     os.path.join(self.folder, 'build/perf/history.sqlite'))


def what_git_tells_its_hooks_is_kept_from_git_and_builds():
    ours = Ours('hooked', ['put 100', 'put 200', 'put 300'])
    git_folder = os.path.join(ours.folder, '.git')
    told = {name: 'nowhere' for name in git(ours.folder, 'rev-parse', '--local-env-vars').split()
            if not name.startswith('GIT_CONFIG_')}
    told |= {'GIT_DIR': git_folder, 'GIT_WORK_TREE': ours.folder,
             'GIT_INDEX_FILE': os.path.join(git_folder, 'index')}

    def check_that_nothing_was_seen():
        seen = {line.split('=')[0] for line in read(f'{ours.builders}/variables').splitlines()
                }.intersection(told)
        check(not seen, f'what builds sees {seen}')
        check(git(ours.folder, 'symbolic-ref', 'HEAD') == 'refs/heads/ours\n', 'HEAD has moved')
        check(git(ours.folder, 'status', '--porcelain') == '', 'the checkout has changed')

    ours.run('record', '--commits', 'HEAD~2..HEAD', '--repetitions', '1', variables=told)
    check_that_nothing_was_seen()
    check(ours.times() == [('number 1', 200), ('number 2', 300)], f'{ours.times()}')
    ours.run('compare', 'HEAD~1', 'HEAD', '--', 'false', code=3, variables=told)
    check_that_nothing_was_seen()


def worktrees_of_others_that_are_away_come_back():
    ours = Ours('left', ['put 100', 'put 200'])
    away, work = (os.path.join(FOLDER, name) for name in ('away', 'work'))
    git(ours.folder, 'worktree', 'add', '-b', 'work', work)
    write('work/notes', 'of the user')
    git(work, 'add', 'notes')
    os.rename(work, away)
    for _ in range(2):
        ours.run('compare', 'HEAD~1', 'HEAD', '--', 'false', code=3)
        ours.run('record', '--commits', 'HEAD~1..HEAD', '--again', '--repetitions', '1',
                 says='recorded')
        # By hand, so that git still lists its worktrees.
        shutil.rmtree(os.path.join(ours.folder, 'build'))
    os.rename(away, work)
    staged = git(work, 'status', '--porcelain')
    check(staged == 'A  notes\n', f'of what was away there is: {staged}')


def two_who_record_commits_wait_for_each_other():
    ours = Ours('shared', ['put 100', 'put 200', 'put 300', 'put 400'])
    first = ours.start_and_hold('record', '--commits', 'HEAD~3..HEAD~1', '--repetitions', '3')
    second = ours.start('record', '--commits', 'HEAD~2..HEAD', '--repetitions', '3')
    waits = said_before_its_end(second, 'waiting for another record')
    ours.let_go()
    first.communicate()
    said = second.communicate()[1]
    check(waits, 'the second one did not wait')
    check((first.returncode, second.returncode) == (0, 0), f'they failed: {said}')
    check('is recorded' in said, f'what the first one did was done again: {said}')
    times = ours.times()
    check(times == [('number 1', 200), ('number 2', 300), ('number 3', 400)], f'{times}')


def a_build_that_fails_leaves_none():
    ours = Ours('failed', ['put 100', 'put 200'])
    built = os.path.join(ours.builders, 'built')

    def compare(build, code):
        ours.run('compare', 'HEAD~1', 'HEAD', '--build', build, '--', 'false', code=code)

    for number, build in enumerate([f'echo >>{built}', 'rm -f bench/CMakeLists.txt; false'] * 2):
        compare(build, code=3 if number % 2 == 0 else 125)
    compare(f'echo >>{built}', code=3)
    builds = len(read(built).splitlines())
    # The older one after each that failed; the newer one has none that failed.
    check(builds == 4, f'there were {builds} builds')


def a_build_goes_on_alone_when_we_are_killed():
    ours = Ours('killed', ['put 100', 'put 200'])
    hold = WAIT_ONCE.format(ours.builders)
    first = ours.start_and_hold('compare', 'HEAD~1', 'HEAD', '--build', hold, '--', 'false')
    first.kill()
    first.communicate()
    second = ours.start('compare', 'HEAD~1', 'HEAD', '--build', hold, '--', 'false')
    waits = said_before_its_end(second, 'waiting for another build')
    ours.let_go()
    said = second.communicate()[1]
    check(waits, 'it did not wait for the build that goes on')
    check(second.returncode == 3, f'exit {second.returncode}: {said}')
    # A child of a build that ends by itself keeps nobody waiting.
    daemon = f'(read end <{ours.builders}/fifo) >/dev/null 2>&1 &'
    for _ in range(2):
        ours.run('compare', 'HEAD', 'HEAD', '--build', daemon, '--', 'false', code=3)
        daemon = 'true'
    ours.let_go()


def old_worktrees_go_and_others_stay():
    """Of many revisions that were built: those in use, those with somebody's changes, the last."""
    checkout = Ours('ours', [f'put {number}' for number in range(12)]).folder
    hashes = git(checkout, 'rev-list', '--reverse', 'HEAD').split()
    trees = [os.path.join(checkout, 'build', 'perf', name[:12]) for name in hashes]
    fifo = os.path.join(FOLDER, 'fifo')
    os.mkfifo(fifo)

    def trees_left(suffix=''):
        return [number for number, tree in enumerate(trees) if os.path.exists(tree + suffix)]

    def words(number, *command):
        return ['compare', hashes[number], hashes[number + 1], '--build', 'true', '--', *command]

    with subprocess.Popen([PERF, *words(0, 'sh', '-c', f'echo >{fifo}; read x <{fifo}')],
                          cwd=checkout, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as user:
        read(fifo)
        perf(*words(0, 'false'), cwd=checkout, code=3)
        other = [word.replace('true', ':') for word in words(0, 'false')]
        perf(*other, cwd=checkout, code=125, says='is in use, as another command has built it')
        perf(*words(2, 'false'), cwd=checkout, code=3)
        write(os.path.join(trees[2], 'notes'), 'of the user')
        shutil.rmtree(trees[3])
        for number in range(4, 11):
            perf(*words(number, 'false'), cwd=checkout, code=3)
        user.kill()
        user.wait()
        write(fifo, '')  # Its command reads on.
    left = trees_left()
    check(left == [0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11], f'worktrees left are {left}')
    perf(*words(10, 'false'), cwd=checkout, code=3)
    left = trees_left()
    check(left == [2, 4, 5, 6, 7, 8, 9, 10, 11], f'worktrees left are {left}')
    stamps = trees_left('.built')
    check(stamps == left, f'stamps left are {stamps}')


def git_is_not_misread():
    """A clone that lacks commits counts too few; a signature is told before what is asked for."""
    ours = Ours('whole', ['put 100', 'put 200', 'put 300'])
    shallow = os.path.join(FOLDER, 'shallow')
    git(FOLDER, 'clone', '--quiet', '--depth', '2', 'file://' + ours.folder, shallow)
    gpg = write_program('gpg', 'cat >/dev/null; echo "[GNUPG:] GOODSIG 1 n"; echo "made today" >&2\n')
    signature = '-----BEGIN PGP SIGNATURE-----\n \n a\n -----END PGP SIGNATURE-----'
    raw = git(ours.folder, 'cat-file', 'commit', 'HEAD').replace(
        '\n\n', f'\ngpgsig {signature}\n\n', 1)
    ours.write('bin/signed', raw)
    signed = git(ours.folder, 'hash-object', '-t', 'commit', '-w', 'bin/signed').strip()
    git(ours.folder, 'config', 'gpg.program', gpg)
    git(ours.folder, 'config', 'log.showSignature', 'true')
    database = os.path.join(FOLDER, 'misread.sqlite')
    for number, (folder, commit) in enumerate(
            [(ours.folder, 'HEAD~1'), (shallow, 'HEAD'), (ours.folder, signed)]):
        perf('record', '--db', database, '--import', write_run('git.json', 1, number),
             '--commit', commit, cwd=folder)
    rows = asked('SELECT subject, position FROM commits ORDER BY id', database)
    check(rows == [('number 1', 2), ('number 2', None), ('number 2', 3)], f'{rows}')


def states_that_are_no_commits_are_told_apart():
    ours = Ours('changed', ['put 100'])
    tree = os.path.join(ours.folder, 'build', 'ci')
    ours.perf = os.path.join(tree, 'bin', 'lastref_perf')
    os.makedirs(os.path.dirname(ours.perf))
    os.link(PERF, ours.perf)
    for benchmark in ('put 200', 'put 300', 'put 200'):
        ours.write('benchmark', benchmark)
        subprocess.run(['ninja', '-C', tree], cwd=ours.folder, env=ours.environment(), check=True)
        ours.run('record', '--repetitions', '1')
    rows = asked('SELECT name, count(*) FROM commits JOIN records ON commit_id = commits.id '
                 'GROUP BY name ORDER BY commits.id',
                 os.path.join(ours.folder, 'build/perf/history.sqlite'))
    start = git(ours.folder, 'rev-parse', 'HEAD').strip() + '-modified-'
    check([name.startswith(start) for name, _ in rows] == [True, True], f'{rows}')


def bisect_finds_the_commit():
    """In a checkout that is not that of the program."""
    checkout = Ours('theirs', [f'{"slow" if number >= 11 else "quick"} {number}'
                               for number in range(16)]).folder
    hashes = git(checkout, 'rev-list', '--reverse', 'HEAD').split()
    script = os.path.join(FOLDER, 'compare')

    def compares(more):
        write_program(script, '[ "$3" = --bench ] && [ "$4" = "b c/*" ] || exit 9\n'
                      'a=$(git show "$1:benchmark")\nb=$(git show "$2:benchmark")\n'
                      f'{more}\ncase "$a/$b" in quick*/slow*) exit 1 ;; esac\n')

    def bisect(code, says, good=0, bad=15):
        return perf('bisect', hashes[good], hashes[bad], '--bench', 'b c/*', '--compare', script,
                    cwd=checkout, code=code, says=says)

    compares('')
    said = bisect(0, f'  {hashes[11]} number 11\n')
    check('not confirmed' not in said, said)
    for redirection in ('2>&-', '2>/dev/full', '0<&- 2>&-'):
        perf_with(redirection, 'bisect', hashes[0], hashes[15], '--bench', 'b c/*', '--compare',
                  script, cwd=checkout, says=f'  {hashes[11]} number 11\n')
    bisect(2, 'is not slower than', bad=10)
    bisect(2, 'is not an ancestor of', good=15, bad=0)
    # Every other answer cannot tell.
    compares(f'if [ -e {FOLDER}/told ]; then rm {FOLDER}/told\n'
             f'else : >{FOLDER}/told; exit 3; fi')
    said = bisect(0, f'  {hashes[11]} number 11\n')
    check('cannot tell' in said, said)
    compares('exit 3')
    bisect(3, 'it is unclear whether')
    # The slow one and the one before it do not build.
    compares('case "$b" in *\\ 10 | *\\ 11) exit 125 ;; esac')
    said = bisect(3, '3 commits')
    for number in (10, 11, 12):
        check(f'  {hashes[number]} number {number}\n' in said, said)
    compares('exit 7')
    bisect(2, 'exit code 7')
    compares('kill -9 $$')
    bisect(2, 'was killed')


def a_command_has_its_words_as_they_were_given():
    """Also when it is asked again."""
    command = write_program('shows words',
                            f'for word; do printf "<%s>" "$word"; done >{FOLDER}/words\n')
    words = [command, '[1,2,,3]', '', 'x', '[]', '--', 'y', "it's", '--json', '-z', '~', 'a\nb']

    wanted = ''.join(f'<{word}>' for word in words[1:])
    said = perf('compare', '.', '.', '--pairs-max', '25', '--budget', '1e-09', '--', *words, code=3)
    check(read('words') == wanted, read('words'))
    again = shlex.split(said[said.index('again: '):])
    check(again[again.index('--') + 1:] == words, again)
    check(again[again.index('--budget') + 1] == '1e-09', again)
    perf('profile', '--', *words)
    check(read('words') == wanted, read('words'))
    perf('compare', '.', '.', '--', code=2, says='no command after --')
    perf('history', '--', 'x', code=2, says='not expected: x')
    perf('profile', '--bench', 'x', '--', 'true', code=2, says='profile takes --bench')


def a_report_comes_as_a_whole_or_not_at_all():
    """Also in the place of what is compared."""
    one, other = write_run('one.json', 2), write_run('other.json', 2, 5.0)
    link = os.path.join(FOLDER, 'link.json')
    os.symlink('other.json', link)

    before = read(other)
    perf('compare', one, other, '--bench', 'no', '--json', other, code=2, says='no benchmark')
    check(read(other) == before, 'a refused comparison has changed the file of its report')
    os.chmod(other, 0o640)
    perf('compare', one, other, '--json', link, code=3, says='3 repetitions are too few')
    check(json.loads(read(other))['format'] == 'lastref-perf-compare 1', read(other))
    check(os.path.islink(link) and os.stat(other).st_mode & 0o777 == 0o640, 'another file now')
    other = write_run('other.json', 2, 5.0)
    said = perf('compare', one, other, '--json', '/dev/stdout', code=3)
    check('lastref-perf-compare 1' in said, said)
    perf('compare', one, other, '--json', FOLDER, code=2, says='cannot be written')
    perf('compare', one, other, '--json', '/dev/full', code=2, says='cannot be written')
    check(not [name for name in os.listdir(FOLDER) if name.endswith('.new')], 'files are left')


def closed_standard_streams_are_nobody_elses():
    """Progress is lost, and in no file; what was asked for is either said or a failure."""
    one, other = write_run('one.json', 2), write_run('other.json', 2, 5.0)
    report = os.path.join(FOLDER, 'c.json')

    def compared(redirection, code, *words):
        if os.path.exists(report):
            os.remove(report)
        said = perf_with(redirection, 'compare', *words[:2], '--json', report, *words[2:],
                         code=code)
        check(json.loads(read(report))['format'] == 'lastref-perf-compare 1', redirection)
        return said

    for redirection in ('2>&-', '0<&- 2>&-', '2>/dev/full'):
        compared(redirection, 3, '.', '.', '--budget', '1e-9', '--', '/bin/true')
        said = compared(redirection, 3, one, other)
        check('cannot be told' in said, said)
    for redirection in ('>&-', '>/dev/full', '0<&- >&-'):
        said = compared(redirection, 2, one, other)
        check('write to standard output failed' in said, said)
    perf_with('0<&- >&- 2>&-', 'compare', one, other, code=2)
    run = json.loads(read(one))
    for row in run['benchmarks']:
        row.update(error_occurred=True, error_message='no luck')
    failed = write('failed.json', json.dumps(run))
    for number, redirection in enumerate(('2>&-', '2>/dev/full')):
        perf_with(redirection, 'record', '--db', DATABASE, '--commit', f'quiet {number}',
                  '--import', failed, says='recorded')


def commits_are_recorded_with_what_was_asked_for():
    """The third commit has nothing to build."""
    names = 'put/1,put/2,find/1'
    ours = Ours('recorded', [f'{names} 1', f'{names} 2', None, f'{names} 4'])
    database = os.path.join(FOLDER, 'kept.sqlite')

    def record(code, times, *words, says='', flags='-O2', last='HEAD'):
        said = ours.run('record', '--db', database, '--repetitions', '1', '--commits',
                        f'HEAD~3..{last}', *words, code=code, says=says,
                        variables={'FLAGS': flags})
        now = ours.measured()
        check(now == times, f'{words}: measured were {now}: {said}')
        return said

    record(3, ['2', '4'], '--bench', 'put/1', says='1 of 3 commits are not recorded')
    record(3, [], '--bench', 'put/1', says='is recorded; --again')
    record(3, ['2', '4'], '--bench', 'put/*')
    record(3, ['2', '4'], '--bench', 'find/*')
    record(3, [], '--bench', 'put/1', '--bench', 'find/*')
    said = record(0, [], last='HEAD~2', says='is recorded')
    check('building' not in said, said)
    record(0, ['2'], '--again', last='HEAD~2')
    record(3, [], '--bench', 'no', says='no benchmark matches')
    shutil.rmtree(os.path.join(ours.folder, 'build', 'perf', 'revision', 'build'))
    record(0, ['2'], flags='-O3', last='HEAD~2')
    ours.write_before(f'mkdir {database}-journal')
    said = record(2, ['2'], '--again', says='kept.sqlite cannot be')
    check('could not be measured' not in said, said)


def bisect_passes_over_commits_without_the_benchmark():
    ours = Ours('without', ['put 100', 'put 101', 'other 1', 'broken 1', 'put 300', 'put 301'])
    good, other, broken, bad = [
        git(ours.folder, 'rev-parse', f'HEAD~{back}').strip() for back in (5, 3, 2, 0)]
    ours.run('compare', good, other, '--bench', 'put', code=125, says='no benchmark matches put')
    ours.run('compare', broken, bad, '--bench', 'put', code=125, says='lastref_bench ended with')
    # From elsewhere, for it is the checkout of the program that has these commits.
    said = ours.run('bisect', good, bad, '--bench', 'put', cwd='/', code=3, says='3 commits')
    for number in (2, 3, 4):
        check(f' number {number}\n' in said, said)


PROFILES = (('profile',), ('profile', '--looks'))
starts = itertools.count()


def start_interruptible(words, command, ignored=()):
    """Returns when the command has said that it is on, with a file that ends when the command does.
    SIGINT and SIGTERM are as at a terminal, whatever this program has inherited."""
    temporary, alive = (os.path.join(FOLDER, f'{kind}.{next(starts)}')
                        for kind in ('temporary', 'alive'))
    os.mkdir(temporary)
    os.mkfifo(alive)

    def prepare():
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN if number in ignored else signal.SIG_DFL)

    says_on = f'exec 3>{alive}; echo on >&3'
    ours = subprocess.Popen([PERF, *words, '--', 'sh', '-c', command.format(says_on=says_on)],
                            cwd=FOLDER, preexec_fn=prepare,
                            env={**os.environ, 'TMPDIR': temporary},
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    held = open(alive, encoding='utf-8')
    check(held.readline() == 'on\n', f'{words}: the command was not started')
    return ours, held, temporary


def who_is_interrupted_leaves_nothing():
    """Neither its folder among temporary files nor what it measures, two processes deep."""
    for words in (('compare', '.', '.'), *PROFILES):
        for number in (signal.SIGTERM, signal.SIGINT):
            ours, held, temporary = start_interruptible(words, '{says_on}; sleep 100000; true')
            with held:
                ours.send_signal(number)
                check(held.read() == '', f'{words}: the command goes on')
            check(ours.wait() == -number, f'{words}: ended with {ours.returncode}')
            check(os.listdir(temporary) == [], f'{words}: {os.listdir(temporary)} is left')


def a_command_that_outlives_the_signal_is_killed():
    """It ignores SIGTERM, and so does what it starts."""
    running = [start_interruptible(words, 'trap "" TERM; {says_on}; sleep 100000; true')
               for words in (('compare', '.', '.'), *PROFILES)]
    for ours, _, _ in running:
        ours.send_signal(signal.SIGTERM)
    for ours, held, _ in running:
        with held:
            check(held.read() == '', f'{ours.args}: the command continues')
        check(ours.wait() == -signal.SIGTERM, f'{ours.args}: ended with {ours.returncode}')


def an_ignored_signal_stays_ignored():
    """The command receives no signal either, and ends as it would."""
    go_on = os.path.join(FOLDER, 'go_on')
    os.mkfifo(go_on)
    for words in PROFILES:
        ours, held, _ = start_interruptible(words, f'{{says_on}}; read line <{go_on}',
                                            ignored=(signal.SIGINT,))
        ours.send_signal(signal.SIGINT)
        write(go_on, 'over\n')
        check(ours.wait() == 0, f'{words}: ended with {ours.returncode}')
        held.close()


def looks_see_who_has_lost_its_parent():
    """The command itself lives for a second or so of its own processor time."""
    perf('profile', '--looks', '--', 'sh', '-c', """
orphan=$(sh -c 'sleep 100000 >/dev/null & echo $!')
turn=0; while [ $turn -lt 1000000 ]; do turn=$((turn + 1)); done
kill $orphan""", says='\n  sleep (')


def main():
    if os.path.exists(FOLDER):
        shutil.rmtree(FOLDER)
    os.makedirs(FOLDER)
    for test in (two_who_write_lose_nothing, a_kill_leaves_whole_records,
                 files_that_are_none_are_named, growth_names_what_it_leaves_out,
                 what_git_tells_its_hooks_is_kept_from_git_and_builds,
                 worktrees_of_others_that_are_away_come_back,
                 two_who_record_commits_wait_for_each_other, a_build_that_fails_leaves_none,
                 a_build_goes_on_alone_when_we_are_killed, old_worktrees_go_and_others_stay,
                 git_is_not_misread, states_that_are_no_commits_are_told_apart,
                 bisect_finds_the_commit, a_command_has_its_words_as_they_were_given,
                 a_report_comes_as_a_whole_or_not_at_all, closed_standard_streams_are_nobody_elses,
                 commits_are_recorded_with_what_was_asked_for,
                 bisect_passes_over_commits_without_the_benchmark,
                 who_is_interrupted_leaves_nothing, a_command_that_outlives_the_signal_is_killed,
                 an_ignored_signal_stays_ignored, looks_see_who_has_lost_its_parent):
        test()
        print(f'verbs_test: {test.__name__}')


main()
