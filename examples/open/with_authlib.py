"""Signs in by an open sign-in, with Authlib: docs/open.md."""

import time
from urllib.parse import urlencode

import requests
from authlib.common.security import generate_token
from authlib.integrations.requests_client import OAuth2Session

RELAY = 'https://relay.example'
AUTHORIZE = 'https://accounts.spotify.com/authorize'
TOKEN = 'https://accounts.spotify.com/api/token'
CLIENT_ID = 'the client id that you registered with RELAY/open/callback'

client = OAuth2Session(CLIENT_ID, scope='user-read-email', code_challenge_method='S256', token_endpoint_auth_method='none')
verifier = generate_token(48)
url, state = client.create_authorization_url(AUTHORIZE, code_verifier=verifier)
body = {'authorizationUrl': url, 'code': True, 'ack': True, 'device': 'A shell'}
response = requests.post(f'{RELAY}/open', json=body, timeout=40)
response.raise_for_status()
started = response.json()
print('Open', started['link'])

result = f"{RELAY}/auth/result?session={started['session']}"
answer = None
while not answer:
    try:
        response = requests.get(f'{result}&wait=25', timeout=40)
        if response.status_code == 410:
            raise SystemExit('The link has expired')
        if response.status_code == 400:
            raise SystemExit(response.text)
        if response.status_code == 200:
            answer = response.json()
    except requests.RequestException:
        pass  # No response, a page of a proxy, or one that was cut off.
    if not answer:
        time.sleep(2)
if 'error' in answer:
    raise SystemExit(answer['error'])
client.redirect_uri = answer['redirectUri']
callback = f"{answer['redirectUri']}?{urlencode(answer['callback'])}"
tokens = client.fetch_token(TOKEN, authorization_response=callback, state=state, code_verifier=verifier)
requests.get(f'{result}&ack=1', timeout=40)
print('Signed in, for', tokens['expires_in'], 'seconds')
