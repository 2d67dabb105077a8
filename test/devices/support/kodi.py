"""As much of Kodi as examples/devices/python/kodi.py needs. A line on standard input is the Back key.

As in Kodi, a window's events are queued, and delivered only while the add-on is in waitForAbort or sleep.
"""
import queue
import sys
import threading
import time
import types

programs, relay, service = sys.argv[1:]

BACK, STOP = 92, 10
events = queue.Queue()
abort = threading.Event()


def read_keys():
    for line in sys.stdin:
        if line == 'quit\n':
            abort.set()
        else:
            events.put(BACK)


def stay(seconds):
    """Where events are delivered."""
    until = time.monotonic() + seconds
    while time.monotonic() < until and not abort.is_set():
        try:
            action = events.get(timeout=0.02)
        except queue.Empty:
            continue
        for window in WindowDialog.shown[-1:]:
            window.onAction(types.SimpleNamespace(getId=lambda: action))


class Monitor:
    def waitForAbort(self, timeout):
        stay(timeout)
        return abort.is_set()


class WindowDialog:
    shown = []

    def addControls(self, controls):
        pass

    def show(self):
        if self not in self.shown:
            self.shown.append(self)

    def close(self):
        if self in self.shown:
            self.shown.remove(self)


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
        with open(filename, 'rb') as file:
            print('Picture', file.read(4)[1:].decode(), flush=True)


class Addon:
    def getAddonInfo(self, name):
        return 'special://profile/'


def make(name, **members):
    sys.modules[name] = types.SimpleNamespace(__name__=name, **members)


make('xbmc', Monitor=Monitor, sleep=lambda ms: stay(ms / 1000))
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
threading.Thread(target=read_keys, daemon=True).start()
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
