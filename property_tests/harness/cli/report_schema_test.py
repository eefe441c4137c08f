"""report_schema_test: the JSON, SARIF and traces that the program writes have the form that their
schemas describe, and the schemas reject planted mistakes.

    report_schema_test.py LASTREF REPORT_SCHEMA FOLDER
"""
import copy
import json
import os
import shutil
import subprocess
import sys

from jsonschema import Draft7Validator

SUITE = '''# Comments and empty lines count.

[story.leak]
command = 'echo x > made && rm made'

[story.quiet]
command = ['touch', 'product']

[[known]]
story = 'quiet'
fingerprint = '12345678'
reason = 'issue 12'
'''
LEAK = ['sh', '-c', ': > made && rm made']
LOCKED = ['sh', '-c', 'flock lock true; echo x > left; (kill -KILL $(sh -c "echo \\$PPID")); true']
CANARY = ['--scenario', 'canary/always_fails']

# A name, the kind of its report, its exit code, and its words. Each writes all kinds of files.
RUNS = [
    ('listed', 'run', 0, ['run', '--list', '--', 'true']),
    ('traced', 'run', 1, ['run', '--trace', 'traced.trace', '--', *LOCKED]),
    ('failed', 'run', 3, ['run', '--fault', 'mkdir fail_once ENOSPC', '--', 'true']),
    ('killed', 'run', 0, ['run', '--trace', 'killed.trace', '--fault',
                          'root/openat(*made)#1 kill_before', '--', *LEAK]),
    ('hanging', 'run', 1, ['run', '--timeout', '0.2', '--trace', 'hanging.trace', '--',
                           'sleep', '60']),
    ('gate', 'gate', 1, ['gate', '--world', 'sim', '--random', '1', *CANARY]),
    ('shard', 'gate', 1, ['gate', '--world', 'sim', '--shard', '1/2', '--output', '1', *CANARY]),
    ('shard_2', 'gate', 0, ['gate', '--world', 'sim', '--shard', '2/2', '--output', '2', *CANARY]),
    ('gates', 'gate', 1, ['merge', '1', '2']),
    ('hunt', 'hunt', 1, ['hunt', '--runs', '20', *CANARY]),
]
SWEEPS = [
    ('sweep', 'sweep', 1, ['run', '--sweep', '--html', 'sweep.html', '--sample', '6', '--', *LEAK]),
    ('suite', 'suite', 1, ['run', '--suite', './in it/lastref.toml', '--output', 'out']),
    ('merge', 'merge', 1, ['merge', 'out']),
]


class Wrong(Exception):
    pass


def check(condition, text):
    if not condition:
        raise Wrong(text)


def read(path):
    with open(path, encoding='utf-8') as file:
        return json.load(file)


def check_report(schema, kind, report):
    """Against the schema of its kind: that of all kinds does not name the mistake."""
    chosen = {'$defs': schema['$defs'], '$ref': f'#/$defs/{kind}'}
    for error in Draft7Validator(chosen).iter_errors(report):
        raise Wrong(f'{kind}: {list(error.absolute_path)}: {error.message[:300]}')
    check(Draft7Validator(schema).is_valid(report), f'{kind}: it is none of the kinds')


def check_sarif(schema, log):
    for error in Draft7Validator(schema).iter_errors(log):
        raise Wrong(f'SARIF: {list(error.absolute_path)}: {error.message[:300]}')
    run = log['runs'][0]
    rules = [each['id'] for each in run['tool']['driver']['rules']]
    check(len(rules) == len(set(rules)), f'rules are {rules}')
    for each in run['results']:
        check(each['ruleId'] in rules, f'there is no rule {each["ruleId"]}')


def check_trace(schema, trace):
    for error in Draft7Validator(schema).iter_errors(trace):
        raise Wrong(f'trace: {list(error.absolute_path)}: {error.message[:300]}')
    last, ends = {}, {}
    for each in trace['traceEvents']:
        thread = (each['pid'], each['tid'])
        if each['ph'] == 'M':
            continue
        check(last.get(thread, 0) <= each['ts'], f'the time of {thread} goes back: {each}')
        last[thread] = each['ts']
        if each['ph'] == 'X':
            check(ends.get(thread, 0) <= each['ts'], f'slices of {thread} overlap: {each}')
            ends[thread] = each['ts'] + each['dur']
    named = {each['pid'] for each in trace['traceEvents'] if each['ph'] == 'M'}
    check({each['pid'] for each in trace['traceEvents']} == named, 'a process has no name')


def events(trace, category):
    return [each['name'] for each in trace['traceEvents'] if each.get('cat') == category]


def check_contents(logs, traces):
    """What is in them, apart from their form."""
    for name in ('suite', 'merge'):
        if name in logs:
            places = [each['locations'][0]['physicalLocation']
                      for each in logs[name]['runs'][0]['results']]
            check([(each['artifactLocation']['uri'], each['region']['startLine'])
                   for each in places] == [('in%20it/lastref.toml', 3)], f'{name}: {places}')
    check(any(each.startswith('flock(') for each in events(traces['traced'], 'lock')), 'no lock')
    check(any('left' in each for each in events(traces['traced'], 'leftover')), 'no leftover')
    check({'exit 0', 'SIGKILL'} <= set(events(traces['traced'], 'death')),
          f'deaths are {events(traces["traced"], "death")}')
    processes = [each['args']['name'] for each in traces['traced']['traceEvents']
                 if each['ph'] == 'M']
    check(processes[0] == 'root (sh)' and len(processes) > 3, f'processes are {processes}')
    check(events(traces['killed'], 'fault') == ['fault: kill_before'], 'no fault')
    check(events(traces['killed'], 'death') == ['SIGKILL'], 'no death')
    check(events(traces['hanging'], 'wait') != [], 'no wait')


def replaced(value, *path):
    """The change that sets the member at the path."""
    def change(document):
        for step in path[:-1]:
            document = document[step]
        document[path[-1]] = value
    return change


def removed(*path):
    def change(document):
        for step in path[:-1]:
            document = document[step]
        del document[path[-1]]
    return change


RESULT = ('runs', 0, 'results', 0)
PLACE = (*RESULT, 'locations', 0, 'physicalLocation')
PLANTED_REPORTS = [
    replaced(1, 'other'), removed('verdict'), replaced('1', 'exit'), replaced(7, 'exit'),
    removed('violations', 0, 'claim'), replaced('x', 'violations', 0, 'why'),
]
PLANTED_SARIF = [
    replaced('2.0.0', 'version'), replaced([], 'runs'), replaced(1, 'runs', 0, 'other'),
    removed('runs', 0, 'tool'), replaced([], 'runs', 0, 'tool', 'driver', 'rules'),
    removed(*RESULT, 'message'), replaced('bad', *RESULT, 'level'),
    replaced('no-leak: x', *RESULT, 'ruleId'),
    replaced('no-hang', *RESULT, 'ruleId'), replaced([], *RESULT, 'locations'),
]
PLANTED_PLACES = [
    replaced(0, *PLACE, 'region', 'startLine'),
    replaced('/lastref.toml', *PLACE, 'artifactLocation', 'uri'),
    replaced('file:///lastref.toml', *PLACE, 'artifactLocation', 'uri'),
    replaced('a b', *PLACE, 'artifactLocation', 'uri'),
]
PLANTED_TRACES = [
    removed('traceEvents', 1, 'ts'), removed('traceEvents', 1, 'tid'),
    replaced('Z', 'traceEvents', 1, 'ph'), removed('traceEvents', 0),
    replaced(1e12, 'traceEvents', 1, 'dur'),
]


def expect_rejected(check_form, document, changes):
    for at, change in enumerate(changes):
        changed = copy.deepcopy(document)
        change(changed)
        try:
            check_form(changed)
        except Wrong:
            continue
        raise Wrong(f'planted mistake {at} is not seen in {json.dumps(document)[:80]}')


def main():
    program, schema_file, folder = sys.argv[1:]
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(os.path.join(folder, 'in it'))
    os.chdir(folder)
    with open('in it/lastref.toml', 'w', encoding='utf-8') as file:
        file.write(SUITE)
    here = os.path.dirname(os.path.abspath(__file__))
    schema = read(schema_file)
    sarif_schema = read(os.path.join(here, 'sarif.schema.json'))
    trace_schema = read(os.path.join(here, 'trace.schema.json'))
    for each in (schema, sarif_schema, trace_schema):
        Draft7Validator.check_schema(each)
    doctor = subprocess.run([program, 'run', '--doctor'], stdout=subprocess.PIPE,
                            encoding='utf-8').stdout
    has_overlays = any('an overlay' in line and line.startswith('works')
                       for line in doctor.splitlines())
    reports, logs, traces = {}, {}, {}
    for name, kind, code, words in RUNS + (SWEEPS if has_overlays else []):
        files = ['--json', f'{name}.json', '--sarif', f'{name}.sarif']
        done = subprocess.run([program, *words[:1], *files, *words[1:]], encoding='utf-8',
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        check(done.returncode == code, f'{name}: exit {done.returncode}: {done.stdout}')
        reports[name], logs[name] = read(f'{name}.json'), read(f'{name}.sarif')
        check_report(schema, kind, reports[name])
        check_sarif(sarif_schema, logs[name])
        if '--trace' in words:
            traces[name] = read(f'{name}.trace')
            check_trace(trace_schema, traces[name])
    check_contents(logs, traces)
    expect_rejected(lambda each: check_report(schema, 'gate', each), reports['gate'],
                    PLANTED_REPORTS)
    expect_rejected(lambda each: check_sarif(sarif_schema, each), logs['gate'], PLANTED_SARIF)
    expect_rejected(lambda each: check_trace(trace_schema, each), traces['traced'],
                    PLANTED_TRACES)
    if has_overlays:
        expect_rejected(lambda each: check_sarif(sarif_schema, each), logs['suite'],
                        PLANTED_PLACES)
    print(f'report_schema_test: {len(reports)} reports, {len(traces)} traces')


try:
    main()
except Wrong as wrong_report:
    sys.exit(f'report_schema_test: {wrong_report}')
