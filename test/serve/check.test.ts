/** `sign-in-relay check`, against servers, proxies and providers that fail in each way. */
import { describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeFindings, fault, warning } from '../../src/cli/check/finding.ts';
import { startRequest } from '../kit/device.ts';
import { newFolder } from '../kit/folder.ts';
import { has } from '../kit/needs.ts';
import { findFreePort } from '../kit/process.ts';
import { serveBytes, serveUpstream, startSilentIssuer } from '../kit/provider.ts';
import { rulesFor } from '../kit/redis/acl.ts';
import { startRedis } from '../kit/redis/server.ts';
import { launchRelay, RUNTIMES, runRelay, type StartOptions, startRelay } from '../kit/relay.ts';
import { plantSecret } from '../kit/secrets.ts';
import { makeSelfSigned } from '../kit/tls.ts';

interface Finding {
  readonly mark: string;
  readonly what: string;
  readonly text: string;
  readonly remedy?: string;
}

const SECRET = plantSecret('a-client-secret-of-the-check');

const good = serveUpstream(({ method }) =>
  method === 'GET'
    ? new Response('sign in')
    : Response.json({ error: 'invalid_grant' }, { status: 400 }),
);

const GOOD = {
  MAL_CLIENT_ID: 'id',
  MAL_CLIENT_SECRET: SECRET,
  HOST: '127.0.0.1',
  POLL_SECONDS: '1',
  MAL_TOKEN_URL: good.url,
  MAL_AUTHORIZE_URL: good.url,
  CONFIRM: 'always',
};

async function runCheck(env: Record<string, string>, options: StartOptions = {}) {
  const port = env.PORT ?? String(await findFreePort());
  const all = { OAUTH_BASE_URL: `http://127.0.0.1:${port}`, PORT: port, ...GOOD, ...env };
  const { exitCode, output } = await runRelay(all, { args: ['check', '--json'], ...options });
  expect(output).not.toContain(SECRET);
  const { ok, findings } = JSON.parse(output) as { ok: boolean; findings: Finding[] };
  const faults = findings.filter(({ mark }) => mark === 'fault');
  expect([ok, exitCode]).toEqual(faults.length === 0 ? [true, 0] : [false, 1]);
  return {
    findings,
    faults,
    find: (what: string) => findings.find((each) => each.what === what),
  };
}

test.each([
  [200, 'ok', 'one was sent to NOTIFY_URL: check whether it has arrived'],
  [404, 'fault', 'NOTIFY_URL: it answered 404'],
])('a notice to try is sent to NOTIFY_URL, which answers %d', async (status, mark, text) => {
  using receiver = serveUpstream(() => new Response('', { status }));
  const { find } = await runCheck({ NOTIFY_URL: receiver.url });
  expect(find('notification')).toMatchObject({ mark, text });
  expect(receiver.requests.map(({ body }) => JSON.parse(body).cause)).toEqual(['check']);
});

test('the last line counts faults and warnings, one as one', () => {
  const lastLineOf = (...found: Parameters<typeof describeFindings>[0]) =>
    describeFindings(found).split('\n').at(-1);
  const [wrong, doubtful] = [fault('redis', 'down'), warning('https', 'off')];
  expect(lastLineOf(wrong)).toBe('1 fault, 0 warnings');
  expect(lastLineOf(wrong, wrong, doubtful)).toBe('2 faults, 1 warning');
});

test('what an issuer says about itself is text', () => {
  const shown = describeFindings([fault('issuer', 'calls itself \x9d0;title\x9c\u202E\x1b[2J')]);
  expect(shown).not.toMatch(/[^\n\P{Cc}]|\u202E/u);
});

describe.concurrent('where everything is right', () => {
  test.each(RUNTIMES)('before the relay runs, on %s', async (_, command) => {
    const { findings } = await runCheck({}, { command: [...command, 'check', '--json'] });
    expect(findings.map(({ mark, what }) => `${mark} ${what}`)).toEqual([
      'ok settings',
      'ok base URL',
      'ok client address',
      'ok poll',
      'ok redirect URI of mal',
      'ok authorization endpoint of mal',
      'ok client of mal',
      'ok file descriptors',
    ]);
  });

  test('while it runs with a longer POLL_SECONDS than a device may ask for', async () => {
    const polls: string[] = [];
    using relay = serveUpstream(({ url }) => {
      const { origin, pathname, search } = new URL(url);
      if (pathname === '/health') return new Response('ok');
      if (pathname === '/auth/start') return Response.json({ session: 'held' });
      if (pathname !== '/auth/result') return Response.json({ issuer: `${origin}/oauth2/mal` });
      polls.push(search);
      return new Response(null, { status: 204 });
    });
    const { origin: OAUTH_BASE_URL, port: PORT } = new URL(relay.url);
    const { find } = await runCheck({ OAUTH_BASE_URL, PORT, POLL_SECONDS: '90' });
    expect(find('poll')?.mark).toBe('ok');
    expect(polls).toEqual(['?session=held', '?session=held&cancel=1']);
  });
});

const ELSEWHERE = { OAUTH_BASE_URL: 'http://127.0.0.1:1' };
const OPEN_ENDPOINTS = 'https://accounts.example/authorize';

test.concurrent.each<[what: string, Record<string, string>, Omit<Finding, 'what'>]>([
  ['base URL', { OAUTH_BASE_URL: '' }, { mark: 'fault', text: 'is not set', remedy: 'set it' }],
  [
    'base URL',
    { OAUTH_BASE_URL: 'http://no-such-host.invalid' },
    { mark: 'fault', text: 'is unknown here', remedy: 'DNS record' },
  ],
  [
    'base URL',
    ELSEWHERE,
    { mark: 'fault', text: '127.0.0.1:1: nothing listens there', remedy: 'start the relay' },
  ],
  ['base URL', { OAUTH_BASE_URL: good.origin }, { mark: 'fault', text: 'not from PORT' }],
  [
    'confirmation',
    { CONFIRM: '' },
    { mark: 'warning', text: 'CONFIRM is code: ', remedy: 'set CONFIRM=always' },
  ],
  [
    'open sign-ins',
    { ...ELSEWHERE, OPEN_ENDPOINTS },
    { mark: 'ok', text: `to ${OPEN_ENDPOINTS}; clients register http://127.0.0.1:1/open/callback` },
  ],
  [
    'listening',
    { ...ELSEWHERE, PORT: new URL(good.url).port },
    { mark: 'fault', text: 'another program listens' },
  ],
])('%s with %j', async (what, env, { mark, text, remedy }) => {
  const { find } = await runCheck(env);
  expect(find(what)).toMatchObject({
    mark,
    text: expect.stringContaining(text),
    ...(remedy && { remedy: expect.stringContaining(remedy) }),
  });
});

const withOpenSsl = test.if(
  has('OpenSSL', '`check` finds certificates that are not trusted, and what refuses a client'),
);

describe.concurrent('the base URL', () => {
  withOpenSsl('a certificate that is not trusted', async () => {
    using server = serveUpstream(() => new Response('ok'), await makeSelfSigned());
    const { find } = await runCheck({ OAUTH_BASE_URL: `https://localhost:${server.port}` });
    expect(find('base URL')?.text).toContain('it has no TLS, or no trusted certificate');
    expect(find('base URL')?.remedy).toContain('NODE_EXTRA_CA_CERTS');
  });

  test.each([
    [301, /^it redirects to https:\/\/www\.relay\.example: /],
    [401, /no password/],
    [403, /no challenge/],
  ])('what is in front sends a %d, whether the relay runs or not', async (status, remedy) => {
    const headers = { Location: 'https://www.relay.example/?secret=1' };
    using front = serveUpstream(() => new Response('', { status, headers }));
    using running = serveUpstream(() => new Response('ok'));
    const { origin: OAUTH_BASE_URL } = new URL(front.url);
    for (const env of [{}, { PORT: new URL(running.url).port }]) {
      expect((await runCheck({ OAUTH_BASE_URL, ...env })).find('base URL')).toMatchObject({
        text: expect.stringContaining(`answers ${status}, `),
        remedy: expect.stringMatching(remedy),
      });
    }
  });

  test('the relay that runs here, with a path that it does not know of', async () => {
    await using here = await startRelay();
    const OAUTH_BASE_URL = `${here.baseUrl}/path`;
    const { find } = await runCheck({ PORT: String(here.port), OAUTH_BASE_URL });
    expect(find('base URL')?.text).toContain('not a relay with this OAUTH_BASE_URL');
  });
});

test('a relay that runs here with open sign-ins alone', async () => {
  const env = { MAL_CLIENT_ID: '', OPEN_ENDPOINTS, CONFIRM: '' };
  await using relay = await startRelay(env);
  const here = { ...env, PORT: String(relay.port), OAUTH_BASE_URL: relay.baseUrl };
  const { faults, find } = await runCheck(here);
  expect([faults, find('confirmation')]).toEqual([[], undefined]);
  expect(find('base URL')?.text).toBe(`this relay answers at ${relay.baseUrl}`);
});

const TIMEOUT_MS = 60_000;

/** In front of a port: adds headers, and cuts polls that take longer than that, or does not answer them. */
function startFront(
  port: number,
  { headers = {}, cutMs = TIMEOUT_MS, isSilent = false } = {},
  tls?: Parameters<typeof serveUpstream>[1],
) {
  return serveUpstream(({ url }) => {
    const { pathname, search } = new URL(url);
    const isPoll = pathname === '/auth/result';
    if (isPoll && isSilent) return new Promise<Response>(() => {});
    const signal = AbortSignal.timeout(isPoll ? cutMs : TIMEOUT_MS);
    return fetch(`http://127.0.0.1:${port}${pathname}${search}`, { headers, signal }).catch(
      () => new Response('', { status: 504, headers: { Server: 'front/1.0' } }),
    );
  }, tls);
}

describe.concurrent('a proxy in front', () => {
  test('that cuts polls', async () => {
    const port = await findFreePort();
    using front = startFront(port, { cutMs: 1_000 });
    const env = { OAUTH_BASE_URL: front.origin, PORT: String(port), POLL_SECONDS: '4' };
    const { find } = await runCheck(env);
    expect(find('poll')).toMatchObject({
      mark: 'fault',
      text: expect.stringMatching(/^cut after \d s by front\/1\.0 with 504$/),
      remedy: expect.stringContaining('POLL_SECONDS'),
    });
  });

  test('that answers nothing, as the time-out of check', async () => {
    using silent = startSilentIssuer();
    const env = { OAUTH_BASE_URL: silent.issuer, MAL_AUTHORIZE_URL: silent.issuer };
    const { find } = await runCheck(env);
    const silence = `${new URL(silent.issuer).host}: it does not answer within 10 s`;
    expect(find('base URL')?.text).toBe(silence);
    expect(find('authorization endpoint of mal')?.text).toBe(silence);
  });

  test('that answers no poll in time: check names its own time-out, not POLL_SECONDS', async () => {
    const port = await findFreePort();
    using front = startFront(port, { isSilent: true });
    const { find } = await runCheck({ OAUTH_BASE_URL: front.origin, PORT: String(port) });
    expect(find('poll')).toMatchObject({
      mark: 'fault',
      text: 'no response within 11 s',
      remedy: expect.stringMatching(/^raise the read timeout of the proxy above 1 s: /),
    });
  });

  const authority = join(newFolder(), 'ca.pem');
  const FROM = { 'X-Forwarded-For': '192.0.2.1' };
  const ADD = 'let it add X-Forwarded-For';
  const TRUST = 'set TRUSTED_PROXY_CIDRS=127.0.0.1';

  test.each([
    ['not trusted', FROM, '', TRUST],
    ['silent', {}, '127.0.0.1', ADD],
    ['silent, for https', {}, '', `${ADD}, and ${TRUST}`],
    [
      'malformed',
      { 'X-Forwarded-For': 'unknown' },
      '127.0.0.1',
      'let the proxy write only addresses',
    ],
    ['trusted', FROM, '127.0.0.0/8', undefined],
  ])('that is %s', async (name, headers, TRUSTED_PROXY_CIDRS, remedy) => {
    const port = await findFreePort();
    const tls = name.endsWith('https') ? await makeSelfSigned() : undefined;
    if (tls) writeFileSync(authority, tls.cert);
    using front = startFront(port, { headers }, tls);
    const env = { OAUTH_BASE_URL: front.origin, PORT: String(port), TRUSTED_PROXY_CIDRS };
    const { find } = await runCheck({ ...env, ...(tls && { NODE_EXTRA_CA_CERTS: authority }) });
    const found = find('client address');
    expect(found?.remedy).toBe(remedy);
    expect(found?.mark).toBe(remedy === undefined ? 'ok' : 'fault');
    if (remedy === undefined) expect(found?.text).toEndWith(' says that the client is 192.0.2.1');
  });
});

test('instead of the relay `check` answers only itself: no load balancer sends users', async () => {
  const asked: readonly [path: string, init: RequestInit, status: number, text: string][] = [
    ['/health', {}, 503, 'Server busy\n'],
    ['/health', { method: 'HEAD' }, 503, ''],
    ['/health?check=guessed', {}, 503, 'Server busy\n'],
    ['/ready', {}, 503, 'Server busy\n'],
    ['/auth/start', startRequest(), 503, 'Server busy\n'],
    ['/auth/result?session=a&ack=1', {}, 503, 'Server busy\n'],
    // Deployed devices take any error as final. They poll again after this.
    ['/auth/result?session=a', {}, 204, ''],
    ['/oauth2/mal/token', { method: 'POST' }, 400, 'authorization_pending'],
  ];
  using publicAddress = startSilentIssuer();
  const env = { ...GOOD, OAUTH_BASE_URL: publicAddress.issuer };
  const checking = await launchRelay(env, { args: ['check'] });
  await publicAddress.asked;
  for (const [path, init, status, text] of asked) {
    const response = await checking.ask(path, init);
    const answer = [path, response.status, await response.text()];
    expect(answer).toEqual([path, status, expect.stringContaining(text)]);
  }
  publicAddress.answer();
  await checking.exited;
});

test('a proxy that changes the path is a fault, although requests arrive', async () => {
  const port = await findFreePort();
  using front = serveUpstream(({ url }) =>
    fetch(`http://127.0.0.1:${port}/app${url.slice(url.indexOf('/', 8))}`),
  );
  const { origin } = new URL(front.url);
  const { find } = await runCheck({ OAUTH_BASE_URL: origin, PORT: String(port) });
  expect(find('base URL')).toMatchObject({
    mark: 'fault',
    text: `${origin}/health arrives here as /app/health, and gets a 503`,
  });
});

describe.concurrent('providers', () => {
  test.each([
    ['post', 'basic', (sent: Request) => sent.headers.has('authorization')],
    ['basic', 'post', (sent: Request) => !sent.headers.has('authorization')],
  ])('a secret sent by %s and refused is tried once by %s', async (used, right, isTaken) => {
    const challenge = { 'WWW-Authenticate': 'Basic realm="tokens"' };
    using provider = serveUpstream((request) =>
      request.method === 'GET' || isTaken(request)
        ? Response.json({ error: 'invalid_grant' }, { status: 400 })
        : Response.json({ error: 'invalid_client' }, { status: 401, headers: challenge }),
    );
    const env = { MAL_TOKEN_URL: provider.url, MAL_CLIENT_AUTH: used };
    const { find } = await runCheck(env);
    expect(find('client of mal')).toEqual({
      mark: 'fault',
      what: 'client of mal',
      text: `answers 401 invalid_client to the secret sent by ${used}, and accepts it by ${right}`,
      remedy: `set MAL_CLIENT_AUTH=${right}`,
    });
    expect(provider.requests.filter(({ method }) => method === 'POST').length).toBe(2);
  });

  const answers = (status: number, body: object | string) =>
    serveUpstream(({ method }) => {
      if (method === 'GET') return new Response('sign in');
      const text = typeof body === 'string' ? body : JSON.stringify(body);
      return new Response(text, { status });
    });

  withOpenSsl('each is distinguished by its answer to a code that was never issued', async () => {
    using untrusted = serveUpstream(() => new Response(''), await makeSelfSigned());
    using closing = await serveBytes((socket) => void socket.destroy());
    const servers = {
      secret: answers(401, { error: 'invalid_client' }),
      grant: answers(400, { error: 'unauthorized_client' }),
      page: answers(200, '<html>'),
      missing: answers(404, ''),
      down: answers(503, ''),
      own: answers(400, { message: 'own words' }),
      tokens: answers(200, { access_token: 'x' }),
    };
    const urls: Record<string, string> = {
      ...Object.fromEntries(Object.entries(servers).map(([name, { url }]) => [name, url])),
      dns: 'https://no-such-host.invalid/token',
      untrusted: `https://localhost:${untrusted.port}/token`,
      closing: `${closing.url}/token`,
    };
    const env = Object.fromEntries(
      Object.entries(urls).flatMap(([name, url]) => [
        [`${name.toUpperCase()}_CLIENT_ID`, 'id'],
        [`${name.toUpperCase()}_CLIENT_SECRET`, SECRET],
        [`${name.toUpperCase()}_TOKEN_URL`, url],
        [`${name.toUpperCase()}_AUTHORIZE_URL`, good.url],
      ]),
    );
    const { find, findings } = await runCheck({
      ...env,
      PROVIDERS: Object.keys(urls).join(','),
    });
    const seen = Object.keys(urls).map((name) => {
      const { mark, text, remedy = '' } = find(`client of ${name}`) ?? { mark: '', text: '' };
      return [name, mark, text, /[A-Z]+_[A-Z_]+/.exec(remedy)?.[0]];
    });
    expect(seen).toEqual([
      ['secret', 'fault', 'answers 401 invalid_client', 'SECRET_CLIENT_SECRET'],
      ['grant', 'fault', 'answers 400 unauthorized_client', 'GRANT_CLIENT_ID'],
      ['page', 'fault', 'not_json', 'PAGE_TOKEN_URL'],
      ['missing', 'fault', 'answers 404', 'MISSING_TOKEN_URL'],
      ['down', 'warning', 'answers 503', undefined],
      ['own', 'warning', 'answers 400', 'OWN_CLIENT_ID'],
      ['tokens', 'warning', expect.stringContaining('gives tokens'), 'TOKENS_TOKEN_URL'],
      ['dns', 'fault', 'unreachable (dns)', 'DNS_TOKEN_URL'],
      ['untrusted', 'fault', 'unreachable (tls)', 'DEPTH_ZERO_SELF_SIGNED_CERT'],
      ['closing', 'fault', 'unreachable (closed)', undefined],
    ]);
    expect(JSON.stringify(findings)).not.toContain('own words');
  });

  test('a wrong authorization endpoint, no issuer, and a profile that may be wrong', async () => {
    using nothing = serveUpstream(() => new Response('', { status: 404 }));
    const { find } = await runCheck({
      PROVIDERS: 'mal,acme,strava',
      MAL_AUTHORIZE_URL: nothing.url,
      STRAVA_CLIENT_ID: 'id',
      STRAVA_AUTHORIZE_URL: good.url,
      STRAVA_TOKEN_URL: good.url,
      ACME_CLIENT_ID: 'id',
      ACME_ISSUER: nothing.origin,
    });
    expect(find('authorization endpoint of mal')?.remedy).toBe('correct MAL_AUTHORIZE_URL');
    expect(find('profile of strava')?.remedy).toBe('run sign-in-relay providers strava');
    expect(find('profile of mal')).toBeUndefined();
    expect(find('issuer of acme')?.text).toContain('answered 404');
    expect(find('redirect URI of acme')?.text).toEndWith('/auth/acme/callback');
  });
});

describe.concurrent.if(has('Redis', '`check` finds what is wrong with Redis'))('redis', () => {
  test('eviction and persistence, with the rights of docs/scaling.md', async () => {
    const rules = rulesFor('single', ['sign-in-relay:']);
    const user = { name: 'relay', password: plantSecret('a-redis-password-of-few-rights'), rules };
    await using redis = await startRedis({ user });
    const fit = await runCheck({ REDIS_URL: redis.url });
    expect(fit.faults).toEqual([]);
    expect(fit.find('redis')?.text).toBe('it allows every command that the relay needs');
    await redis.cli('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru');
    await redis.cli('CONFIG', 'SET', 'appendonly', 'yes');
    const misconfigured = await runCheck({ REDIS_URL: redis.url });
    const warnings = misconfigured.findings.filter(({ mark }) => mark === 'warning');
    expect(warnings.map(({ text }) => text)).toEqual([
      expect.stringContaining('maxmemory-policy is allkeys-lru'),
      expect.stringContaining('persistence is on'),
    ]);
    expect(await redis.keys('*refresh*')).toEqual([]);
  });

  test('a missing right, a wrong password, and a server that is not there', async () => {
    await using redis = await startRedis();
    const password = plantSecret('a-redis-password-of-the-check');
    const rules = ['~*', '&*', '+@all', '-zadd'];
    await redis.cli('ACL', 'SETUSER', 'limited', 'on', `>${password}`, ...rules);
    const url = (given: string) => `redis://limited:${given}@127.0.0.1:${redis.port}`;
    const limited = await runCheck({ REDIS_URL: url(password) });
    expect(limited.find('redis')).toMatchObject({
      mark: 'fault',
      text: 'refuses commands (NOPERM)',
    });
    const wrong = await runCheck({ REDIS_URL: url(plantSecret('a-wrong-redis-password')) });
    expect(wrong.find('redis')).toMatchObject({
      text: 'the user or the password is wrong (WRONGPASS)',
      remedy: 'correct REDIS_URL',
    });
    const nobody = await runCheck({ REDIS_URL: 'redis://127.0.0.1:1' });
    expect(nobody.find('redis')).toMatchObject({
      text: expect.stringContaining('nothing listens there'),
      remedy: 'correct REDIS_URL, or start Redis',
    });
  });
});

describe('--settings', () => {
  const checkSettings = async (env: Record<string, string>) => {
    const { exitCode, output } = await runRelay(
      { ...GOOD, OAUTH_BASE_URL: 'https://relay.test', APP_NAME: 'Acme', ...env },
      { args: ['check', '--settings'] },
    );
    return [exitCode, output] as const;
  };

  const CA = { NODE_EXTRA_CA_CERTS: '/nowhere.pem' };

  test.each<[string, Record<string, string>, number, string]>([
    ['are right', {}, 0, '✓ settings: the relay can start\n'],
    [
      'do not fit here',
      CA,
      0,
      '! settings: NODE_EXTRA_CA_CERTS names /nowhere.pem, which does not',
    ],
    ['are wrong', { PORT: 'x' }, 78, '✗ settings: PORT must be a whole number'],
    ['name a missing secret', { ADMIN_TOKEN_FILE: '/run/no' }, 78, '/run/no does not exist'],
    ['name a missing folder', { SESSIONS_FILE: '/no/relay.db' }, 78, '/no does not exist'],
  ])('that %s: the exit code of a start, and no request', async (_, env, exitCode, text) => {
    const before = good.requests.length;
    expect(await checkSettings(env)).toEqual([exitCode, expect.stringContaining(text)]);
    expect(good.requests.length).toBe(before);
  });
});

test('file descriptors: too few for MAX_SESSIONS', async () => {
  const { find } = await runCheck({}, { openFiles: 1_000 });
  expect(find('file descriptors')).toMatchObject({
    mark: 'fault',
    text: 'the limit is 1000, which is too low for MAX_SESSIONS (5000)',
    remedy: expect.stringContaining('5100'),
  });
});
