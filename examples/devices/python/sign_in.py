"""Signs a user in through a Sign-in Relay. Python 3.8 or newer, standard library only.

This file is the whole sign-in. app.py adds what a finished app needs; kodi.py is the same in Kodi.
"""
import base64
import hashlib
import json
import random
import secrets
import time
import urllib.parse
import urllib.request

WAIT_SECONDS = 25  # The relay holds a poll this long. Some proxies cut a request after 30 s.
TELL_SECONDS = 5  # Nobody has to wait long for an acknowledgement or a cancellation.
TRIES = 6  # Only a poll is repeated until the link expires.
MAX_BYTES = 65_536  # More than any response of a relay: one that never ends fills no memory.


class SignInError(Exception):
    """code: access_denied, authorization_failed, missing_code, exchange_failed, expired, cancelled, refused,
    unreachable, not_saved (app.py: the next calls return the tokens), invalid_grant (refresh only: sign in again)."""

    def __init__(self, code, detail=''):
        super().__init__(f'{code}: {detail}' if detail else code)
        self.code = code


def sign_in(relay, service, show, save, device='Living room'):
    body = {'service': service, 'code': True, 'ack': True, 'device': device}
    verifier = secrets.token_urlsafe(32) if can_be_blind(relay, service) else None
    if verifier:
        digest = hashlib.sha256(verifier.encode()).digest()
        body['challenge'] = base64.urlsafe_b64encode(digest).rstrip(b'=').decode()
    session = Session(relay, ask_until_answered(f'{relay}/auth/start', body, 'link'))
    try:
        show(session)
        answer = session.wait_for('code' if verifier else 'accessToken')
    except KeyboardInterrupt:
        session.cancel()  # The link then says so.
        raise
    tokens = exchange(answer, verifier) if verifier else tokens_from_relay(answer)
    save(tokens)
    session.tell('ack=1')  # Only now: until then a lost response, or a crash, costs no sign-in.
    return tokens


def can_be_blind(relay, service):
    """Whether this device may exchange the code itself, so that the relay sees no token. Older relays do not say."""
    answer = ask_until_answered(f'{relay}/services', None, 'services', if_missing={'services': []})
    return any(each.get('service') == service and each.get('blind') in ('can', 'must') for each in answer['services'])


def exchange(code, verifier):
    """A code works once (RFC 6749 §4.1.2), so it is sent again only if there was no response."""
    form = form_of(grant_type='authorization_code', code=code['code'], redirect_uri=code['redirectUri'],
                   client_id=code['clientId'], code_verifier=verifier)
    status, answer, text, pause = ask(code['tokenUrl'], form)
    if status == 0:
        time.sleep(pause)
        status, answer, text, _ = ask(code['tokenUrl'], form)
    if status != 200 or not answer.get('access_token'):
        raise SignInError('exchange_failed', text)
    return tokens_from_provider(answer, code['tokenUrl'], code['clientId'])


def tokens_from_relay(answer):
    """By name: nothing else of the relay is kept, such as an address that tokens would be sent to."""
    return {name: answer[name] for name in ('accessToken', 'refreshToken', 'expiresIn') if name in answer}


def tokens_from_provider(answer, url, client_id):
    """RFC 6749 §5.1. The tokens are refreshed there too."""
    tokens = {'accessToken': answer['access_token'], 'tokenUrl': url, 'clientId': client_id}
    if answer.get('refresh_token') and isinstance(answer['refresh_token'], str):
        tokens['refreshToken'] = answer['refresh_token']
    seconds = answer.get('expires_in')
    if isinstance(seconds, str) and seconds.isdecimal():  # So some providers write it.
        seconds = float(seconds)
    if type(seconds) in (int, float) and 1 <= seconds < 1e10:
        tokens['expiresIn'] = int(seconds)
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
            time.sleep(1 if status == 204 else pause)

    def cancel(self):
        self.tell('cancel=1')

    def tell(self, query):
        for _ in range(TRIES):
            status, _, _, pause = ask(f'{self._result}&{query}', timeout=TELL_SECONDS)
            if status in (204, 400, 410):
                return
            time.sleep(pause)


def ask_until_answered(url, body, member, if_missing=None):
    """Returns the JSON object of a 200 that has the member, or if_missing of a 404. Tries again what may pass."""
    for tried in range(TRIES):
        if tried:
            time.sleep(pause)
        status, answer, text, pause = ask(url, body)
        if status == 200 and answer.get(member) not in (None, ''):
            return answer
        if status == 404 and if_missing:
            return if_missing
        if 400 <= status < 500 and status != 429:
            raise SignInError(text) if text and 'error' in answer else SignInError('refused', text)
    raise SignInError('unreachable', text if status else url)


class AnyStatus(urllib.request.HTTPErrorProcessor):
    """Raises no error for a status. Follows no redirect: one could lead tokens to another server, and a captive
    portal's may pass."""

    def http_response(self, request, response):
        return response

    https_response = http_response


opener = urllib.request.build_opener(AnyStatus)


def ask(url, body=None, timeout=WAIT_SECONDS + 15):
    """Returns (status, JSON object, what an error may tell of it, seconds to pause before a retry).
    Status 0: no complete response."""
    is_form = isinstance(body, bytes)
    data = body if body is None or is_form else json.dumps(body).encode()
    content_type = 'application/x-www-form-urlencoded' if is_form else 'application/json'
    pause = random.uniform(1, 3)  # So that a thousand devices do not return at the same moment.
    try:
        request = urllib.request.Request(url, data, {'Content-Type': content_type})
        # Python has no default timeout: a socket that died while the device slept would hang.
        with opener.open(request, timeout=timeout) as response:
            status, headers, text = response.status, response.headers, read_text(response, timeout)
    except Exception:  # OSError, HTTPException, or ValueError: no URL, or no UTF-8.
        return 0, {}, '', pause
    seconds = headers.get('Retry-After', '')[:9]
    if seconds.isdecimal():
        pause += min(int(seconds), 60)
    # A 200 and JSON may contain tokens: of those only `error` is shown.
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError):  # A page of a proxy.
        return status, {}, '' if status == 200 else text.strip()[:100], pause
    answer = answer if isinstance(answer, dict) else {}
    error = answer.get('error')
    return status, answer, error if isinstance(error, str) else '', pause


def read_text(response, timeout):
    """read() would have no limit, and a time only for each part."""
    ends_at, body = time.monotonic() + timeout, b''
    for part in iter(lambda: response.read1(4096), b''):
        body += part
        if len(body) > MAX_BYTES or time.monotonic() > ends_at:
            raise OSError('too much, or too late')
    if len(body) != int(response.headers.get('Content-Length', len(body))):
        raise OSError('cut off')
    return body.decode()


def form_of(**members):
    return urllib.parse.urlencode(members).encode()
