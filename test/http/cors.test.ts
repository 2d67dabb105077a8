/** CORS_ORIGINS: web apps on televisions may send the requests of devices, and pages of other sites may not start sign-ins. */
import { describe, expect, test } from 'bun:test';
import { startRequest } from '../kit/device.ts';
import { BASE_URL, createTestService } from '../kit/service.ts';

const LISTED = ['https://tv.example', 'null', 'file://'];

const preflight = (origin: string, method = 'POST'): RequestInit => ({
  method: 'OPTIONS',
  headers: {
    Origin: origin,
    'Access-Control-Request-Method': method,
    'Access-Control-Request-Headers': 'content-type',
  },
});

const corsHeadersOf = ({ headers }: Response) =>
  [...headers.keys()].filter((name) => name.startsWith('access-control'));

test.each(LISTED)('the preflight of a listed origin gets a 204: %s', async (origin) => {
  const { ask } = createTestService({ corsOrigins: LISTED });
  const { status, headers } = await ask('/auth/start', preflight(origin));
  expect(status).toBe(204);
  expect(Object.fromEntries(headers)).toMatchObject({
    'access-control-allow-origin': origin,
    'access-control-allow-methods': 'GET,POST',
    'access-control-max-age': '7200',
    'cache-control': 'no-store, private',
  });
  expect(headers.get('access-control-allow-headers')).toContain('Content-Type');
  expect(headers.get('access-control-allow-credentials')).toBeNull();
  expect(headers.get('vary')).toContain('Origin');
});

test.each([
  ['/auth/start', true],
  ['/auth/result', true],
  ['/services', true],
  ['/refresh', true],
  ['/revoke', true],
  ['/oauth2/mal/token', true],
  ['/oauth2/mal/revoke', true],
  ['/oauth2/mal/device_authorization', true],
  ['/oauth2/mal/.well-known/openid-configuration', true],
  ['/.well-known/oauth-authorization-server/oauth2/mal', true],
  ['/auth/mal', false],
  ['/auth/mal/callback', false],
  ['/auth/done', false],
  ['/link', false],
  ['/L/BCDF-GHJK', false],
])(
  '%s: what devices ask for has CORS headers, what browsers open has none (%p)',
  async (path, isForDevices) => {
    const { ask } = createTestService({ corsOrigins: ['*'] });
    const response = await ask(path, { headers: { Origin: 'https://tv.example' } });
    expect(corsHeadersOf(response).length > 0).toBe(isForDevices);
    if (!isForDevices) return;
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
    const answer = await ask(path, preflight('https://anywhere.example'));
    expect(answer.status).toBe(204);
  },
);

test('an app of a listed origin reads refusals too, and when to try again', async () => {
  const { ask } = createTestService({ corsOrigins: LISTED, startBurst: 1 });
  const init = { ...startRequest(), headers: { Origin: 'https://tv.example' } };
  await ask('/auth/start', init, '192.0.2.1');
  const { status, headers } = await ask('/auth/start', init, '192.0.2.1');
  expect([status, headers.get('access-control-allow-origin')]).toEqual([429, 'https://tv.example']);
  expect(headers.get('access-control-expose-headers')).toContain('Retry-After');
});

test.each([
  ['an origin that is not listed', LISTED],
  ['any origin, where none is listed', []],
])('for %s the answers are the same as without CORS', async (_, corsOrigins) => {
  const { ask } = createTestService({ corsOrigins });
  const refused = await ask('/auth/start', preflight('https://other.example'));
  const headers = { Origin: 'https://other.example' };
  const answered = await ask('/auth/start', { ...startRequest(), headers });
  const plain = await ask('/auth/result', { method: 'OPTIONS' });
  expect([refused.status, answered.status, plain.status]).toEqual([405, 200, 405]);
  for (const response of [refused, answered, plain]) expect(corsHeadersOf(response)).toEqual([]);
});

/** A form, or `fetch` with `no-cors`, reaches the relay from any page. */
describe.each(['/auth/start', '/oauth2/mal/device_authorization'])('%s', (path) => {
  const FOREIGN = 'https://other.example';
  const PEER = '192.0.2.2';
  const settings = { corsOrigins: LISTED, startBurst: 1 };
  const from = (origin: string | undefined, site: string | undefined): RequestInit => ({
    ...startRequest(),
    headers: {
      ...(origin !== undefined && { Origin: origin }),
      ...(site !== undefined && { 'Sec-Fetch-Site': site }),
    },
  });

  test.each([
    ['cross-site', FOREIGN],
    ['same-site', 'https://blog.relay.test'],
    ['cross-site', 'http://relay.test'],
    ['cross-site', 'https://tv.example:8443'],
  ])('a page of another site (%s, %s) costs its visitor no start', async (site, origin) => {
    const { ask } = createTestService(settings);
    const refused = await ask(path, from(origin, site), PEER);
    expect([refused.status, await refused.text()]).toEqual([403, 'Origin not allowed\n']);
    expect(refused.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect((await ask(path, startRequest(), PEER)).status).toBe(200);
    // Nor does it learn whether there is a start left.
    expect((await ask(path, from(origin, site), PEER)).status).toBe(403);
  });

  test.each([
    ['a device', undefined, undefined],
    ['a browser that does not say which site it is', FOREIGN, undefined],
    ['a listed page', 'https://tv.example', 'cross-site'],
    ['a page of the relay', BASE_URL, 'same-site'],
    ['a page of the same origin', FOREIGN, 'same-origin'],
    ['a packaged app', 'null', 'cross-site'],
    ['a file', 'file://', 'cross-site'],
    ['a webview of an app', 'capacitor://localhost', 'cross-site'],
    ['a browser that hides the origin', undefined, 'cross-site'],
  ])('%s may start a sign-in (%p, %p)', async (_, origin, site) => {
    const { ask } = createTestService({ ...settings, corsOrigins: ['https://tv.example'] });
    expect((await ask(path, from(origin, site))).status).toBe(200);
  });

  test('with CORS_ORIGINS=* every page may', async () => {
    const { ask } = createTestService({ corsOrigins: ['*'] });
    expect((await ask(path, from(FOREIGN, 'cross-site'))).status).toBe(200);
  });
});
