"""What a finished app adds to sign_in.py: tokens that are kept and refreshed when they are due, a new link
for one that has expired, a countdown, cancelling, a QR code.

    python3 app.py https://relay.example mal

The QR code is drawn by the package qrcode (Debian: python3-qrcode), if it is installed.
"""
import json
import os
import signal
import sys
import threading
import time

from sign_in import SignInError, ask_until_answered, sign_in, tokens_from_provider, tokens_from_relay

LINKS = 3  # A link that has expired is replaced, but not for ever on a forgotten screen.
MARGIN_SECONDS = 60  # Tokens are refreshed this long before they expire.
FAREWELL_SECONDS = 2  # For the relay to hear of Back when the app has to end.


def tokens_for(relay, service, path, screen, rejected=None):
    """Tokens that are valid: the saved ones, refreshed if they are due, or those of a new sign-in.
    rejected: an access token that the provider's API answered with 401.

    Here is only the screen, which stays responsive: all requests are made by the Worker."""
    worker = Worker(relay, service, path, rejected)
    shown = None
    while worker.is_alive() and not (screen.is_cancelled and worker.may_be_stopped):
        if worker.session not in (None, shown):
            shown = worker.session
            screen.show(shown)
        if worker.session:
            screen.countdown(shown.seconds_left())
        if not screen.pause():
            break
    if not worker.is_alive():
        return worker.result()
    farewell = threading.Thread(target=worker.cancel, daemon=True)
    farewell.start()
    while farewell.is_alive() and screen.pause():
        pass
    farewell.join(FAREWELL_SECONDS)
    raise SignInError('cancelled')


class Worker(threading.Thread):
    """`session` is what to show: none while saved tokens are refreshed and once the user has signed in, another
    one when a link has expired."""

    one_at_a_time = threading.Lock()  # The others then find what the first has saved.

    def __init__(self, *task):
        super().__init__(daemon=True)
        self.task, self.session, self.tokens, self.error = task, None, None, None
        self.is_cancelled = False
        # Not during a refresh: its token may be good for one use. Not once new tokens are saved.
        self.may_be_stopped = True
        self.start()

    def run(self):
        try:
            with self.one_at_a_time:
                self.tokens = self._tokens(*self.task)
        except Exception as error:
            self.error = error

    def result(self):
        if self.error:
            raise self.error
        return self.tokens

    def cancel(self):
        """The link then says that the device cancelled the sign-in."""
        self.is_cancelled = True
        if self.session:
            self.session.cancel()

    def _tokens(self, relay, service, path, rejected):
        saved = load_tokens(path)
        if saved.get('accessToken') not in (None, rejected) and not is_due(saved):
            return saved
        if saved.get('refreshToken'):
            self.may_be_stopped = False
            try:
                return save_tokens(path, refresh(relay, service, saved))
            except SignInError as error:
                if error.code != 'invalid_grant':
                    raise  # The saved tokens stay: try later.
            self.may_be_stopped = True
        for link in range(1, LINKS + 1):
            try:
                return sign_in(relay, service, self._show, lambda tokens: self._save(path, tokens))
            except SignInError as error:
                if error.code != 'expired' or link == LINKS or self.is_cancelled:
                    raise

    def _show(self, session):
        self.session = session
        if self.is_cancelled:  # While the relay was asked for a link.
            session.cancel()

    def _save(self, path, tokens):
        if self.is_cancelled:  # While the response was on its way.
            raise SignInError('cancelled')
        save_tokens(path, tokens)
        self.may_be_stopped, self.session = False, None


def refresh(relay, service, saved):
    refresh_token = saved['refreshToken']
    if 'tokenUrl' in saved:  # Of a blind sign-in.
        form = {'grant_type': 'refresh_token', 'refresh_token': refresh_token, 'client_id': saved['clientId']}
        tokens = tokens_from_provider(saved['tokenUrl'], saved['clientId'], form)
    else:
        body = {'service': service, 'refreshToken': refresh_token}
        tokens = tokens_from_relay(ask_until_answered(f'{relay}/refresh', body, 'accessToken'))
    tokens.setdefault('refreshToken', refresh_token)  # Without a new one the old one stays.
    return tokens


def is_due(tokens):
    """Where the provider names no expiry, only its API says it, with a 401."""
    if 'expiresAt' not in tokens:
        return False
    left = tokens['expiresAt'] - time.time()
    # More than they ever had: the clock was set back since they were saved.
    return not MARGIN_SECONDS < left <= tokens['expiresIn']


def save_tokens(path, tokens):
    """Readable by this user only, and never half written, even if the power fails."""
    if tokens.get('expiresIn'):
        tokens['expiresAt'] = int(time.time()) + tokens['expiresIn']
    written = f'{path}.{os.getpid()}'  # Another process may be saving too.
    descriptor = os.open(written, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, 'w') as file:
        json.dump(tokens, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(written, path)
    return tokens


def load_tokens(path):
    try:
        with open(path) as file:
            saved = json.load(file)
    except (OSError, ValueError):
        return {}
    return saved if isinstance(saved, dict) else {}


class Terminal:
    def __init__(self):
        self.is_cancelled = False
        signal.signal(signal.SIGINT, self._cancel)
        signal.signal(signal.SIGTERM, self._cancel)

    def _cancel(self, number, _):
        self.is_cancelled = True
        signal.signal(number, signal.SIG_DFL)  # A second Ctrl-C does not wait for the relay.

    def show(self, session):
        print(f'Open {session.link}')
        print(f'or type {session.user_code} at {session.code_address}', flush=True)
        print(draw_qr(session.link) or f'QR code: {session.qr}', flush=True)

    def countdown(self, seconds):
        print(f'\r{seconds // 60}:{seconds % 60:02} ', end='', file=sys.stderr, flush=True)

    def pause(self):
        """Lets a moment pass. False if the program has to end."""
        time.sleep(0.25)
        return True


def draw_qr(text):
    """Black on white whatever the terminal's theme is; one character is two modules, one above the other."""
    try:
        import qrcode
    except ImportError:
        return None
    code = qrcode.QRCode(border=4, error_correction=qrcode.constants.ERROR_CORRECT_L)
    code.add_data(text)
    rows = code.get_matrix()
    rows.append([False] * len(rows))  # Their number is odd.
    return '\n'.join(
        '\x1b[38;5;16;48;5;231m' + ''.join(' ▄▀█'[2 * up + down] for up, down in zip(*pair)) + '\x1b[0m'
        for pair in zip(rows[::2], rows[1::2])
    )


if __name__ == '__main__':
    if len(sys.argv) != 3:
        sys.exit('Usage: python3 app.py RELAY SERVICE, such as https://relay.example mal')
    try:
        tokens_for(sys.argv[1].rstrip('/'), sys.argv[2], f'tokens-{sys.argv[2]}.json', Terminal())
        print('Signed in.')
    except SignInError as error:
        print(f'\n{error}', file=sys.stderr)
        sys.exit(130 if error.code == 'cancelled' else 1)
