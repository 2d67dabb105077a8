"""A window for a Kodi add-on (Kodi 19 or newer), over app.py."""
import os
import threading
from concurrent.futures import Future

import xbmc
import xbmcaddon
import xbmcgui
import xbmcvfs

from app import SignInError, tokens_for

FAREWELL_SECONDS = 2  # Time to cancel at the relay when Kodi ends. Kodi kills an add-on that still runs after 5 s.


def tokens_in_kodi(relay, service, rejected=None):
    """Returns tokens, or None after Back or when Kodi ends."""
    folder = xbmcvfs.translatePath(xbmcaddon.Addon().getAddonInfo('profile'))
    xbmcvfs.mkdirs(folder)
    window = Window()
    tokens = Future()

    def work():
        try:
            path = os.path.join(folder, f'tokens-{service}.json')
            tokens.set_result(tokens_for(relay, service, path, window.set_session, rejected))
        except Exception as error:
            tokens.set_exception(error)

    # All requests are made in that thread, so that the window stays responsive.
    threading.Thread(target=work, daemon=True).start()
    try:
        while not tokens.done() and not window.is_cancelled and window.pause():
            window.draw()
        if tokens.done() and not window.is_cancelled:
            return tokens.result()
        window.is_cancelled = True
        if window.session:
            farewell = threading.Thread(target=window.session.cancel, daemon=True)
            farewell.start()
            while farewell.is_alive() and window.pause():
                pass
            farewell.join(FAREWELL_SECONDS)
        return None
    finally:
        window.close()


class Window(xbmcgui.WindowDialog):
    """It is shown with the first link, so not if saved tokens are valid."""

    def __init__(self):
        super().__init__()
        self.is_cancelled = False
        self.session = self.on_screen = None
        self.monitor = xbmc.Monitor()
        # A WindowDialog is 1280 x 720 whatever the screen has.
        self.text = xbmcgui.ControlLabel(160, 120, 960, 160, '')
        self.picture = xbmcgui.ControlImage(470, 290, 340, 340, '')
        self.addControls([self.text, self.picture])

    def onAction(self, action):
        if action.getId() in (xbmcgui.ACTION_NAV_BACK, xbmcgui.ACTION_PREVIOUS_MENU):
            self.is_cancelled = True
            self.close()

    def pause(self):
        # Kodi delivers a window's events (onAction) only in waitForAbort, sleep and doModal: with time.sleep
        # Back would do nothing. False if Kodi ends.
        return not self.monitor.waitForAbort(0.25)

    def set_session(self, session):
        """Called by the other thread: for the first link, and for another one when that has expired."""
        if self.is_cancelled:
            session.cancel()
            raise SignInError('cancelled')
        self.session = session

    def draw(self):
        if self.session is None:
            return
        if self.session is not self.on_screen:
            self.on_screen = self.session
            self.picture.setImage(self.session.qr, False)  # Kodi fetches it in the background.
            self.show()
        seconds = self.session.seconds_left()
        self.text.setLabel(
            f'Open {self.session.link}[CR]or type {self.session.user_code} at '
            f'{self.session.code_address}[CR]{seconds // 60}:{seconds % 60:02}'
        )
