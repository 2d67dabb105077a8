"""As much of Kodi as examples/devices/python/kodi.py needs. A line on standard input is the Back key.

As in Kodi, a window's events are queued, and delivered only while the add-on is in waitForAbort.
"""
import queue
import sys
import threading
import time
import types

programs, relay, service = sys.argv[1:]

BACK, STOP = 92, 10
lines = queue.Queue()


def read_lines():
    for line in sys.stdin:
        lines.put(line)


class Monitor:
    is_ending = False

    def waitForAbort(self, timeout):
        try:
            line = lines.get(timeout=timeout)
        except queue.Empty:
            return self.is_ending
        if line == 'quit\n':
            Monitor.is_ending = True
        elif WindowDialog.shown:
            WindowDialog.shown.onAction(types.SimpleNamespace(getId=lambda: BACK))
        return self.is_ending


class WindowDialog:
    shown = None

    def addControls(self, controls):
        pass

    def show(self):
        WindowDialog.shown = self

    def close(self):
        WindowDialog.shown = None


class ControlLabel:
    text = ''

    def __init__(self, x, y, width, height, label):
        pass

    def setLabel(self, label):
        lines = label.split('[CR]')
        if lines[:-1] != self.text:  # All but the countdown.
            print('\n'.join(lines), flush=True)
        self.text = lines[:-1]


class ControlImage:
    def __init__(self, x, y, width, height, filename):
        pass

    def setImage(self, filename, useCache=True):
        print('Picture', filename, flush=True)


class Addon:
    def getAddonInfo(self, name):
        return 'special://profile/'


def make(name, **members):
    sys.modules[name] = types.SimpleNamespace(__name__=name, **members)


make('xbmc', Monitor=Monitor)
make('xbmcaddon', Addon=Addon)
make(
    'xbmcgui',
    WindowDialog=WindowDialog,
    ControlLabel=ControlLabel,
    ControlImage=ControlImage,
    ACTION_NAV_BACK=BACK,
    ACTION_PREVIOUS_MENU=STOP,
)
make('xbmcvfs', translatePath=lambda path: '.', mkdirs=lambda path: True)

sys.path.insert(0, programs)
threading.Thread(target=read_lines, daemon=True).start()
from app import unsaved  # noqa: E402
from kodi import SignInError, tokens_in_kodi  # noqa: E402

try:
    tokens = tokens_in_kodi(relay, service)
except SignInError as error:
    print(error, file=sys.stderr, flush=True)
    if error.code != 'not_saved':
        sys.exit(1)
    while unsaved:
        tokens = tokens_in_kodi(relay, service)
        print('Goes on.', flush=True)
        time.sleep(0.2)
if tokens is None:
    print('cancelled', file=sys.stderr)
    sys.exit(130)
