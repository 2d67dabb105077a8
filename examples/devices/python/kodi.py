"""A window for a Kodi add-on (Kodi 19 or newer), over app.py."""
import os
import threading
import urllib.request

import xbmc
import xbmcaddon
import xbmcgui
import xbmcvfs

from app import SignInError, tokens_for


def tokens_in_kodi(relay, service, rejected=None):
    """Returns tokens, or None after Back or when Kodi ends."""
    folder = xbmcvfs.translatePath(xbmcaddon.Addon().getAddonInfo('profile'))
    xbmcvfs.mkdirs(folder)
    window = Window(folder)
    try:
        return tokens_for(relay, service, os.path.join(folder, f'tokens-{service}.json'), window, rejected)
    except SignInError as error:
        if error.code != 'cancelled':
            raise
        return None
    finally:
        window.close()
        for name in os.listdir(folder):
            if name.startswith('qr-'):
                os.remove(os.path.join(folder, name))


class Window(xbmcgui.WindowDialog):
    """It is shown with the first link, so not if saved tokens are valid."""

    def __init__(self, folder):
        super().__init__()
        self.is_cancelled = False
        self.folder, self.session, self.drawn = folder, None, None
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
        # Back would do nothing. True means that Kodi ends; it kills an add-on that is still there after 5 s.
        return not self.monitor.waitForAbort(0.25)

    def show(self, session):
        self.session = session
        threading.Thread(target=self._fetch_picture, args=[session], daemon=True).start()
        super().show()

    def _fetch_picture(self, session):
        # A new name for each picture, because Kodi keeps textures by their path.
        file = os.path.join(self.folder, f'qr-{session.user_code}.png')
        try:
            with urllib.request.urlopen(session.qr, timeout=10) as response, open(file, 'wb') as out:
                out.write(response.read())
            self.drawn = file
        except OSError:
            pass  # The link and the code are enough.

    def countdown(self, seconds):
        if self.drawn:
            self.picture.setImage(self.drawn, False)
            self.drawn = None
        self.text.setLabel(
            f'Open {self.session.link}[CR]or type {self.session.user_code} at '
            f'{self.session.code_address}[CR]{seconds // 60}:{seconds % 60:02}'
        )
