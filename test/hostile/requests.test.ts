/**
 * Requests of every kind at the relay's and the admin port's handlers: paths, queries, bodies,
 * headers, forwarded chains. In this process, where 84,000 take seconds.
 */
import { heapStats } from 'bun:jsc';
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test';
import { createAdmin } from '../../src/admin/admin.ts';
import { startLog } from '../../src/log.ts';
import { testSeed } from '../kit/random.ts';
import { captureLog, createTestService, SETTINGS, type TestService } from '../kit/service.ts';
import { countOf, createInput, type Input, MARK } from './input.ts';

setDefaultTimeout(7_200_000);
afterAll(() => captureLog());

const CLIENT_SECRET = 'anilist-client-secret';
const ADMIN_TOKEN = 'admin-token-of-hostile-requests';
const BATCH = 200;
/** The secrets that later requests use. */
const KNOWN_SESSIONS = 40;

interface Session {
  readonly service: string;
  readonly secret: string;
  readonly state: string;
  readonly userCode: string;
}

/** `{state}`, `{secret}` and `{code}` are those of a session. */
const PATHS = [
  ...['/auth/start', '/auth/start', '/auth/result', '/auth/result', '/auth/done', '/auth/mal'],
  ...['/auth/anilist', '/auth/mal/callback', '/auth/anilist/callback', '/auth/mal/callback/x'],
  ...['/oauth2/mal/token', '/oauth2/mal/device_authorization', '/oauth2/anilist/revoke'],
  ...['/oauth2/mal/.well-known/openid-configuration', '/oauth2/x/token', '/refresh', '/revoke'],
  ...['/.well-known/oauth-authorization-server/oauth2/mal', '/services', '/', '/link', '/LINK'],
  ...['/L/{code}', '/l/{code}', '/{code}', '/link/{code}', '/openapi.json', '/health', '/ready'],
  ...['/favicon.ico', '/base/auth/mal', '/base/auth/start', '/metrics', '/now'],
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
  ['sec-fetch-site', ['same-origin', 'cross-site']],
  ['x-forwarded-for', ['192.0.2.1', '192.0.2.1, 10.0.0.1', '2001:db8::1', '10.0.0.1:99']],
  ['x-forwarded-host', ['evil.test']],
  ['x-http-method-override', ['DELETE']],
];

const EXPECTED_5XX: Readonly<Record<string, readonly string[]>> = {
  // docs/protocol.md §2 (too many sign-ins are open), §5 (the exchange fails).
  '503': ['/auth/start', '/refresh', '/revoke', '/oauth2/'],
  '502': ['/callback'],
};

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

const NOBODY: Session = {
  service: 'mal',
  secret: 'A'.repeat(24),
  state: 'B'.repeat(24),
  userCode: 'BCDF-GHJK',
};

function generate(input: Input, sessions: readonly Session[]) {
  const { chance, pick, mutate, hostile, below } = input;
  const session = sessions.length > 0 && chance(0.9) ? pick(sessions) : NOBODY;
  const fill = (text: string) =>
    text
      .replaceAll('{service}', session.service)
      .replaceAll('{secret}', session.secret)
      .replaceAll('{state}', session.state)
      .replaceAll('{code}', session.userCode);
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
function urlOf(target: string): URL | undefined {
  const text = `https://relay.test${target.startsWith('/') ? '' : '/'}${target.toWellFormed()}`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url?.host === 'relay.test' ? url : undefined;
}

/** Throws for a response that no input may cause. */
function check(
  path: string,
  { status, headers }: Response,
  text: string,
  known: readonly Session[],
) {
  const fail = (what: string): never => {
    throw new Error(`${what}: ${status} ${JSON.stringify([...headers])} ${text.slice(0, 2_000)}`);
  };
  const isNamed = EXPECTED_5XX[status]?.some((part) => path.includes(part));
  if (status >= 500 && !isNamed) fail('a status that docs/protocol.md does not name');
  for (const [name, value] of headers) {
    if (`${name}${value}`.includes(MARK)) fail('the header has text of the request');
  }
  const isPage = headers.get('content-type')?.startsWith('text/html');
  if (text.includes(MARK)) {
    // A code that was typed, and the name of a device on the page that asks the user.
    const isShown = isPage && /^\/(base\/)?(link|l\/|auth\/)/i.test(path);
    if (!isShown) fail('the body has text of the request');
    if (/<[^>]*zqhost7[^"]*['<>]|<zqhost7|<script/.test(text))
      fail('text of the request is markup');
  }
  if (/^\s+at .*:\d+:\d+|\/src\/|node_modules|TypeError|SyntaxError/m.test(text)) fail('a stack');
  if (text.includes(CLIENT_SECRET) || text.includes(ADMIN_TOKEN)) fail('a secret');
  const isStart = /start|device_authorization/.test(path);
  if (!isStart && known.some(({ secret }) => text.includes(secret))) fail('a poll secret');
}

function sessionOf(text: string): Session | undefined {
  if (!/^\{"(session|device_code)"/.test(text)) return undefined;
  const json = JSON.parse(text) as Record<string, string>;
  const [, service = NOBODY.service, state = NOBODY.state] =
    /\/auth\/(\w+)\?state=([\w-]{24})/.exec(json.url ?? '') ?? [];
  const userCode = json.userCode ?? json.user_code ?? NOBODY.userCode;
  return { service, secret: json.session ?? json.device_code ?? '', state, userCode };
}

/** Every line of the log: no fault, and no secret of a session. */
function watchLog(known: readonly Session[]): void {
  startLog({
    level: 'debug',
    format: 'json',
    write(line) {
      if (line.includes('"level":"error"')) throw new Error(`a fault in the log: ${line}`);
      const isLeak = known.some(
        ({ secret, state, userCode }) =>
          line.includes(secret) ||
          (state !== NOBODY.state && line.includes(state)) ||
          (userCode !== NOBODY.userCode && line.includes(userCode)),
      );
      if (isLeak) throw new Error(`a secret in the log: ${line}`);
    },
  });
}

type Handle = (url: URL, init: RequestInit, peer: string) => Promise<Response>;

/** Sends that many requests, and at the end of each batch lets a minute pass, so that no poll is left. */
async function attack(handle: Handle, count: number, pass: () => void): Promise<void> {
  const input = createInput(testSeed);
  const sessions: Session[] = [];
  watchLog(sessions);
  const statuses = new Map<number, number>();
  let parked: Promise<void>[] = [];

  async function send(index: number): Promise<void> {
    const { target, init, peer } = generate(input, sessions);
    const url = urlOf(target);
    if (url === undefined) return;
    try {
      const response = await handle(url, init, peer);
      const text = await response.text();
      statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
      check(url.pathname, response, text, sessions);
      const started = sessionOf(text);
      if (started !== undefined) sessions.unshift(started);
      sessions.length = Math.min(sessions.length, KNOWN_SESSIONS);
    } catch (error) {
      throw new Error(`request ${index}: ${JSON.stringify({ target, init, peer })}`, {
        cause: error,
      });
    }
  }

  let objects = 0;
  for (let index = 0; index < count; index += 1) {
    const sent = send(index);
    // Reported at the end of the batch.
    sent.catch(() => {});
    parked.push(sent);
    if ((index + 1) % BATCH !== 0) continue;
    // Until those that wait for something other than the clock have it.
    await new Promise(setImmediate);
    pass();
    await Promise.all(parked);
    parked = [];
    if (index + 1 === Math.floor(count / BATCH / 4) * BATCH) objects = countObjects();
  }
  await Promise.all(parked);
  console.log(`${count} requests: ${JSON.stringify(Object.fromEntries(statuses))}`);
  // One object kept for ten requests would show.
  expect(countObjects() - objects).toBeLessThan(Math.max(5_000, count / 10));
}

function countObjects(): number {
  Bun.gc(true);
  const counts = Object.values(heapStats().objectTypeCounts);
  return counts.reduce((sum, count) => sum + count, 0);
}

/** A token endpoint that grants, refuses and breaks in turns. */
function createProvider() {
  let asked = 0;
  return async () => {
    asked += 1;
    if (asked % 4 === 0) throw new Error(`${CLIENT_SECRET} ${MARK}`);
    if (asked % 4 === 1) return new Response(`<p>${MARK}`, { status: 500 });
    if (asked % 4 === 2) return Response.json({ error: 'invalid_grant', x: MARK }, { status: 400 });
    return Response.json({ access_token: 'granted', refresh_token: 'next', expires_in: 3_600 });
  };
}

function expectNothingLeft(service: TestService, timers: number): void {
  expect(service.waiters()).toBe(0);
  expect(service.kept()).toEqual({ sessions: 0, startBuckets: 0, refreshes: 0 });
  expect(service.clock.timers).toBe(timers);
}

test.each<[name: string, settings: Partial<typeof SETTINGS>, count: number]>([
  ['as it is by default', {}, 41_000],
  [
    'behind a proxy, always confirming, for web apps',
    {
      trustedProxyCidrs: ['10.0.0.0/8'],
      confirm: 'always',
      corsOrigins: ['https://tv.test', 'null'],
    },
    23_000,
  ],
  [
    'with a base path and room for 30 sign-ins',
    { baseUrl: 'https://relay.test/base', confirm: 'never', maxSessions: 30 },
    15_000,
  ],
])(
  'the relay, %s: documented statuses, nothing reflected, leaked or kept',
  async (_, settings, count) => {
    const service = createTestService(settings, { fetch: createProvider() });
    const timers = service.clock.timers;
    await attack(
      async (url, init, peer) =>
        service.handle(new Request(url, init), { requestIP: () => ({ address: peer }) }),
      countOf(count),
      () => service.clock.advance(60_000),
    );
    service.clock.advance(7_200_000);
    expectNothingLeft(service, timers);
  },
);

test('the admin port: documented statuses, nothing reflected, leaked or kept', async () => {
  const { clock } = createTestService();
  const admin = createAdmin({
    clock,
    services: SETTINGS.providers,
    maxSessions: 5_000,
    runtime: 'Bun',
    names: ['admin.example'],
    token: ADMIN_TOKEN,
  });
  await attack(
    async (url, init, peer) => {
      const request = new Request(url, init);
      // Most get as far as to the pages.
      if (!request.headers.has('authorization')) {
        request.headers.set('authorization', `Bearer ${ADMIN_TOKEN}`);
        request.headers.set('host', '127.0.0.1');
      }
      return admin.handle(request, { requestIP: () => ({ address: peer }) });
    },
    countOf(5_000),
    () => clock.advance(60_000),
  );
});
