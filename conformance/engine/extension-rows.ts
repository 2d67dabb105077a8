/**
 * The rules beyond `protocol.md`, each with a name for cases to point at: what
 * a device or an operator may ask for, and the RFCs that the second door keeps.
 */

export const EXTENSION_ROWS = {
  'user-code.start': '"code": true adds userCode, link and qr; without it the three fields alone',
  'user-code.form': 'a typed code, however written, leads to its page; no code: the form again',
  'user-code.page': 'the page names provider and device, and changes nothing',
  'user-code.address': 'a code has one address; any other spelling of it leads there',
  'user-code.continue': 'continue leads to the provider and uses the code up',
  'user-code.decline': 'decline reaches the device as access_denied at once',
  'user-code.once': 'a code that is used, expired or never was: one and the same 404 page',
  'user-code.foreign': "another site's form decides nothing",
  'user-code.limit-address':
    'tries of one address are limited; a refusal tells nothing of the code',
  'user-code.limit-overall': 'wrong tries of all addresses together are limited',
  'wait.hold': 'wait=n: held for n seconds at most, and not at all with 0',
  'wait.bounds': 'wait: a whole number from 0 to 50, else 400',
  'ack.again': '"ack": true: the result may be fetched again until it is confirmed',
  'ack.confirm': 'ack=1 confirms: 204, then 410',
  'ack.early': 'ack=1 before anything was delivered: 204, and nothing is lost',
  'ack.end': 'unconfirmed it is kept for 60 s after the first delivery',
  'device-grant.repeat':
    'the same tokens again for --grant-repeat-seconds after the first delivery, then expired_token',
  'device-grant.errors': 'an error is told until the sign-in expires',
  'qr.picture': 'a picture of the link, as SVG or PNG, never cached',
  'qr.size': 'size within bounds, else 400; square, and no wider than asked',
  'qr.unknown': 'an unknown browser state or format: 404',
  'cors.preflight': 'the preflight of a listed origin is answered, null included',
  'cors.answer': 'a listed origin reads every answer, refusals included',
  'cors.unlisted': 'to an origin that is not listed nothing of it is said',
  'cors.browser': 'no address that a browser opens has any of it',
  'confirm.link': 'CONFIRM=always: the plain link asks first, and its page holds no state',
  'confirm.decide': 'CONFIRM=always: continue 303 to the provider, decline ends the sign-in',
  'confirm.browser': 'CONFIRM=always: a callback is heard from the browser that continued alone',
  'rfc6749.3.2':
    'token endpoint: POST; empty and unknown parameters count as not there; none twice',
  'rfc6749.5.1': 'access_token, token_type, expires_in, refresh_token, scope; no-store, no-cache',
  'rfc6749.5.2': 'errors: 400 application/json with error; its characters',
  'rfc6749.6': 'refresh: the secret is added, scope passed on, the answer passed back',
  'refresh.once': 'refreshes with one token at a time, or within 30 s: the provider is asked once',
  'refresh.down': 'a provider that cannot be asked: 503 temporarily_unavailable, and not kept',
  'rfc8628.3.1': 'device authorization request: a form; client_id and scope are accepted',
  'rfc8628.3.2': 'device authorization response: its members, no-store',
  'rfc8628.3.3': 'both verification URIs lead to the same sign-in',
  'rfc8628.3.4': 'token request: grant_type and device_code are required',
  'rfc8628.3.5': 'authorization_pending, slow_down, access_denied, expired_token',
  'rfc8628.4': 'metadata: device_authorization_endpoint',
  'rfc8628.6.1': 'user code: eight consonants in two halves',
  'rfc8414.2': 'metadata: issuer, token_endpoint, response_types_supported',
  'rfc8414.3': 'metadata at the well-known place before the path; the issuer is the one asked for',
  'rfc7240.4.3': 'Prefer: wait=n holds the poll, and Preference-Applied says so',
} as const;
