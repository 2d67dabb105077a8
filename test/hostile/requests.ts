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

/** `{state}`, `{secret}` and `{code}` are those of a session. */
const PATHS = [
  '/auth/start',
  '/auth/start',
  '/auth/result',
  '/auth/result',
  '/auth/done',
  '/auth/mal',
  '/auth/anilist',
  '/auth/mal/callback',
  '/auth/anilist/callback',
  '/auth/mal/callback/x',
  '/oauth2/mal/token',
  '/oauth2/mal/device_authorization',
  '/oauth2/anilist/revoke',
  '/oauth2/mal/.well-known/openid-configuration',
  '/oauth2/x/token',
  '/refresh',
  '/revoke',
  '/.well-known/oauth-authorization-server/oauth2/mal',
  '/services',
  '/',
  '/link',
  '/LINK',
  '/L/{code}',
  '/l/{code}',
  '/{code}',
  '/link/{code}',
  '/openapi.json',
  '/health',
  '/ready',
  '/favicon.ico',
  '/base/auth/mal',
  '/base/auth/start',
  '/metrics',
  '/now',
];
const METHODS = ['GET', 'GET', 'GET', 'POST', 'POST', 'HEAD', 'OPTIONS', 'PUT', 'DELETE', 'FOO'];
const PARAMETERS: readonly (readonly [name: string, values: readonly string[]])[] = [
  ['session', ['{secret}', '{state}', '']],
  ['state', ['{state}', '{secret}', '']],
  ['wait', ['0', '0', '-1', '51', '1e1', ' 5']],
  ['ack', ['1', '0']],
  ['cancel', ['1', 'true']],
  ['progress', ['1']],
  ['code', ['{code}', 'a-code', '']],
  ['user_code', ['{code}']],
  ['error', ['access_denied', 'server_error', '']],
  ['size', ['200', '-5', '1e9']],
];
const START_WITH_EVERYTHING =
  '{"service":"anilist","code":true,"device":"Living room","ack":true,"details":true}';
const BLIND_START = '{"service":"mal","challenge":"E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"}';
const DEVICE_POLL =
  'grant_type=urn:ietf:params:oauth:grant-type:device_code&device_code={secret}&client_id=tv';
const GRANT_REFRESH = 'grant_type=refresh_token&refresh_token=r&client_id=tv';
const GRANT_REVOCATION = 'token=t&token_type_hint=refresh_token';
const BODIES = [
  '{"service":"mal"}',
  START_WITH_EVERYTHING,
  BLIND_START,
  '{"service":"mal","refreshToken":"r","token":"t"}',
  DEVICE_POLL,
  GRANT_REFRESH,
  'client_id=tv&scope=a+b',
  GRANT_REVOCATION,
  'choice=continue',
  'choice=decline',
  'code={code}',
];
const HEADERS: readonly (readonly [name: string, values: readonly string[]])[] = [
  ['accept-language', ['de', 'zh-Hant;q=0.9,*', 'x;q=a']],
  ['authorization', ['Basic dHY6', 'Bearer x', `Bearer ${ADMIN_TOKEN}`]],
  ['content-type', ['application/json', 'application/x-www-form-urlencoded', 'text/plain']],
  ['content-length', ['0', '512', '-1', '1e3', '99999999999']],
  ['cookie', ['__Host-continue=x', 'a=b; c']],
  ['forwarded', ['for=192.0.2.1', 'for="[2001:db8::1]";host=x']],
  ['host', ['relay.test', 'a,b', '127.0.0.1:9090', 'evil.example']],
  ['origin', ['https://tv.test', 'null', 'https://evil.test']],
  ['access-control-request-method', ['POST', 'GET']],
  ['prefer', ['wait=5']],
  ['sec-fetch-site', ['same-origin', 'cross-site']],
  ['user-agent', ['Mozilla/5.0 (Linux; Android 10; wv)']],
  ['x-forwarded-for', ['192.0.2.1', '192.0.2.1, 10.0.0.1', '2001:db8::1', '10.0.0.1:99']],
  ['x-forwarded-host', ['evil.test']],
  ['x-http-method-override', ['DELETE']],
];

/** Requests that get far. One part of each is changed, or none. */
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
  ['GET', '/L/{code}'],
  ['POST', '/L/{code}', 'choice=continue'],
  ['POST', '/L/{code}', 'choice=decline'],
  ['GET', '/link?code={code}'],
  ['POST', '/link', 'code={code}'],
  ['POST', '/oauth2/mal/device_authorization', 'client_id=tv&scope=a+b'],
  ['POST', '/oauth2/{service}/token', DEVICE_POLL],
  ['POST', '/oauth2/mal/token', GRANT_REFRESH],
  ['POST', '/oauth2/mal/revoke', GRANT_REVOCATION],
  ['POST', '/refresh', '{"service":"anilist","refreshToken":"r"}'],
  ['POST', '/revoke', '{"service":"mal","token":"t"}'],
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

/** `{service}`, `{state}`, `{secret}` and `{code}` are those of the session. */
const fillSession = (text: string, { service, secret, state, userCode }: Session) =>
  text
    .replaceAll('{service}', service)
    .replaceAll('{secret}', secret)
    .replaceAll('{state}', state)
    .replaceAll('{code}', userCode);

export function makeRequest(input: Input, sessions: readonly Session[]) {
  const { chance, pick, mutate, hostile, below } = input;
  const session = sessions.length > 0 && chance(0.9) ? pick(sessions) : NOBODY;
  const fill = (text: string) => fillSession(text, session);
  const value = (values: readonly string[]) => {
    const good = fill(pick(values));
    if (chance(0.5)) return good;
    return chance(0.5) ? mutate(good) : hostile();
  };
  const some = <Item>(list: readonly Item[], most: number) =>
    Array.from({ length: below(most + 1) }, () => pick(list));
  const headers = () =>
    some(HEADERS, 4).map(([name, values]): [string, string] => [name, asHeader(value(values))]);
  const peer = chance(0.5) ? `10.0.0.${below(256)}` : `2001:db8:${below(9)}::${below(99)}`;

  function changeGood() {
    const [method, template, body] = pick(GOOD);
    const [target, text] = [fill(template), fill(body ?? '')];
    const changed = below(5);
    return {
      method,
      target: changed === 0 ? mutate(target) : target,
      headers: changed === 1 ? headers() : [],
      body: changed === 2 ? mutate(text) : text,
    };
  }

  function combine() {
    // Drawing a picture takes milliseconds.
    const known = fill(chance(0.01) ? '/qr/{state}.png' : pick(PATHS));
    const path = chance(0.3) ? mutate(known) : known;
    const encode = chance(0.7) ? encodeURIComponent : (text: string) => text;
    const query = some(PARAMETERS, 4).map(([name, values]) => {
      const written = value(values).toWellFormed();
      return `${chance(0.05) ? mutate(name) : name}=${encode(written)}`;
    });
    const body = fill(pick(BODIES));
    return {
      method: pick(METHODS),
      target: query.length > 0 ? `${path}?${query.join('&')}` : path,
      headers: headers(),
      body: chance(0.5) ? body : chance(0.7) ? mutate(body) : hostile(),
    };
  }

  const { method, target, headers: sent, body } = chance(0.6) ? changeGood() : combine();
  const hasBody = !['GET', 'HEAD'].includes(method);
  return { target, init: { method, headers: sent, ...(hasBody && { body }) }, peer };
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
