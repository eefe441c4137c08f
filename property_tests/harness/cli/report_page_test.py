"""report_page_test: reads in a browser the page of a sweep, and one with 10,000 cells.

    report_page_test.py LASTREF SAMPLE_PAGE CHROMEDRIVER FOLDER
"""
import json
import os
import re
import shutil
import subprocess
import sys

from browser import Browser, Wrong, check, plant

# A name that would be an element, and run a script.
HOSTILE = '/tmp/lastref-<img src=x onerror="window.hacked=1">'
SWEPT = f"echo x > '{HOSTILE}'; rm '{HOSTILE}'; touch /tmp/lastref-product"

POINTS = 1250
FAULTS = 8
ELEMENTS_MAX = 2500  # At any time, of a page with 10,000 cells

KINDS = ('clean', 'finding', 'known', 'not_injected', 'not_tried')
TEXTS = 'h1,h2,h3,p,dt,dd,th,td code,summary,button,article code,.key li,.tile,.facts'

# The rows that are drawn: what a reader sees of the point, and for each fault a tile's kind.
ROWS = '''[...document.querySelectorAll('.map tbody tr:not(.gap)')].map((row) => [
  [...row.querySelectorAll('.name')].map((cell) => cell.textContent).join(' '),
  [...row.querySelectorAll('.tile')].map((tile) => tile.classList[1])])'''

ELEMENTS = "document.querySelectorAll('*').length"

# The rows of each screen from the top of the page to its end, and the most elements at any time.
SCREENS = f'''(() => {{ const screens = []; let elements = 0;
  const height = document.documentElement.scrollHeight;
  for (let at = 0; at < height; at += 900) {{ scrollTo(0, at); drawMaps(); screens.push({ROWS});
    elements = Math.max(elements, {ELEMENTS}); }}
  return [screens, elements]; }})()'''

# Whether a reader can tell the kinds of tiles from each other without their colours.
SHAPES = '''[...document.querySelectorAll('.key .tile')].map((tile) => {
  const style = getComputedStyle(tile);
  return [tile.textContent, style.borderTopWidth, style.backgroundImage !== 'none'].join() })'''

FILTER = '''((word) => { const field = document.getElementById('filter');
  field.value = word; field.dispatchEvent(new Event('input'));
  drawMaps();  // As at the next frame: the page is shorter, and may be scrolled.
  return document.getElementById('shown').textContent; })'''


def tiles_in(rows):
    tiles = [tile for _, tiles in rows for tile in tiles]
    check(set(tiles) <= set(KINDS), f'tiles are {set(tiles)}')
    return {kind: tiles.count(kind) for kind in KINDS}


def counts_in(browser):
    """What the page says of its numbers."""
    return browser.value("Object.fromEntries([...document.querySelectorAll('.counts div')].map("
                         "(each) => [each.children[0].textContent, Number(each.children[1]"
                         ".textContent.replace(',', ''))]))")


def check_quiet(browser, page, where):
    complaints, requests = browser.complaints(), browser.requests()
    check(not complaints, f'{where}: {complaints[:1]}')
    check([each.split('#')[0] for each in requests] == ['file://' + page], f'{where}: {requests}')
    check(browser.value('typeof window.hacked') == 'undefined', f'{where}: a name was run')
    check(browser.value("document.querySelectorAll('img').length") == 0,
          f'{where}: a name has become an element')


def check_layout(browser, where):
    check(browser.value('document.documentElement.scrollWidth <= innerWidth'),
          f'{where}: the page is wider than its window')
    faint = [each for each in browser.contrasts(TEXTS) if each[0] < 4.5]
    check(not faint, f'{where}: hard to read: {faint[:3]}')
    shapes = browser.value(SHAPES)
    numbers = [re.sub('[0-9]+', '#', each) for each in shapes]
    check(len(set(shapes)) == 5 and numbers[1] == numbers[2], f'{where}: tiles are {shapes}')
    check(not shapes[4].startswith(',0px'), f'{where}: what was not tried has no frame: {shapes}')
    ground = sum(browser.value('getComputedStyle(document.body).backgroundColor'
                               '.match(/[0-9]+/g).map(Number)'))
    check(ground > 600 if where.startswith('light') else ground < 150,
          f'{where}: the background is {ground}')


def check_links(browser, where, replay):
    """From a cell to its finding, and from there to its cells."""
    browser.value("document.getElementById('map').scrollIntoView()")
    browser.value('drawMaps()')
    browser.value("document.querySelector('.map tbody .tile a').scrollIntoView({block: 'center'})")
    browser.click('.map tbody .tile a')
    place = browser.value("(() => { const card = document.querySelector('article:target');"
                          "const bar = document.querySelector('.bar').getBoundingClientRect();"
                          "return card && [card.id, card.getBoundingClientRect().top - bar.bottom,"
                          "innerHeight]; })()")
    check(place and place[0] == 'finding-1', f'{where}: a click on a cell leads to {place}')
    check(0 <= place[1] < place[2] / 2, f'{where}: the finding is out of sight: {place}')
    browser.click('#finding-1 .copy')
    browser.until("document.querySelector('#finding-1 .copy').textContent !== 'Copy'")
    copied = browser.value('getSelection().toString().trim()')
    check(copied == replay, f'{where}: {copied} is copied, not {replay}')
    browser.click('#finding-1 .in_map')
    left = browser.value(ROWS)
    check(left and all({'finding', 'known'} & set(tiles) for _, tiles in left),
          f'{where}: points of the finding are {left}')


def rows_of_whole_page(browser):
    """All rows, from the top of the page to its end, and the largest number of elements."""
    screens, elements = browser.value(SCREENS)
    rows = {}
    for name, tiles in (row for screen in screens for row in screen):
        check(rows.setdefault(name, tiles) == tiles, f'{name} differs')
    return list(rows.items()), elements


def look_at_sweep(browser, page, report):
    for scheme, width in (('light', 1280), ('dark', 1280), ('dark', 480)):
        where = f'{scheme}, {width} pixels'
        browser.open(page, scheme, width)
        counts = counts_in(browser)
        rows, _ = rows_of_whole_page(browser)
        tiles = tiles_in(rows)
        groups = report['violation_groups']
        # A fault of a whole run is at no call of a process.
        of_calls = [name for name, _ in rows if not name.startswith('* ')]
        check(len(of_calls) == report['points'], f'{where}: rows of {of_calls}')
        check(sum(tiles.values()) == report['faults'], f'{where}: tiles are {tiles}')
        check(tiles['not_tried'] == report['faults'] - report['tried'], f'{where}: {tiles}')
        check(tiles['not_injected'] == len(report['not_injected']), f'{where}: {tiles}')
        check(tiles['finding'] > 0 and tiles['clean'] > 0, f'{where}: tiles are {tiles}')
        check(counts.get('finding' if len(groups) == 1 else 'findings') == len(groups)
              and counts['cells'] == report['faults'] and counts['tried'] == report['tried'],
              f'{where}: {counts}')
        check(any(HOSTILE in name for name, _ in rows), f'{where}: {HOSTILE} is not shown')
        check_layout(browser, where)
        cards = browser.value("[...document.querySelectorAll('article h3')]"
                              ".map((each) => each.textContent)")
        check(cards == [each['claim'] for each in groups], f'{where}: findings are {cards}')
        check_links(browser, where, report['violations'][0]['replay'])
        marks = browser.value("[...document.querySelectorAll('.lanes .mark b')]"
                              ".map((each) => each.textContent)")
        check(marks[0] == 'leftover: ' + HOSTILE and marks[1].startswith('fault: '),
              f'{where}: marks of calls are {marks}')
        check_quiet(browser, page, where)


def look_at_large(browser, page, schemes=('light', 'dark')):
    for scheme in schemes:
        browser.open(page, scheme, 1280)
        counts = counts_in(browser)
        rows, elements = rows_of_whole_page(browser)
        tiles = tiles_in(rows)
        check(len(rows) == POINTS + 2, f'{len(rows)} rows')
        check(sum(tiles.values()) == counts['cells'] == POINTS * FAULTS + 2, f'{tiles}, {counts}')
        check(tiles['not_injected'] == counts['not injected'] > 100, f'{tiles}, {counts}')
        check(tiles['not_tried'] == counts['not tried'] > 900, f'{tiles}, {counts}')
        check(tiles['finding'] > 10 and tiles['known'] > 10, f'{tiles}, {counts}')
        check(elements < ELEMENTS_MAX, f'the page has {elements} elements')
        check(browser.value(FILTER + "('part-00654')") == '0 of 2 findings, 1 of 1252 points',
              'the filter leaves other points')
        names = [name for name, _ in browser.value(ROWS)]
        check(len(names) == 1 and 'part-00654' in names[0], f'the filter leaves {names}')
        injected = len([1 for _, tiles in rows if 'not_injected' in tiles])
        check(browser.value(FILTER + "('Not Injected')").endswith(f', {injected} of 1252 points'),
              'the filter does not find outcomes')
        check(browser.value(FILTER + "('33333333')").startswith('1 of 2 findings'),
              'the filter does not find fingerprints')
        cards = browser.value("[...document.querySelectorAll('article')]"
                              ".filter((each) => each.offsetHeight > 0).map((each) => each.id)")
        check(cards == ['finding-2'], f'the filter leaves {cards}')
        check(browser.value(FILTER + "('')") == '', 'nothing is filtered')
        browser.value('scrollTo(0, 0)')
        browser.value('drawMaps()')
        again = browser.value(ROWS)
        check(again and again == [list(row) for row in rows[:len(again)]],
              'the filter changes the rows')
        check_layout(browser, scheme)
        check_quiet(browser, page, scheme)


# What these tests are for: with the second text in place of the first, the page is wrong.
PLANTED = [
    ('--text: #e4e8ec', '--text: #444444'),
    ('prefers-color-scheme: dark', 'prefers-color-scheme: print'),
    ('</h1>', '</h1><img src="other.png">'),
    ('c: ["clean", "•"]', 'c: ["not_injected", "•"]'),
    ('border: 1.5px dashed', 'border: 0 dashed'),
    ('id="finding-1"', 'id="finding-one"'),
    ('link.href = "#finding-"', 'link.href = "#map-"'),
    ('selectAllChildren(command)', 'selectAllChildren(target)'),
    ('scroll-padding-top', 'scroll-padding-left'),
    ('className = name', 'innerHTML = name'),
    ('made.textContent = text', 'made.innerHTML = text'),
    ('min-width: 900px; }', 'min-width: 900px; } .scroll { overflow: visible; }'),
]
PLANTED_LARGE = [
    ('t: ["not_tried", ""]', 't: ["clean", ""]'),
    ('[hidden] { display: none', '[hidden] { display: block'),
    ('everything ? 0 :', 'everything || true ? 0 :'),
    ('row.text.includes(word)', 'row.object.includes(word)'),
    ('const AROUND = 12', 'const AROUND = 12000'),
    ('if (at < first || at >= last)', 'if (at < 0)'),
]


def sweep(program, folder):
    page = os.path.join(folder, 'sweep.html')
    file = os.path.join(folder, 'sweep.json')
    done = subprocess.run([program, 'run', '--sweep', '--html', page, '--json', file, '--', 'sh',
                           '-c', SWEPT], cwd=folder, stderr=subprocess.PIPE, encoding='utf-8')
    check(done.returncode == 1, done.stderr)
    with open(file, encoding='utf-8') as read:
        return page, json.load(read)


def main():
    program, sample, driver, folder = sys.argv[1:]
    if os.path.exists(folder):
        shutil.rmtree(folder)
    os.makedirs(folder)
    large = os.path.join(folder, 'large.html')
    with open(large, 'w', encoding='utf-8') as file:
        subprocess.run([sample, str(POINTS)], check=True, stdout=file)
    page, report = sweep(program, folder)
    planted = os.path.join(folder, 'planted.html')
    with Browser(driver, folder) as browser:
        look_at_large(browser, large)
        look_at_sweep(browser, page, report)
        for right, wrong in PLANTED_LARGE:
            plant(large, planted, right, wrong,
                  lambda path: look_at_large(browser, path, ['light']))
        for right, wrong in PLANTED:
            plant(page, planted, right, wrong, lambda path: look_at_sweep(browser, path, report))
    print(f'report_page_test: {report["faults"]} and {POINTS * FAULTS} cells, light and dark; '
          f'{len(PLANTED) + len(PLANTED_LARGE)} planted mistakes seen')


try:
    main()
except Wrong as wrong_page:
    sys.exit(f'report_page_test: {wrong_page}')
