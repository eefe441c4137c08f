"""browser: a headless Chromium that is asked over a pipe what a page shows.

The pipe takes and gives the messages of the DevTools protocol, each with a zero behind it: no port,
which another test could have, and nothing to be installed but the browser.
"""
import json
import os
import signal
import subprocess

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

    def __init__(self, program, folder):
        to_browser, self._into = os.pipe()
        self._outof, from_browser = os.pipe()
        # Numbers that nobody has, for 3 and 4 may be ends of these very pipes.
        high = [os.dup2(to_browser, 100, inheritable=True),
                os.dup2(from_browser, 101, inheritable=True)]
        command = ['bash', '-c', 'exec 3<&100 4>&101 100<&- 101>&-; exec "$@"', '-', program,
                   '--no-sandbox', '--remote-debugging-pipe', '--disable-gpu', '--hide-scrollbars',
                   '--user-data-dir=' + os.path.join(folder, 'browser')]
        with open(os.path.join(folder, 'browser.log'), 'wb') as log:
            self._process = subprocess.Popen(command, pass_fds=high, stdout=log, stderr=log,
                                             stdin=subprocess.DEVNULL, start_new_session=True)
        for fd in high + [to_browser, from_browser]:
            os.close(fd)
        self._buffer = b''
        self._number = 0
        self._session = None
        self.events = []
        target = self.ask('Target.createTarget', url='about:blank')['targetId']
        attached = self.ask('Target.attachToTarget', targetId=target, flatten=True)
        self._session = attached['sessionId']
        for domain in ('Page', 'Runtime', 'Log', 'Network'):
            self.ask(domain + '.enable')

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            # In its own way, so that its children have ended, too, and nobody writes any more.
            self._session = None
            self.ask('Browser.close')
        else:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        os.close(self._into)
        os.close(self._outof)

    def _read(self):
        while b'\0' not in self._buffer:
            more = os.read(self._outof, 1 << 16)
            if not more:
                raise RuntimeError('the browser has ended; see browser.log')
            self._buffer += more
        message, self._buffer = self._buffer.split(b'\0', 1)
        return json.loads(message)

    def ask(self, method, **parameters):
        """The result of one call; what happens meanwhile goes to `events`."""
        self._number += 1
        message = {'id': self._number, 'method': method, 'params': parameters}
        if self._session:
            message['sessionId'] = self._session
        os.write(self._into, json.dumps(message).encode() + b'\0')
        while True:
            answer = self._read()
            if answer.get('id') == self._number:
                if 'error' in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer['result']
            self.events.append(answer)

    def open(self, path, scheme, width):
        """Shows a file to somebody who prefers light or dark."""
        self.ask('Emulation.setEmulatedMedia',
                 features=[{'name': 'prefers-color-scheme', 'value': scheme}])
        self.ask('Emulation.setDeviceMetricsOverride', width=width, height=900,
                 deviceScaleFactor=1, mobile=False)
        self.events = []
        self.ask('Page.navigate', url='file://' + path)
        while not any(event.get('method') == 'Page.loadEventFired' for event in self.events):
            self.events.append(self._read())

    def value(self, expression):
        """What the page's script makes of an expression, as data."""
        answer = self.ask('Runtime.evaluate', expression=expression, returnByValue=True)
        if 'exceptionDetails' in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer['result'].get('value')

    def contrasts(self, selector):
        """Of each text that the selector matches: its contrast, from 1 to 21, and the text."""
        return self.value(f'{CONTRASTS}({json.dumps(selector)})')

    def complaints(self):
        """Exceptions of scripts, and what else the browser has logged as an error."""
        self.value('0')  # What came before it has arrived.
        return [event for event in self.events
                if event.get('method') == 'Runtime.exceptionThrown'
                or event.get('method') == 'Log.entryAdded'
                and event['params']['entry']['level'] == 'error']

    def requests(self):
        """Addresses that were asked for."""
        return [event['params']['request']['url'] for event in self.events
                if event.get('method') == 'Network.requestWillBeSent']
