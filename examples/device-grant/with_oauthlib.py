"""Signs in with oauthlib, or refreshes what tokens.json has. Argument: the issuer at the relay.

oauthlib builds requests and parses responses, and leaves sending to the app. For a
relay on your own machine without TLS, set OAUTHLIB_INSECURE_TRANSPORT=1.
"""

import json
import os
import sys
import time
import urllib.error
import urllib.request
from http.client import HTTPException
from pathlib import Path

from oauthlib.oauth2 import DeviceClient
from oauthlib.oauth2.rfc6749.errors import InvalidGrantError, OAuth2Error

issuer = sys.argv[1]
saved_tokens = Path('tokens.json')
client = DeviceClient('tv')
os.umask(0o077)


def post(path, body):
    try:
        answer = urllib.request.urlopen(issuer + path, body.encode(), timeout=30)
    except urllib.error.HTTPError as error:
        if error.code >= 500:  # It is an OSError, too.
            raise
        answer = error
    with answer:
        text = answer.read(65536).decode()
    if answer.length:  # The rest of a response that was cut off, or never ends.
        raise OSError('no complete response')
    if not text.startswith('{'):  # A page of a proxy.
        raise OSError(text[:100])
    return text


def sign_in():
    # oauthlib puts the parameters into the address; RFC 8628 has them in the body.
    uri = client.prepare_request_uri(issuer + '/device_authorization', device='Living room')
    begun = json.loads(post('/device_authorization', uri.partition('?')[2]))
    if 'error' in begun:
        sys.exit(begun['error'])
    print('Open', begun['verification_uri_complete'])
    print('or type', begun['user_code'], 'at', begun['verification_uri'], flush=True)
    interval = begun['interval']
    over = time.monotonic() + begun['expires_in']
    body = client.prepare_request_body(begun['device_code'], include_client_id=True)
    while True:
        time.sleep(interval)
        try:
            return client.parse_request_body_response(post('/token', body))
        except OAuth2Error as error:
            if error.error == 'slow_down':
                interval += 5
            elif error.error != 'authorization_pending':
                raise
        except (OSError, HTTPException):  # A lost connection, or a 503, does not end the sign-in.
            if time.monotonic() > over:
                raise


def refresh():
    """None if the user has to sign in again."""
    saved = json.loads(saved_tokens.read_text()) if saved_tokens.exists() else {}
    if 'refresh_token' not in saved:
        return None
    body = client.prepare_refresh_body(refresh_token=saved['refresh_token'])
    try:
        return {**saved, **client.parse_request_body_response(post('/token', body))}
    except InvalidGrantError:
        return None


try:
    tokens = refresh() or sign_in()
    saved_tokens.write_text(json.dumps(tokens))
except OAuth2Error as error:
    sys.exit(error.error)
except (OSError, HTTPException) as error:  # Try later: the saved tokens stay.
    sys.exit(str(error))
