"""page_test: records a history whose truth is known, and reads in a browser what its page shows.

    page_test.py LASTREF_PERF CHROMEDRIVER FOLDER
"""
import json
import os
import random
import shutil
import subprocess
import sys

from browser import Browser, Wrong, check, plant

STEP_AT = 12
COMMITS = 24
HOSTILE = '<img src=x onerror="window.hacked=1">&\'"</script><script>window.hacked=1</script>'
LONG_NAME = 'commit_00' + 16 * 'ä'
NAMES = sorted(['steady/1', 'becomes_slower/real_time', 'up_and_down', 'with_peers', HOSTILE])

# Boxes of all texts of a plot, and the plot's own.
BOXES = '''[...document.querySelectorAll('svg.plot')].map((plot) => {
  const box = (each) => { const b = each.getBoundingClientRect();
    return [b.left, b.top, b.right, b.bottom, each.textContent]; };
  return [box(plot), [...plot.querySelectorAll('text')].map(box)]; })'''

TEXTS = 'h1,h2,h3,p,td,th,caption,a,label,.plot text'


def seconds_of(name, commit, noise):
    level = 100e-9
    if name == 'becomes_slower/real_time' and commit >= STEP_AT:
        level = 125e-9
    if name == 'up_and_down' and STEP_AT - 4 <= commit < STEP_AT + 4:
        level = 300e-9
    return level * (1 + 0.01 * noise.random())


def record(perf, folder, database):
    """One file for each commit, as a program of somebody else's would have written it."""
    noise = random.Random(1)
    for commit in range(COMMITS):
        rows = []
        for name in NAMES:
            for repetition in range(7):
                time = seconds_of(name, commit, noise) * 1e9
                rows.append({'name': name, 'run_name': name, 'run_type': 'iteration',
                             'repetitions': 7, 'repetition_index': repetition, 'iterations': 1000,
                             'real_time': time, 'cpu_time': time, 'time_unit': 'ns'})
                if name == 'with_peers':
                    rows[-1].update({'lmdb': 4.5 if commit < STEP_AT else 6, 'pfio': 12,
                                     'ops/s': 2.5e6})
        path = os.path.join(folder, 'run.json')
        with open(path, 'w', encoding='utf-8') as file:
            json.dump({'context': {'date': f'2024-05-{commit + 1:02}T10:00:00+00:00',
                                   'host_name': 'a<b>', 'num_cpus': 4, 'executable': './a_bench',
                                   'load_avg': [0.5, 0.5, 0.5]}, 'benchmarks': rows}, file)
        subprocess.run([perf, 'record', '--db', database, '--import', path, '--commit',
                        LONG_NAME if commit == 0 else f'commit_{commit:02}'], cwd=folder,
                       check=True, stdout=subprocess.DEVNULL)


def apart(one, other):
    return one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]


def check_layout(browser, where):
    for plot, texts in browser.value(BOXES):
        check(plot[2] - plot[0] > 250 and plot[3] - plot[1] > 60, f'{where}: a plot of no size')
        for i, text in enumerate(texts):
            check(text[0] >= plot[0] - 1 and text[2] <= plot[2] + 1 and text[1] >= plot[1] - 1
                  and text[3] <= plot[3] + 1, f'{where}: {text[4]} stands out of its plot')
            for other in texts[:i]:
                check(apart(text, other), f'{where}: {text[4]} lies over {other[4]}')
    check(browser.value('document.documentElement.scrollWidth <= innerWidth'),
          f'{where}: the page is wider than its window')
    faint = [each for each in browser.contrasts(TEXTS) if each[0] < 4.5]
    check(not faint, f'{where}: hard to read: {faint[:3]}')


def of_each(browser, selector, expression):
    """The value of an expression about `e`, for each element that matches."""
    return browser.value(f"[...document.querySelectorAll('{selector}')].map((e) => {expression})")


def check_text(browser):
    names = of_each(browser, 'article h3', 'e.textContent')
    check(names == NAMES, f'names are {names}')
    overview = of_each(browser, '.overview tbody tr',
                       '[...e.cells].map((cell) => cell.innerText.trim())')
    check([row[0] for row in overview] == NAMES, f'the overview is {overview}')
    by_name = {row[0]: row for row in overview}
    check(by_name['steady/1'][2:] == ['24', '0', ''], f"steady/1 is {by_name['steady/1']}")
    check(by_name['becomes_slower/real_time'][1].startswith('125.'), f'{by_name}')
    check(by_name['becomes_slower/real_time'][3] == '1', f'{by_name}')
    check(by_name['up_and_down'][3] == '2', f'{by_name}')
    plots = of_each(browser, 'article', """[
        e.dataset.name, e.querySelectorAll('svg.plot').length, e.querySelectorAll('.median').length,
        [...e.querySelectorAll('.plot .label')].map((l) => l.textContent),
        e.querySelector('svg').getAttribute('aria-label')]""")
    labels = {name: label for name, _, _, label, _ in plots}
    for name, svgs, points, _, spoken in plots:
        check((svgs, points) == (1, COMMITS), f'{name}: {svgs} plots of {points} points')
        check(name in spoken and '24 commits' in spoken, f'{name} is read as {spoken}')
    commits = of_each(browser, '.plot .commit', 'e.textContent')
    check(LONG_NAME[:12] in commits and '\ufffd' not in ''.join(commits), f'commits: {commits}')
    check(labels['steady/1'] == [] and labels[HOSTILE] == [], f'labels are {labels}')
    check(len(labels['becomes_slower/real_time']) == 1
          and labels['becomes_slower/real_time'][0].startswith('▲ +2'), f'labels are {labels}')
    check([label[:3] for label in labels['up_and_down']] == ['▲ ×', '▼ ×'],
          f'labels are {labels}')
    change = browser.value("document.querySelector('article[data-name^=becomes] .changes tbody')"
                           ".innerText")
    for part in (f'commit_{STEP_AT}', f'commit_{STEP_AT - 1}', '+2', '0.001'):
        check(part in change, f'{part} is not in the change point: {change}')
    rows = 'article[data-name=with_peers] .counters tbody tr'
    counters = of_each(browser, rows, '[...e.cells].slice(0, 4).map((cell) => cell.innerText)')
    check(counters == [['lmdb', '6.000', '4.500', '6.000'],
                       ['ops/s', '2.500 M', '2.500 M', '2.500 M'],
                       ['pfio', '12.00', '12.00', '12.00']], f'counters are {counters}')
    lines = of_each(browser, rows, """[...e.querySelector('.spark polyline').points]
        .map((point) => [point.x, point.y])""")
    check([len(line) for line in lines] == 3 * [COMMITS], f'lines of counters are {lines}')
    check(all(line == sorted(line) for line in lines), f'lines of counters go back: {lines}')
    heights = [sorted({y for _, y in line}, reverse=True) for line in lines]
    check([len(each) for each in heights] == [2, 1, 1], f'heights of counters are {heights}')
    check([y for _, y in lines[0]] == STEP_AT * heights[0][:1] + STEP_AT * heights[0][1:],
          f'the line of lmdb is {lines[0]}')
    machine = browser.value("document.querySelector('h2 + p').textContent")
    check(machine.startswith('host a<b>, 4 cores,'), f'the machine is {machine}')


def check_filter(browser):
    left = browser.value('''(() => { const field = document.getElementById('filter');
      field.value = 'UP_'; field.dispatchEvent(new Event('input'));
      return [[...document.querySelectorAll('article')].filter((e) => e.offsetHeight > 0)
        .map((e) => e.dataset.name), document.getElementById('shown').textContent]; })()''')
    check(left == [['up_and_down'], '1 of 5'], f'the filter leaves {left}')


def look_at(browser, page):
    grounds = {}
    for scheme in ('light', 'dark'):
        for width in (1100, 420):
            browser.open(page, scheme, width)
            where = f'{scheme}, {width} pixels'
            check_text(browser)
            check_layout(browser, where)
            check_filter(browser)
            grounds[scheme] = browser.value('getComputedStyle(document.body).backgroundColor'
                                            '.match(/[0-9]+/g).map(Number)')
            check(browser.value('typeof window.hacked') == 'undefined', 'a name was run')
            check(browser.value("document.querySelectorAll('img,script').length") == 1,
                  'a name has become an element')
            complaints, requests = browser.complaints(), browser.requests()
            check(not complaints, f'{where}: {complaints}')
            check(requests == ['file://' + page], f'asked for {requests}')
    check(sum(grounds['dark']) < 150 < 600 < sum(grounds['light']), f'backgrounds: {grounds}')


# What this test is for: what stands in a page, and with what in its place the page is wrong.
PLANTED = [
    ('--text: #e4e8ec', '--text: #444444'),
    ('prefers-color-scheme: dark', 'prefers-color-scheme: light'),
    ('.plot text { font-size: 12px', '.plot text { font-size: 30px'),
    ('class="median"', 'class="mean"'),
    ('+25.0 %', '+15.0 %'),
    ('&lt;img', '<img'),
    ('const word =', 'const word = missing'),
    ('</h1>', '</h1><img src="other.png">'),
    ('max-width: 1010px', 'min-width: 1010px'),
    ('4.500', '4.400'),
    ('class="spark"', 'class="plot"'),
    ('points="3.0,15.0', 'points="3.0,14.0'),
]


def main():
    perf, driver, folder = sys.argv[1:]
    if os.path.exists(folder):
        shutil.rmtree(folder)
    os.makedirs(folder)
    database = os.path.join(folder, 'history.sqlite')
    page = os.path.join(folder, 'history.html')
    record(perf, folder, database)
    subprocess.run([perf, 'history', '--db', database, '--html', page], cwd=folder, check=True,
                   stdout=subprocess.DEVNULL)
    with Browser(driver, folder) as browser:
        look_at(browser, page)
        for right, wrong in PLANTED:
            plant(page, os.path.join(folder, 'planted.html'), right, wrong,
                  lambda planted: look_at(browser, planted))
    print('page_test: 5 plots as they should be, light and dark, wide and narrow; '
          f'{len(PLANTED)} planted mistakes seen')


try:
    main()
except Wrong as wrong_page:
    sys.exit(f'page_test: {wrong_page}')
