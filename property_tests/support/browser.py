"""browser: a headless Chromium, driven by Selenium, that is asked what a page shows."""
import json
import os

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.ui import WebDriverWait

# How much lighter each text is than what is behind it, as WCAG 2.1 counts it.
CONTRASTS = '''((selector) => {
  const parts = (color) => color.match(/[0-9.]+/g).map(Number);
  const light = (color) => { const [r, g, b] = parts(color).map((part) => { part /= 255;
      return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const behind = (each) => { for (; each; each = each.parentElement) {
      const color = getComputedStyle(each).backgroundColor;
      if (parts(color)[3] !== 0) return color; }
    return 'rgb(255, 255, 255)'; };
  return [...document.querySelectorAll(selector)].filter((e) => e.textContent).map((e) => {
    const style = getComputedStyle(e);
    const both = [light(e.closest('svg') ? style.fill : style.color), light(behind(e))];
    return [(Math.max(...both) + 0.05) / (Math.min(...both) + 0.05), e.textContent]; });
})'''


class Wrong(Exception):
    """A page does not show what it should."""


def check(condition, what):
    if not condition:
        raise Wrong(what)


def plant(page, planted, right, wrong, look):
    """Changes a copy of a page. `look`, which is given its path, has to raise Wrong."""
    with open(page, encoding='utf-8') as file:
        text = file.read()
    check(right in text, f'{right} is not in the page')
    with open(planted, 'w', encoding='utf-8') as file:
        file.write(text.replace(right, wrong))
    try:
        look(planted)
    except Wrong:
        return
    raise Wrong(f'{wrong} in place of {right} is not noticed')


class Browser:
    """One browser with one empty page. Use it in a `with`."""

    def __init__(self, driver, folder):
        options = webdriver.ChromeOptions()
        for argument in ('--headless=new', '--no-sandbox', '--disable-gpu', '--hide-scrollbars',
                         '--user-data-dir=' + os.path.join(folder, 'browser')):
            options.add_argument(argument)
        options.set_capability('goog:loggingPrefs', {'browser': 'ALL', 'performance': 'ALL'})
        service = Service(driver, log_path=os.path.join(folder, 'browser.log'))
        self._driver = webdriver.Chrome(service=service, options=options)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._driver.quit()

    def open(self, path, scheme, width):
        """Shows a file to a reader who prefers the scheme: light or dark."""
        self._driver.execute_cdp_cmd(
            'Emulation.setEmulatedMedia',
            {'features': [{'name': 'prefers-color-scheme', 'value': scheme}]})
        self._driver.execute_cdp_cmd(
            'Emulation.setDeviceMetricsOverride',
            {'width': width, 'height': 900, 'deviceScaleFactor': 1, 'mobile': False})
        for log in ('browser', 'performance'):
            self._driver.get_log(log)  # What an earlier page has said.
        self._driver.get('file://' + path)

    def value(self, expression):
        """What the page's script makes of an expression, as data."""
        return self._driver.execute_script('return ' + expression)

    def click(self, selector):
        """Clicks with the mouse at the first element that matches."""
        self._driver.find_element('css selector', selector).click()

    def until(self, expression):
        """Waits until the expression is true."""
        WebDriverWait(self._driver, 60).until(lambda _: self.value(expression))

    def contrasts(self, selector):
        """Of each text that the selector matches: its contrast, from 1 to 21, and the text."""
        return self.value(f'{CONTRASTS}({json.dumps(selector)})')

    def complaints(self):
        """Exceptions of scripts, and what else the browser has logged as an error; once."""
        return [entry for entry in self._driver.get_log('browser') if entry['level'] == 'SEVERE']

    def requests(self):
        """Addresses that were asked for; once."""
        events = [json.loads(entry['message'])['message']
                  for entry in self._driver.get_log('performance')]
        return [event['params']['request']['url'] for event in events
                if event['method'] == 'Network.requestWillBeSent']
