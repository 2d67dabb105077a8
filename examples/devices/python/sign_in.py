"""Signs a user in through a Sign-in Relay. Python 3.8 or newer, standard library only.

    python3 sign_in.py https://relay.example mal

The first run shows a link, saves tokens.json and acknowledges it. Later runs refresh the tokens.
In Kodi, call sign_in_with_kodi(). Elsewhere, write a screen like Terminal and call sign_in().
"""
import json
import os
import queue
import random
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

WAIT_SECONDS = 25  # The relay holds a poll this long. Some proxies cut a request after 30 s.
TIMEOUT_SECONDS = WAIT_SECONDS + 15
TRIES = 6  # For a start, a refresh, an acknowledgement. A poll is repeated until the link expires.
LINKS = 3  # A link that has expired is replaced, but not for ever on a forgotten screen.


class SignInError(Exception):
    """code: access_denied, authorization_failed, missing_code, exchange_failed (from the relay),
    expired, cancelled, refused, unreachable, invalid_grant (refresh only: sign in again)."""

    def __init__(self, code, detail=''):
        super().__init__(f'{code}: {detail}' if detail else code)
        self.code = code


def ask(url, body=None):
    """Returns (status, JSON object or None, text, seconds to pause before a retry). Status 0: no response."""
    data = None if body is None else json.dumps(body).encode()
    # Python has no default timeout: a socket that died while the device slept would hang.
    request = urllib.request.Request(url, data, {'Content-Type': 'application/json'})
    pause = random.uniform(1, 3)  # So that a thousand devices do not return at the same moment.
    try:
        try:
            response = urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS)
        except urllib.error.HTTPError as error:
            response = error
        with response:
            status, headers, text = response.status, response.headers, response.read().decode()
    except Exception:  # OSError, HTTPException (a response cut off), UnicodeDecodeError.
        return 0, None, '', pause
    if headers.get('Retry-After', '').isdigit():
        pause += min(int(headers['Retry-After']), 60)
    try:
        parsed = json.loads(text)
    except ValueError:
        parsed = None
    return status, parsed if isinstance(parsed, dict) else None, text.strip()[:100], pause


class Session:
    def __init__(self, relay, answer):
        self.relay = relay
        self.secret = answer['session']  # Only for this device: never show it, log it or put it into a link.
        self.link, self.user_code, self.qr = answer['link'], answer['userCode'], answer['qr']
        self.expires_at = time.monotonic() + answer['expiresIn']  # The clock may not be set yet.

    def seconds_left(self):
        return max(0, round(self.expires_at - time.monotonic()))

    def _ask(self, query):
        return ask(f'{self.relay}/auth/result?session={urllib.parse.quote(self.secret)}&{query}')

    def wait_for_tokens(self):
        # After a sleep the next poll says whether the link is still valid: 410 if not.
        while self.seconds_left() > 0:
            asked_at = time.monotonic()
            status, answer, text, pause = self._ask(f'wait={WAIT_SECONDS}')
            if status == 200 and answer is not None:
                if 'error' in answer:
                    raise SignInError(answer['error'])
                if answer.get('accessToken'):
                    return answer
            if status == 410:
                break
            if status == 400:
                raise SignInError('refused', text)
            # 204: not yet. All else is transient: 429, 5xx, a page of a proxy, no network.
            if status == 204:
                pause = max(0, asked_at + 1 - time.monotonic())
            time.sleep(min(pause, self.seconds_left()))
        raise SignInError('expired')

    def _tell(self, query):
        for _ in range(TRIES):
            status, _, _, pause = self._ask(query)
            if status in (204, 400, 410):
                return
            time.sleep(pause)

    def acknowledge(self):
        """Call it once the tokens are saved. If it fails, the relay forgets them after 60 s."""
        self._tell('ack=1')

    def cancel(self):
        """The link then says that the device cancelled the sign-in."""
        self._tell('cancel=1')


def start(relay, service, device):
    body = {'service': service, 'code': True, 'ack': True, 'device': device}
    for _ in range(TRIES):
        status, answer, text, pause = ask(f'{relay}/auth/start', body)
        if status == 200 and answer is not None:
            return Session(relay, answer)
        if 400 <= status < 500 and status != 429:
            raise SignInError('refused', text)
        time.sleep(pause)
    raise SignInError('unreachable', text)


def sign_in(relay, service, screen, save, device='Living room'):
    """screen.show(session) for each link; screen.countdown(seconds) twice a second: False cancels."""
    for _ in range(LINKS):
        session = start(relay, service, device)
        screen.show(session)
        try:
            tokens = _wait(session, screen)
            save(tokens)
            session.acknowledge()
            return tokens
        except SignInError as error:
            if error.code != 'expired':
                raise
        except KeyboardInterrupt:
            session.cancel()
            raise SignInError('cancelled') from None
    raise SignInError('expired')


def _wait(session, screen):
    outcome = queue.Queue()

    def poll():
        try:
            outcome.put(session.wait_for_tokens())
        except BaseException as error:
            outcome.put(error)

    threading.Thread(target=poll, daemon=True).start()
    while True:
        if screen.countdown(session.seconds_left()) is False:
            raise KeyboardInterrupt
        try:
            result = outcome.get(timeout=0.5)
        except queue.Empty:
            continue
        if isinstance(result, BaseException):
            raise result
        return result


def refresh(relay, service, tokens):
    """Returns new tokens. unreachable: keep the old ones and try later. invalid_grant: sign in again."""
    body = {'service': service, 'refreshToken': tokens['refreshToken']}
    for _ in range(TRIES):
        status, answer, text, pause = ask(f'{relay}/refresh', body)
        if status == 200 and answer is not None and answer.get('accessToken'):
            return {**tokens, **answer}  # Without a new refresh token the old one stays.
        if status == 400 and answer is not None and 'error' in answer:
            raise SignInError(answer['error'])
        if 400 <= status < 500 and status != 429:
            raise SignInError('refused', text)
        time.sleep(pause)
    raise SignInError('unreachable', text)


def save_tokens(path, tokens):
    """Readable by this user only, and never half written, even if the power fails."""
    descriptor = os.open(path + '.new', os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, 'w') as file:
        json.dump(tokens, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + '.new', path)


def load_tokens(path):
    try:
        with open(path) as file:
            return json.load(file)
    except (OSError, ValueError):
        return None


def tokens_for(relay, service, path, screen):
    """Refreshes what is saved, or signs in."""
    saved = load_tokens(path)
    if saved and saved.get('refreshToken'):
        try:
            tokens = refresh(relay, service, saved)
            save_tokens(path, tokens)
            return tokens
        except SignInError as error:
            if error.code != 'invalid_grant':
                raise
    return sign_in(relay, service, screen, lambda tokens: save_tokens(path, tokens))


class Terminal:
    def show(self, session):
        print(f'Open {session.link}')
        print(f'or type {session.user_code} at {session.relay}/link')
        print(f'QR code: {session.qr}', flush=True)

    def countdown(self, seconds):
        print(f'\r{seconds // 60}:{seconds % 60:02} ', end='', file=sys.stderr, flush=True)


def sign_in_with_kodi(relay, service):
    """From a Kodi add-on (Kodi 19 or newer). Returns tokens, or None after Back."""
    import xbmc
    import xbmcaddon
    import xbmcgui
    import xbmcvfs

    folder = xbmcvfs.translatePath(xbmcaddon.Addon().getAddonInfo('profile'))
    xbmcvfs.mkdirs(folder)
    monitor = xbmc.Monitor()
    path = os.path.join(folder, 'tokens.json')

    class Window(xbmcgui.WindowDialog):
        def __init__(self):
            super().__init__()
            self.is_cancelled = False
            # A WindowDialog is 1280 x 720 whatever the screen has.
            self.text = xbmcgui.ControlLabel(160, 120, 960, 160, '')
            self.picture = xbmcgui.ControlImage(470, 290, 340, 340, '')
            self.addControls([self.text, self.picture])

        def onAction(self, action):
            if action.getId() in (xbmcgui.ACTION_NAV_BACK, xbmcgui.ACTION_PREVIOUS_MENU):
                self.is_cancelled = True
                self.close()

        def show_session(self, session):
            # A new name for each picture, because Kodi keeps textures by their path.
            file = os.path.join(folder, f'qr-{session.user_code}.png')
            try:
                with urllib.request.urlopen(session.qr, timeout=10) as response, open(file, 'wb') as out:
                    out.write(response.read())
                self.picture.setImage(file, False)
            except OSError:
                pass  # The link and the code are enough.
            self.session = session

        def countdown(self, seconds):
            self.text.setLabel(
                f'Open {self.session.link}[CR]or type {self.session.user_code} at '
                f'{self.session.relay}/link[CR]{seconds // 60}:{seconds % 60:02}'
            )
            # Kodi waits for every script when it ends, and kills those that do not stop.
            return not (self.is_cancelled or monitor.abortRequested())

    window = Window()
    screen = type('Screen', (), {'show': staticmethod(window.show_session), 'countdown': staticmethod(window.countdown)})
    window.show()
    try:
        return tokens_for(relay, service, path, screen)
    except SignInError as error:
        if error.code != 'cancelled':
            raise
        return None
    finally:
        window.close()
        for name in os.listdir(folder):
            if name.startswith('qr-'):
                os.remove(os.path.join(folder, name))


if __name__ == '__main__':
    try:
        tokens_for(sys.argv[1].rstrip('/'), sys.argv[2], 'tokens.json', Terminal())
        print('Signed in.')
    except SignInError as error:
        print(f'\n{error}', file=sys.stderr)
        sys.exit(130 if error.code == 'cancelled' else 1)
