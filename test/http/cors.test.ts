/** CORS_ORIGINS: web apps on televisions may send the requests of devices, and pages of other sites may not use up limits. */
import { describe, expect, test } from 'bun:test';
import { startRequest } from '../kit/device.ts';
import { BASE_URL, createTestService, MAL } from '../kit/service.ts';

const LISTED = ['https://tv.example'];

const PREFLIGHT: RequestInit = {
  method: 'OPTIONS',
  headers: { Origin: 'https://tv.example', 'Access-Control-Request-Method': 'POST' },
};

test.each([
  '/auth/start',
  '/services',
  '/refresh',
  '/revoke',
  '/oauth2/mal/token',
  '/oauth2/mal/revoke',
  '/oauth2/mal/.well-known/openid-configuration',
  '/wrong/path/services',
  '/wrong/path/auth/start',
])('CORS_ORIGINS=*: every page may ask %s, and read when to try again', async (path) => {
  const { ask } = createTestService({ corsOrigins: ['*'] });
  const { headers } = await ask(path, { headers: { Origin: 'https://tv.example' } });
  expect(headers.get('access-control-allow-origin')).toBe('*');
  expect(headers.get('access-control-expose-headers')).toContain('Retry-After');
  expect((await ask(path, PREFLIGHT)).status).toBe(204);
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
    ['a browser that hides the origin', undefined, 'cross-site'],
  ])('%s may start a sign-in (%p, %p)', async (_, origin, site) => {
    const { ask } = createTestService(settings);
    expect((await ask(path, from(origin, site))).status).toBe(200);
  });

  test('with CORS_ORIGINS=* every page may', async () => {
    const { ask } = createTestService({ corsOrigins: ['*'] });
    expect((await ask(path, from(FOREIGN, 'cross-site'))).status).toBe(200);
  });
});

const TOKENS = { service: 'mal', refreshToken: 'r', refresh_token: 'r', token: 'r' };

test.each([
  ['/refresh', TOKENS],
  ['/oauth2/mal/token', { ...TOKENS, grant_type: 'refresh_token' }],
  ['/revoke', TOKENS],
  ['/oauth2/mal/revoke', TOKENS],
])('a page of another site costs its visitor no request to %s', async (path, body) => {
  const revocation = { url: 'https://mal.test/revoke' };
  const { ask } = createTestService({ providers: [{ ...MAL, revocation }] });
  const PEER = '192.0.2.2';
  const send = (headers: Record<string, string>) => {
    const type = { 'Content-Type': 'application/json' };
    const init = { method: 'POST', headers: { ...type, ...headers }, body: JSON.stringify(body) };
    return ask(path, init, PEER);
  };
  const foreign = { Origin: 'https://other.example', 'Sec-Fetch-Site': 'cross-site' };
  for (let count = 0; count < 12; count += 1) expect((await send(foreign)).status).toBe(403);
  expect((await send({})).status).not.toBe(429);
});
