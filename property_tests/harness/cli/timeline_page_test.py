"""timeline_page_test: reads in a browser the page of the timeline of a run.

    timeline_page_test.py LASTREF CHROMEDRIVER FOLDER
"""
import os
import shutil
import subprocess
import sys

from browser import Browser, Wrong, check, plant

# Many actors, and many switches.
RUN = ['replay', 'tracker/two_holders_release_at_once', '--set', 'clients=3', '--set', 'names=9',
       '--world', 'sim', '--seed', '5']

# For each row: its classes, and for each cell its classes, its text, and its background.
ROWS = '''[...document.querySelectorAll('tbody tr')].map((row) => [[...row.classList],
  [...row.cells].map((cell) => [[...cell.classList], cell.textContent,
    getComputedStyle(cell).backgroundColor])])'''

TEXTS = 'h1,p,code,th,td,li,.key span'


def switches_of(text):
    """The number of rows of the text that are switches, and the number that it says."""
    lines = text.splitlines()
    switches = sum(line.startswith('  * ') for line in lines)
    return switches, int(lines[0].split()[0])


def look_at(browser, page, text):
    switches, announced = switches_of(text)
    check(switches == announced and switches > 50, f'the text has {switches} of {announced}')
    grounds = {}
    for scheme in ('light', 'dark'):
        browser.open(page, scheme, 1400)
        complaints, requests = browser.complaints(), browser.requests()
        check(not complaints, f'{scheme}: {complaints[:1]}')
        check(requests == ['file://' + page], f'{scheme}: {requests}')
        actors = browser.value("[...document.querySelectorAll('th.actor')]"
                               ".map((each) => each.textContent)")
        check(len(actors) >= 5 and len(set(actors)) == len(actors), f'actors are {actors}')
        check(set(actors) >= {'root', 'tracker', 'client_a', 'client_b', 'client_c'},
              f'actors are {actors}')
        rows = browser.value(ROWS)
        check(len(rows) > 100, f'{len(rows)} rows')
        turns = 0
        plain = browser.value("getComputedStyle(document.body).backgroundColor")
        for kinds, cells in rows:
            if 'gap' in kinds:
                continue
            check(len(cells) == len(actors) + 1, f'a row of {len(cells)} cells')
            marked = [cell for cell in cells if 'mark' in cell[0]]
            if 'turn' in kinds:
                turns += 1
                if marked[0][1] == 'its time limit ends early':
                    continue
                check(len(marked) == 2 and any(cell[1].startswith('paused') for cell in marked)
                      and any(cell[1] == 'runs' for cell in marked), f'a switch is {marked}')
                check(all(cell[2] not in (plain, 'rgba(0, 0, 0, 0)') for cell in marked),
                      f'a switch is not marked: {marked}')
            else:
                check(len(marked) == 1, f'a row is {marked}')
        check(turns == switches, f'{turns} switches, not {switches}')
        check(any('race' in cell[0] for _, cells in rows for cell in cells), 'nothing is raced for')
        stays = browser.value("(() => { scrollTo(0, 1e6); const name = document.querySelector"
                              "('th.actor'); return [name.getBoundingClientRect().top, scrollY];"
                              " })()")
        check(stays[0] == 0 and stays[1] > 500, f'the names of actors scroll away: {stays}')
        broken = browser.value("[...document.querySelectorAll('tbody .number')].filter((cell) => {"
                               "const all = document.createRange(); all.selectNodeContents(cell);"
                               "return all.getClientRects().length > 1; }).length")
        check(broken == 0, f'{broken} numbers of rows are broken into lines')
        faint = [each for each in browser.contrasts(TEXTS) if each[0] < 4.5]
        check(not faint, f'{scheme}: hard to read: {faint[:3]}')
        grounds[scheme] = plain
    check(grounds == {'light': 'rgb(255, 255, 255)', 'dark': 'rgb(20, 23, 27)'},
          f'backgrounds are {grounds}')


# What this test is for: with the second text in place of the first, the page is wrong.
PLANTED = [
    ('--text: #e4e8ec', '--text: #444444'),
    ('prefers-color-scheme: dark', 'prefers-color-scheme: light'),
    ('class="turn"', 'class="step"'),
    ('.turn .mark {', '.turn .other {'),
    ('>client_b</th>', '>client_a</th>'),
    ('<td></td>', ''),
    ('white-space: nowrap', 'white-space: normal'),
    ('position: sticky', 'position: static'),
    ('</h1>', '</h1><img src="other.png">'),
    ('</h1>', '</h1><script>missing()</script>'),
]


def main():
    program, driver, folder = sys.argv[1:]
    if os.path.exists(folder):
        shutil.rmtree(folder)
    os.makedirs(folder)
    page = os.path.join(folder, 'timeline.html')
    said = subprocess.run([program] + RUN + ['--timeline', '--html', page], cwd=folder, check=True,
                          stdout=subprocess.PIPE, encoding='utf-8').stdout
    with Browser(driver, folder) as browser:
        look_at(browser, page, said)
        for right, wrong in PLANTED:
            plant(page, os.path.join(folder, 'planted.html'), right, wrong,
                  lambda planted: look_at(browser, planted, said))
    print(f'timeline_page_test: light and dark; {len(PLANTED)} planted mistakes seen')


try:
    main()
except Wrong as wrong_page:
    sys.exit(f'timeline_page_test: {wrong_page}')
