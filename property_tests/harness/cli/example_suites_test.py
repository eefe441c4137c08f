"""example_suites_test: the example suites find nothing in their programs and a planted bug in each,
by the command of their workflows.

    example_suites_test.py LASTREF EXAMPLES CXX FOLDER
"""
import os
import shlex
import shutil
import subprocess
import sys

import yaml

# With the second text in place of the first, the program does not replace its file at once.
EXAMPLES = {
    'python': ('notes.py', "path + '.new'", 'path'),
    'cpp': ('counter.cpp', 'path + ".new"', 'path'),
}


class Wrong(Exception):
    pass


def check(condition, text):
    if not condition:
        raise Wrong(text)


def steps_in(workflow):
    jobs = workflow['jobs'].values()
    check(workflow[True] == ['push', 'pull_request'], 'YAML reads "on" as true')
    return [step for job in jobs for step in job['steps']]


def command_in(steps, program):
    """The words of the step that sweeps, in one part and here."""
    lines = [line for step in steps for line in step.get('run', '').splitlines()
             if 'lastref run' in line]
    check(len(lines) == 1, f'commands are {lines}')
    words = shlex.split(lines[0].replace('${{ matrix.shard }}', '1').replace('/2', '/1'))
    return [program, *words[words.index('run'):]]


def files_of(steps):
    """Those that later steps read"""
    used = [step['with'] for step in steps if 'with' in step]
    return [each[key] for each in used for key in ('sarif_file', 'path') if key in each]


def sweep(words, folder):
    environment = {key: value for key, value in os.environ.items() if key != 'GITHUB_ACTIONS'}
    return subprocess.run(words, cwd=folder, env=environment, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, encoding='utf-8')


def build(compiler, folder):
    if os.path.exists(os.path.join(folder, 'counter.cpp')):
        os.makedirs(os.path.join(folder, 'build'), exist_ok=True)
        subprocess.run([compiler, '-o', 'build/counter', 'counter.cpp'], cwd=folder, check=True)


def check_example(name, program, compiler, folder):
    with open(os.path.join(folder, 'workflow.yml'), encoding='utf-8') as file:
        steps = steps_in(yaml.safe_load(file))
    words = command_in(steps, program)
    build(compiler, folder)
    done = sweep([*words, '--sample', '8'], folder)
    check(done.returncode == 0, f'{name}: exit {done.returncode}: {done.stdout}')
    if '--output' in words:
        part = words[words.index('--output') + 1]
        done = sweep([program, 'merge', part, '--sarif', 'lastref.sarif', '--html',
                      'lastref.html'], folder)
        check(done.returncode == 3, f'{name}: merge of a sample: {done.stdout}')
        shutil.rmtree(os.path.join(folder, part))
    for each in files_of(steps):
        check(each in ('parts', 'part.${{ matrix.shard }}')
              or os.path.exists(os.path.join(folder, each)), f'{name}: there is no {each}')
    file_name, right, wrong = EXAMPLES[name]
    path = os.path.join(folder, file_name)
    with open(path, encoding='utf-8') as file:
        text = file.read()
    check(right in text, f'{path}: nothing to change')
    with open(path, 'w', encoding='utf-8') as file:
        file.write(text.replace(right, wrong))
    build(compiler, folder)
    done = sweep([*words, '--first'], folder)
    check(done.returncode == 1 and 'your commands succeed' in done.stdout,
          f'{name}: a planted bug: exit {done.returncode}: {done.stdout}')


def main():
    program, examples, compiler, folder = sys.argv[1:]
    shutil.rmtree(folder, ignore_errors=True)
    doctor = subprocess.run([program, 'run', '--doctor'], stdout=subprocess.PIPE,
                            encoding='utf-8').stdout
    if not any(line.startswith('works') and 'an overlay' in line
               for line in doctor.splitlines()):
        print('example_suites_test: needs overlays')
        return
    for name in EXAMPLES:
        shutil.copytree(os.path.join(examples, name), os.path.join(folder, name))
        check_example(name, program, compiler, os.path.join(folder, name))
    print(f'example_suites_test: {len(EXAMPLES)} examples')


try:
    main()
except Wrong as wrong_example:
    sys.exit(f'example_suites_test: {wrong_example}')
