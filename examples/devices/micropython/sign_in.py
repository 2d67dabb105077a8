"""Signs a user in through a Sign-in Relay. MicroPython 1.23 or newer (ESP32, Pico W), no other module.

    micropython sign_in.py https://relay.example mal
    micropython sign_in.py https://relay.example spotify AUTHORIZATION_URL TOKEN_URL CLIENT_ID
"""
import binascii
import hashlib
import json
import os
import select
import socket
import sys
import time
import tls

CERTIFICATES = []  # The CAs of the relay and of the provider, each as bytes of DER. Without them https fails.
WAIT_SECONDS = 25  # The relay holds a poll this long. Some proxies cut a request after 30 s.
TELL_SECONDS = 5  # Nobody has to wait long for an acknowledgement or a cancellation.
TRIES = 6  # For all but a poll, which is repeated until the link expires.
LINKS = 3  # A link that has expired is replaced, but not for ever on a forgotten screen.
MARGIN_SECONDS = 60  # Tokens are refreshed this long before they expire, or in the middle of a shorter life.
MAX_BYTES = 16_384  # More than any response of a relay: one that never ends fills no memory.

unsaved = {}  # By path: tokens that could not be saved. The app goes on with them; each call tries to save them.


class SignInError(Exception):
    """code: access_denied, authorization_failed, missing_code, exchange_failed, expired, cancelled, refused,
    unreachable, not_saved (the next calls return the tokens), invalid_grant (refresh only: sign in again)."""

    def __init__(self, code, detail=''):
        super().__init__(code + ': ' + detail if detail else code)
        self.code = code


def tokens_for(relay, service, path, show, tick=lambda session: None, client=None, rejected=None):
    """Tokens that are valid: the saved ones, refreshed if they are due, or those of a new sign-in.
    show(session) shows a link. tick(session) runs 20 times a second while the user signs in, and raises
    SignInError('cancelled') to end that. client: of an open sign-in, a dict of authorizationUrl, tokenUrl,
    clientId, and issuer if it is known. rejected: an access token that the provider's API answered with 401."""
    saved = load_tokens(path)
    if saved.get('accessToken') not in (None, rejected) and not is_due(saved):
        return saved
    if saved.get('refreshToken'):
        try:
            return save_tokens(path, refresh(relay, service, saved))
        except SignInError as error:
            if error.code != 'invalid_grant':
                raise  # The saved tokens stay: try later.
        unsaved.pop(path, None)
    for link in range(1, LINKS + 1):
        try:
            return sign_in(relay, service, path, show, tick, client)
        except SignInError as error:
            if error.code != 'expired' or link == LINKS:
                raise


def sign_in(relay, service, path, show, tick, client):
    verifier = base64url(os.urandom(32))
    challenge = base64url(hashlib.sha256(verifier.encode()).digest())
    state = base64url(os.urandom(16))
    body = {'code': True, 'ack': True, 'device': sys.platform}
    if client:
        query = {'response_type': 'code', 'client_id': client['clientId'], 'state': state,
                 'code_challenge': challenge, 'code_challenge_method': 'S256'}
        url = client['authorizationUrl']
        body['authorizationUrl'] = url + ('&' if '?' in url else '?') + form_of(query)
    else:
        body['service'] = service
        if can_be_blind(relay, service):
            body['challenge'] = challenge
    start = relay + ('/open' if client else '/auth/start')
    session = Session(relay, ask_until_answered(start, body, 'link'))
    try:
        show(session)
        member = 'callback' if client else 'code' if 'challenge' in body else 'accessToken'
        answer = session.wait(member, lambda: tick(session))
    except SignInError as error:
        if error.code == 'cancelled':
            session.tell('cancel=1')
        raise
    if client:
        answer = code_of(answer, state, client)
    tokens = tokens_from_relay(answer) if member == 'accessToken' else exchange(answer, verifier)
    save_tokens(path, tokens)
    session.tell('ack=1')  # Only now: until then a lost response, or a crash, costs no sign-in.
    return tokens


def can_be_blind(relay, service):
    """Whether this device may exchange the code itself, so that the relay sees no token. Older relays do not say."""
    answer = ask_until_answered(relay + '/services', None, 'services', if_missing={'services': []})
    return any(each.get('service') == service and each.get('blind') in ('can', 'must') for each in answer['services'])


def exchange(code, verifier):
    """A code works once (RFC 6749 section 4.1.2), so it is sent again only if there was no response."""
    form = form_of({'grant_type': 'authorization_code', 'code': code['code'], 'code_verifier': verifier,
                    'redirect_uri': code['redirectUri'], 'client_id': code['clientId']}).encode()
    status, answer, text, pause = ask(code['tokenUrl'], form)
    if status == 0:
        time.sleep(pause)
        status, answer, text, _ = ask(code['tokenUrl'], form)
    if status != 200 or not answer.get('access_token'):
        raise SignInError('exchange_failed', text)
    return tokens_from_provider(answer, code['tokenUrl'], code['clientId'])


def code_of(answer, state, client):
    """Of the callback of an open sign-in, as the provider sent it (RFC 6749 section 4.1.2, RFC 9207)."""
    callback = answer['callback']
    issuer = client.get('issuer')
    if callback.get('state') != state or (issuer and callback.get('iss', issuer) != issuer):
        raise SignInError('refused', 'the callback is of another sign-in or provider')
    return {'code': callback['code'], 'redirectUri': answer['redirectUri'],
            'tokenUrl': client['tokenUrl'], 'clientId': client['clientId']}


class Session:
    """A link to show."""

    def __init__(self, relay, answer):
        self.link, self.user_code, self.qr = answer['link'], answer['userCode'], answer['qr']
        self.code_address = relay + '/link'
        # The poll secret is only for this device: never show it, log it or put it into a link.
        self._result = relay + '/auth/result?session=' + quote(answer['session'])
        # The device's clock may not be set yet.
        self._ends_at = time.ticks_add(time.ticks_ms(), int(answer['expiresIn'] * 1000))

    def seconds_left(self):
        return max(0, time.ticks_diff(self._ends_at, time.ticks_ms()) // 1000)

    def wait(self, member, tick):
        while True:
            status, answer, text, pause = ask(self._result + '&wait=%d' % WAIT_SECONDS, tick=tick)
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
            for _ in range(20 * (1 if status == 204 else pause)):
                tick()
                time.sleep_ms(50)

    def tell(self, query):
        for _ in range(TRIES):
            status, _, _, pause = ask(self._result + '&' + query, timeout=TELL_SECONDS)
            if status in (204, 400, 410):
                return
            time.sleep(pause)


def refresh(relay, service, saved):
    if 'tokenUrl' in saved:  # The device exchanged the code itself.
        url, client_id = saved['tokenUrl'], saved['clientId']
        form = {'grant_type': 'refresh_token', 'refresh_token': saved['refreshToken'], 'client_id': client_id}
        answer = ask_until_answered(url, form_of(form).encode(), 'access_token')
        tokens = tokens_from_provider(answer, url, client_id)
    else:
        body = {'service': service, 'refreshToken': saved['refreshToken']}
        tokens = tokens_from_relay(ask_until_answered(relay + '/refresh', body, 'accessToken'))
    tokens.setdefault('refreshToken', saved['refreshToken'])  # Without a new one the old one stays.
    return tokens


def tokens_from_relay(answer):
    """By name: nothing else of the relay is kept, such as an address that tokens would be sent to."""
    return {name: answer[name] for name in ('accessToken', 'refreshToken', 'expiresIn') if name in answer}


def tokens_from_provider(answer, url, client_id):
    """RFC 6749 section 5.1. The tokens are refreshed there too."""
    tokens = {'accessToken': answer['access_token'], 'tokenUrl': url, 'clientId': client_id}
    if answer.get('refresh_token') and isinstance(answer['refresh_token'], str):
        tokens['refreshToken'] = answer['refresh_token']
    seconds = answer.get('expires_in')
    if isinstance(seconds, str) and seconds.isdigit():  # So some providers write it.
        seconds = float(seconds)
    if type(seconds) in (int, float) and 1 <= seconds < 1e10:
        tokens['expiresIn'] = int(seconds)
    return tokens


def is_due(tokens):
    """Where the provider names no expiry, only its API says it, with a 401."""
    if not (tokens.get('expiresAt') and tokens.get('expiresIn')):
        return False
    left = tokens['expiresAt'] - time.time()
    # More than they ever had: the clock was set back since they were saved.
    return not min(MARGIN_SECONDS, tokens['expiresIn'] / 2) < left <= tokens['expiresIn']


def save_tokens(path, tokens):
    """Never half written, even if the power fails."""
    if tokens.get('expiresIn'):
        tokens.setdefault('expiresAt', time.time() + tokens['expiresIn'])
    try:
        with open(path + '.new', 'w') as file:
            json.dump(tokens, file)
        os.rename(path + '.new', path)
    except OSError as error:
        try:
            os.remove(path + '.new')  # It has the tokens.
        except OSError:
            pass
        unsaved[path] = tokens
        raise SignInError('not_saved', '%s, %s' % (path, error))
    unsaved.pop(path, None)
    return tokens


def load_tokens(path):
    if path in unsaved:
        tokens = unsaved[path]
        try:
            save_tokens(path, tokens)
        except SignInError:
            pass
        return tokens
    try:
        with open(path) as file:
            saved = json.load(file)
    except (OSError, ValueError):
        return {}
    return saved if isinstance(saved, dict) else {}


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


def ask(url, body=None, timeout=WAIT_SECONDS + 15, tick=lambda: None):
    """Returns (status, JSON object, what an error may tell of it, seconds to pause before a retry).
    Status 0: no complete response."""
    pause = 1 + os.urandom(1)[0] % 3  # So that a thousand devices do not return at the same moment.
    try:
        status, headers, text = request(url, body, timeout, tick)
    except (OSError, ValueError, IndexError):  # ValueError and IndexError: this is not HTTP.
        return 0, {}, '', pause
    if headers.get('retry-after', '').isdigit():
        pause += min(int(headers['retry-after']), 60)
    # A 200 and JSON may contain tokens: of those only `error` is shown.
    try:
        answer = json.loads(text)
    except ValueError:  # A page of a proxy.
        return status, {}, '' if status == 200 else text.strip()[:100], pause
    answer = answer if isinstance(answer, dict) else {}
    error = answer.get('error')
    return status, answer, error if isinstance(error, str) else '', pause


def request(url, body, timeout, tick):
    """By HTTP/1.0, in which no response comes in chunks. The module requests would not check certificates."""
    scheme, _, host, path = url.split('/', 3)
    name, _, port = host.partition(':')
    is_secure = scheme == 'https:'
    ends_at = time.ticks_add(time.ticks_ms(), timeout * 1000)
    number = int(port or (443 if is_secure else 80))
    family, kind, _, _, address = socket.getaddrinfo(name, number, 0, socket.SOCK_STREAM)[0]
    stream = plain = socket.socket(family, kind)
    try:
        plain.settimeout(timeout)  # For the connection, the handshake and the request.
        plain.connect(address)
        if is_secure:
            context = tls.SSLContext(tls.PROTOCOL_TLS_CLIENT)
            for certificate in CERTIFICATES:
                context.load_verify_locations(certificate)
            stream = context.wrap_socket(plain, server_hostname=name)
        stream.write(request_text(host, path, body))
        stream.setblocking(False)
        received, answer = b'', None
        while answer is None:
            tick()
            part = stream.read(1024)
            received += part or b''
            answer = parse_response(received, part == b'')
            if len(received) > MAX_BYTES or time.ticks_diff(ends_at, time.ticks_ms()) < 0:
                raise OSError('too much, or too late')
            if not part:
                time.sleep_ms(50)
        return answer
    finally:
        plain.close()


def request_text(host, path, body):
    is_form = isinstance(body, bytes)
    content = b'' if body is None else body if is_form else json.dumps(body).encode()
    head = '%s /%s HTTP/1.0\r\nHost: %s\r\n' % ('GET' if body is None else 'POST', path, host)
    head += 'Content-Type: application/%s\r\n' % ('x-www-form-urlencoded' if is_form else 'json')
    return (head + 'Content-Length: %d\r\n\r\n' % len(content)).encode() + content


def parse_response(received, is_over):
    """(status, headers, text), or None if there is more to come. Raises OSError if it was cut off."""
    head, end, content = received.partition(b'\r\n\r\n')
    lines = head.decode().split('\r\n')
    headers = {line.partition(':')[0].lower(): line.partition(':')[2].strip() for line in lines[1:]}
    length = headers.get('content-length')
    if end and (is_over if length is None else len(content) >= int(length)):
        return int(lines[0].split(' ')[1]), headers, content.decode()
    if is_over:
        raise OSError('cut off')
    return None


def base64url(data):
    return binascii.b2a_base64(data).decode().rstrip('=\n').replace('+', '-').replace('/', '_')


def form_of(members):
    return '&'.join(name + '=' + quote(value) for name, value in members.items())


def quote(text):
    plain = b'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~'
    return ''.join(chr(byte) if byte in plain else '%%%02X' % byte for byte in text.encode())


def print_session(session):
    print('Open', session.link)
    print('or type', session.user_code, 'at', session.code_address)


def stop_at_enter(_):
    poller = select.poll()
    poller.register(sys.stdin, select.POLLIN)
    if poller.poll(0) and sys.stdin.readline():
        raise SignInError('cancelled')


if __name__ == '__main__':
    if len(sys.argv) not in (3, 6):
        print('Usage: micropython sign_in.py RELAY SERVICE [AUTHORIZATION_URL TOKEN_URL CLIENT_ID]')
        sys.exit(1)
    own = dict(zip(('authorizationUrl', 'tokenUrl', 'clientId'), sys.argv[3:]))
    path = 'tokens-%s.json' % sys.argv[2]
    try:
        tokens_for(sys.argv[1].rstrip('/'), sys.argv[2], path, print_session, stop_at_enter, own)
    except SignInError as error:
        print(error)
        if error.code != 'not_saved':
            sys.exit(130 if error.code == 'cancelled' else 1)
        print('Trying again until Ctrl-C.')
    while unsaved:  # They would be lost if the program ended.
        time.sleep(5)
        load_tokens(path)
    print('Signed in.')
