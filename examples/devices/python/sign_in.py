"""Signs a user in through a Sign-in Relay. Python 3.8 or newer, standard library only.

This file is the whole sign-in. app.py adds what a finished app needs; kodi.py is the same in Kodi.
"""
import base64
import hashlib
import json
import random
import secrets
import time
import urllib.error
import urllib.parse
import urllib.request

WAIT_SECONDS = 25  # The relay holds a poll this long. Some proxies cut a request after 30 s.
TELL_SECONDS = 5  # Nobody has to wait long for an acknowledgement or a cancellation.
TRIES = 6  # For all but a poll, which is repeated until the link expires.


class SignInError(Exception):
    """code: access_denied, authorization_failed, missing_code, exchange_failed (from the relay),
    expired, cancelled, refused, unreachable, invalid_grant (refresh only: sign in again)."""

    def __init__(self, code, detail=''):
        super().__init__(f'{code}: {detail}' if detail else code)
        self.code = code


def sign_in(relay, service, show, save, device='Living room'):
    body = {'service': service, 'code': True, 'ack': True, 'device': device}
    verifier = secrets.token_urlsafe(32) if can_be_blind(relay, service) else None
    if verifier:
        digest = hashlib.sha256(verifier.encode()).digest()
        body['challenge'] = base64.urlsafe_b64encode(digest).rstrip(b'=').decode()
    session = Session(relay, ask_until_answered(f'{relay}/auth/start', body, 'session'))
    try:
        show(session)
        answer = session.wait_for('code' if verifier else 'accessToken')
    except KeyboardInterrupt:
        session.cancel()  # The link then says so.
        raise
    tokens = exchange(answer, verifier) if verifier else tokens_from_relay(answer)
    save(tokens)
    session.acknowledge()  # Only now: until then a lost response, or a crash, costs no sign-in.
    return tokens


def can_be_blind(relay, service):
    """Whether this device may exchange the code itself, so that the relay sees no token. Older relays do not say."""
    _, answer, _, _ = ask(f'{relay}/services', timeout=TELL_SECONDS)
    services = answer.get('services', [])
    return any(each['service'] == service and each.get('blind') in ('can', 'must') for each in services)


def exchange(code, verifier):
    form = {'grant_type': 'authorization_code', 'code': code['code'], 'redirect_uri': code['redirectUri'],
            'client_id': code['clientId'], 'code_verifier': verifier}
    return tokens_from_provider(code['tokenUrl'], code['clientId'], form)


def tokens_from_relay(answer):
    """By name: nothing else of the relay is kept, such as an address that tokens would be sent to."""
    return {name: answer[name] for name in ('accessToken', 'refreshToken', 'expiresIn') if name in answer}


def tokens_from_provider(url, client_id, form):
    """RFC 6749 §5.1. The tokens are refreshed there too."""
    answer = ask_until_answered(url, urllib.parse.urlencode(form).encode(), 'access_token')
    tokens = {'accessToken': answer['access_token'], 'tokenUrl': url, 'clientId': client_id}
    for name, member in (('refresh_token', 'refreshToken'), ('expires_in', 'expiresIn')):
        if name in answer:
            tokens[member] = answer[name]
    return tokens


class Session:
    """A link to show."""

    def __init__(self, relay, answer):
        self.link, self.user_code, self.qr = answer['link'], answer['userCode'], answer['qr']
        self.code_address = f'{relay}/link'
        # The poll secret is only for this device: never show it, log it or put it into a link.
        self._result = f'{relay}/auth/result?session={urllib.parse.quote(answer["session"])}'
        self._ends_at = time.monotonic() + answer['expiresIn']  # The device's clock may not be set yet.

    def seconds_left(self):
        return max(0, round(self._ends_at - time.monotonic()))

    def wait_for(self, member):
        while True:
            asked_at = time.monotonic()
            status, answer, text, pause = ask(f'{self._result}&wait={WAIT_SECONDS}')
            if status == 200 and 'error' in answer:
                raise SignInError(answer['error'])
            if status == 200 and answer.get(member):
                return answer
            if status == 400:
                raise SignInError('refused', text)
            # The relay decides when the link has expired. The time here ends only polls that fail.
            if status == 410 or (status != 204 and self.seconds_left() == 0):
                raise SignInError('expired')
            # 204: not yet. All else is transient: 429, 5xx, a page of a proxy, no network.
            time.sleep(max(0, asked_at + 1 - time.monotonic()) if status == 204 else pause)

    def acknowledge(self):
        self._tell('ack=1')

    def cancel(self):
        self._tell('cancel=1')

    def _tell(self, query):
        for _ in range(TRIES):
            status, _, _, pause = ask(f'{self._result}&{query}', timeout=TELL_SECONDS)
            if status in (204, 400, 410):
                return
            time.sleep(pause)


def ask_until_answered(url, body, member):
    """Returns the JSON object of a 200 that has the member. Tries again what may pass."""
    for _ in range(TRIES):
        status, answer, text, pause = ask(url, body)
        if status == 200 and answer.get(member):
            return answer
        if 400 <= status < 500 and status != 429:
            raise SignInError(answer['error']) if 'error' in answer else SignInError('refused', text)
        time.sleep(pause)
    raise SignInError('unreachable', text)


def ask(url, body=None, timeout=WAIT_SECONDS + 15):
    """Returns (status, JSON object, text, seconds to pause before a retry). Status 0: no complete response."""
    is_form = isinstance(body, bytes)
    data = body if body is None or is_form else json.dumps(body).encode()
    content_type = 'application/x-www-form-urlencoded' if is_form else 'application/json'
    request = urllib.request.Request(url, data, {'Content-Type': content_type})
    pause = random.uniform(1, 3)  # So that a thousand devices do not return at the same moment.
    try:
        try:
            # Python has no default timeout: a socket that died while the device slept would hang.
            response = urllib.request.urlopen(request, timeout=timeout)
        except urllib.error.HTTPError as error:
            response = error
        with response:
            status, headers, text = response.status, response.headers, response.read().decode()
    except Exception:  # OSError, HTTPException (a response cut off), UnicodeDecodeError.
        return 0, {}, '', pause
    if headers.get('Retry-After', '').isdecimal():
        pause += min(int(headers['Retry-After']), 60)
    try:
        answer = json.loads(text)
    except ValueError:  # A page of a proxy.
        answer = None
    return status, answer if isinstance(answer, dict) else {}, text.strip()[:100], pause
