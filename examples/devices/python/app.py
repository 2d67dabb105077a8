"""What a finished app adds to sign_in.py: tokens that are kept and refreshed when they are due, a new link
for one that has expired, a QR code, and Ctrl-C.

    python3 app.py https://relay.example mal

The QR code is drawn by the package qrcode (Debian: python3-qrcode), if it is installed.
"""
import contextlib
import json
import os
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from sign_in import SignInError, ask_until_answered, form_of, sign_in, tokens_from_provider, tokens_from_relay

LINKS = 3  # A link that has expired is replaced, but not for ever on a forgotten screen.
MARGIN_SECONDS = 60  # Tokens are refreshed this long before they expire, or in the middle of a shorter life.
OTHERS_SECONDS = 3  # Another process may have used a refused refresh token first, and be about to save the next.

one_at_a_time = threading.Lock()  # The others then find what the first has saved.
unsaved = {}  # By path: tokens that could not be saved. The app goes on with them; each call tries to save them.


def tokens_for(relay, service, path, show, rejected=None):
    """Tokens that are valid: the saved ones, refreshed if they are due, or those of a new sign-in, whose link
    show(session) shows. rejected: an access token that the provider's API answered with 401."""
    with one_at_a_time:
        saved = load_tokens(path)
        if saved.get('accessToken') not in (None, rejected) and not is_due(saved):
            return saved
        if saved.get('refreshToken'):
            try:
                # In a thread, which Ctrl-C does not end: a refresh token may be good for one use.
                with ThreadPoolExecutor(1) as thread:
                    return thread.submit(refresh, relay, service, path, saved).result()
            except SignInError as error:
                if error.code != 'invalid_grant':
                    raise  # The saved tokens stay: try later.
            time.sleep(OTHERS_SECONDS)
            unsaved.pop(path, None)
            newer = load_tokens(path)
            if newer.get('refreshToken') not in (None, saved['refreshToken']):
                return newer
        for link in range(1, LINKS + 1):
            try:
                return sign_in(relay, service, show, lambda tokens: save_tokens(path, tokens))
            except SignInError as error:
                if error.code != 'expired' or link == LINKS:
                    raise


def refresh(relay, service, path, saved):
    refresh_token = saved['refreshToken']
    if 'tokenUrl' in saved:  # After a blind sign-in.
        url, client_id = saved['tokenUrl'], saved['clientId']
        form = form_of(grant_type='refresh_token', refresh_token=refresh_token, client_id=client_id)
        tokens = tokens_from_provider(ask_until_answered(url, form, 'access_token'), url, client_id)
    else:
        body = {'service': service, 'refreshToken': refresh_token}
        tokens = tokens_from_relay(ask_until_answered(f'{relay}/refresh', body, 'accessToken'))
    tokens.setdefault('refreshToken', refresh_token)  # The old one stays if there is no new one.
    return save_tokens(path, tokens)


def is_due(tokens):
    """Where the provider names no expiry, only its API says it, with a 401."""
    if not (tokens.get('expiresAt') and tokens.get('expiresIn')):
        return False
    left = tokens['expiresAt'] - time.time()
    # More than they ever had: the clock was set back since they were saved.
    return not min(MARGIN_SECONDS, tokens['expiresIn'] / 2) < left <= tokens['expiresIn']


def save_tokens(path, tokens):
    """Readable by this user only, and never half written, even if the power fails."""
    if tokens.get('expiresIn'):
        tokens.setdefault('expiresAt', int(time.time()) + tokens['expiresIn'])
    written = f'{path}.{os.getpid()}'  # Another process may be saving too.
    try:
        descriptor = os.open(written, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, 'w') as file:
            json.dump(tokens, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(written, path)
    except OSError as error:
        if os.path.isfile(written):
            os.remove(written)  # It has the tokens.
        unsaved[path] = tokens
        raise SignInError('not_saved', error)
    unsaved.pop(path, None)
    return tokens


def load_tokens(path):
    if path in unsaved:
        tokens = unsaved[path]
        with contextlib.suppress(SignInError):
            save_tokens(path, tokens)
        return tokens
    try:
        with open(path) as file:
            saved = json.load(file)
    except (OSError, ValueError):
        return {}
    return saved if isinstance(saved, dict) else {}


def show_in_terminal(session):
    print(f'Open {session.link}')
    print(f'or type {session.user_code} at {session.code_address}', flush=True)
    if not draw_qr(session.link):
        print(f'QR code: {session.qr}', flush=True)


def draw_qr(text):
    """Black on white whatever the terminal's theme is. False if nothing was drawn."""
    try:
        import qrcode
        '▀'.encode(sys.stdout.encoding)
    except (ImportError, UnicodeEncodeError):  # It is not installed, or the terminal is not of UTF-8.
        return False
    code = qrcode.QRCode(border=4, error_correction=qrcode.constants.ERROR_CORRECT_L)
    code.add_data(text)
    code.print_ascii(tty=sys.stdout.isatty(), invert=True)
    return True


if __name__ == '__main__':
    if len(sys.argv) != 3:
        sys.exit('Usage: python3 app.py RELAY SERVICE, such as https://relay.example mal')
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # Like Ctrl-C: a KeyboardInterrupt.
    path = f'tokens-{sys.argv[2]}.json'
    try:
        try:
            tokens_for(sys.argv[1].rstrip('/'), sys.argv[2], path, show_in_terminal)
        except SignInError as error:
            if error.code != 'not_saved':
                sys.exit(str(error))
            print(f'{error}\nTrying again until Ctrl-C.', file=sys.stderr)
        while unsaved:  # They would be lost if the program ended.
            time.sleep(5)
            load_tokens(path)
        print('Signed in.')
    except KeyboardInterrupt:
        print('\ncancelled', file=sys.stderr)
        sys.exit(130)
