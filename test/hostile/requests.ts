/** Requests of every kind: good ones of which one part is changed, and any method, path, query, headers and body together. */
import type { Input } from './input.ts';

export const ADMIN_TOKEN = 'admin-token-of-hostile-requests';

/** What a request may bring of a sign-in. */
export interface Session {
  readonly service: string;
  readonly secret: string;
  readonly state: string;
  readonly userCode: string;
}

const START_WITH_EVERYTHING =
  '{"service":"anilist","code":true,"device":"Living room","ack":true,"details":true}';
const BLIND_START = '{"service":"mal","challenge":"E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"}';
const DEVICE_POLL =
  'grant_type=urn:ietf:params:oauth:grant-type:device_code&device_code={secret}&client_id=tv';

/** Requests that get far. `{service}`, `{state}`, `{secret}` and `{code}` are those of a session. */
const GOOD: readonly (readonly [method: string, target: string, body?: string])[] = [
  ['POST', '/auth/start', '{"service":"mal"}'],
  ['POST', '/auth/start', START_WITH_EVERYTHING],
  ['POST', '/auth/start', BLIND_START],
  ['GET', '/auth/result?session={secret}&wait=0'],
  ['GET', '/auth/result?session={secret}'],
  ['GET', '/auth/result?session={secret}&progress=1&wait=1'],
  ['GET', '/auth/result?session={secret}&ack=1'],
  ['GET', '/auth/result?session={secret}&cancel=1'],
  ['GET', '/auth/{service}?state={state}'],
  ['POST', '/auth/{service}?state={state}', 'choice=continue'],
  ['GET', '/auth/{service}/callback?state={state}&code=a-code'],
  ['GET', '/auth/{service}/callback?state={state}&code=a-code'],
  ['GET', '/auth/{service}/callback?state={state}&error=server_error&error_description=x'],
  ['GET', '/auth/{service}/callback?state={state}&error=access_denied'],
  ['GET', '/auth/mal/callback/x'],
  ['GET', '/auth/done'],
  ['GET', '/L/{code}'],
  ['POST', '/L/{code}', 'choice=continue'],
  ['POST', '/L/{code}', 'choice=decline'],
  ['GET', '/LINK/{code}'],
  ['GET', '/link?code={code}'],
  ['POST', '/link', 'code={code}'],
  ['POST', '/oauth2/mal/device_authorization', 'client_id=tv&scope=a+b'],
  ['POST', '/oauth2/{service}/token', DEVICE_POLL],
  ['POST', '/oauth2/mal/token', 'grant_type=refresh_token&refresh_token=r&client_id=tv'],
  ['POST', '/oauth2/mal/revoke', 'token=t&token_type_hint=refresh_token'],
  ['GET', '/oauth2/mal/.well-known/openid-configuration'],
  ['GET', '/.well-known/oauth-authorization-server/oauth2/mal'],
  ['POST', '/refresh', '{"service":"anilist","refreshToken":"r"}'],
  ['POST', '/revoke', '{"service":"mal","refreshToken":"r"}'],
  ['POST', '/base/auth/start', '{"service":"mal"}'],
  ['GET', '/'],
  ['GET', '/services'],
  ['GET', '/openapi.json'],
  ['GET', '/health'],
  ['GET', '/ready'],
  ['GET', '/favicon.ico'],
  ['GET', '/metrics'],
  ['GET', '/now'],
];
const METHODS = ['GET', 'POST', 'HEAD', 'OPTIONS', 'PUT', 'DELETE', 'FOO'];
const PARAMETERS = [
  ...['session={state}', 'session=', 'state={secret}', 'state=', 'code=', 'code={code}'],
  ...['wait=-1', 'wait=1e1', 'ack=0', 'cancel=true', 'error=', 'user_code={code}', 'size=1e9'],
];
const HEADERS: readonly (readonly [name: string, ...values: string[]])[] = [
  ['accept-language', 'de', 'zh-Hant;q=0.9,*', 'x;q=a'],
  ['authorization', 'Basic dHY6', 'Bearer x', `Bearer ${ADMIN_TOKEN}`],
  ['content-type', 'application/json', 'application/x-www-form-urlencoded', 'text/plain'],
  ['content-length', '0', '512', '-1', '1e3', '99999999999'],
  ['cookie', '__Host-continue=x', 'a=b; c'],
  ['forwarded', 'for=192.0.2.1', 'for="[2001:db8::1]";host=x'],
  ['host', 'relay.test', 'a,b', '127.0.0.1:9090', 'evil.example'],
  ['origin', 'https://tv.test', 'null', 'https://evil.test'],
  ['access-control-request-method', 'POST', 'GET'],
  ['prefer', 'wait=5'],
  ['sec-fetch-site', 'same-origin', 'cross-site'],
  ['sec-fetch-dest', 'document', 'image'],
  ['user-agent', 'Mozilla/5.0 (Linux; Android 10; wv)'],
  ['x-forwarded-for', '192.0.2.1', '192.0.2.1, 10.0.0.1', '2001:db8::1', '10.0.0.1:99'],
  ['x-forwarded-host', 'evil.test'],
  ['x-http-method-override', 'DELETE'],
];

/** What a handler may take as a header: bytes without controls. */
const asHeader = (text: string) => text.replace(/[^\t -~\x80-\xff]/g, '').trim();

/** None that the relay knows. */
export const NOBODY: Session = {
  service: 'mal',
  secret: 'A'.repeat(24),
  state: 'B'.repeat(24),
  userCode: 'BCDF-GHJK',
};

/** A good request, of which each part may be another, changed or hostile. */
export function makeRequest(input: Input, sessions: readonly Session[]) {
  const { chance, pick, mutate, hostile, below } = input;
  const { service, secret, state, userCode } =
    sessions.length > 0 && chance(0.9) ? pick(sessions) : NOBODY;
  const fill = (text: string) =>
    text
      .replaceAll('{service}', service)
      .replaceAll('{secret}', secret)
      .replaceAll('{state}', state)
      .replaceAll('{code}', userCode);
  const change = (text: string) => (chance(0.5) ? mutate(text) : hostile());

  // Drawing a picture takes milliseconds.
  const [good, template, ownBody = ''] = chance(0.005)
    ? (['GET', '/qr/{state}.png'] as const)
    : pick(GOOD);
  const method = chance(0.2) ? pick(METHODS) : good;
  let target = fill(template);
  while (chance(0.2)) {
    const [name = '', value = ''] = fill(pick(PARAMETERS)).split('=');
    const written = chance(0.5) ? value : change(value).toWellFormed();
    const separator = target.includes('?') ? '&' : '?';
    target += `${separator}${name}=${chance(0.7) ? encodeURIComponent(written) : written}`;
  }
  if (chance(0.2)) target = mutate(target);
  const headers = Array.from({ length: chance(0.4) ? below(5) : 0 }, (): [string, string] => {
    const [name, ...values] = pick(HEADERS);
    const value = pick(values);
    return [name, asHeader(chance(0.5) ? value : change(value))];
  });
  const [, , otherBody = ''] = pick(GOOD);
  const body = fill(chance(0.1) ? otherBody : ownBody);
  const peer = chance(0.5) ? `10.0.0.${below(256)}` : `2001:db8:${below(9)}::${below(99)}`;
  const hasBody = !['GET', 'HEAD'].includes(method);
  const init = { method, headers, ...(hasBody && { body: chance(0.3) ? change(body) : body }) };
  return { target, init, peer };
}

/** Undefined if no URL has such a path. */
export function urlOf(target: string): URL | undefined {
  const text = `https://relay.test${target.startsWith('/') ? '' : '/'}${target.toWellFormed()}`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url?.host === 'relay.test' ? url : undefined;
}

/** What a start has answered. Undefined: nothing of a session. */
export function sessionOf(text: string): Session | undefined {
  if (!/^\{"(session|device_code)"/.test(text)) return undefined;
  const json = JSON.parse(text) as Record<string, string>;
  const [, service = NOBODY.service, state = NOBODY.state] =
    /\/auth\/(\w+)\?state=([\w-]{24})/.exec(json.url ?? '') ?? [];
  const userCode = json.userCode ?? json.user_code ?? NOBODY.userCode;
  return { service, secret: json.session ?? json.device_code ?? '', state, userCode };
}
