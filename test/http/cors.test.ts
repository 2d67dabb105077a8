/** CORS_ORIGINS: web apps on televisions may ask as devices do, and nobody else. */
import { describe, expect, test } from 'bun:test';
import { createTestService } from '../support/test-service.ts';

const LISTED = ['https://tv.example', 'null', 'file://'];

const preflight = (origin: string, method = 'POST'): RequestInit => ({
  method: 'OPTIONS',
  headers: {
    Origin: origin,
    'Access-Control-Request-Method': method,
    'Access-Control-Request-Headers': 'content-type',
  },
});

const DEVICE_ROUTES = [
  '/auth/start',
  '/auth/result',
  '/oauth2/mal/token',
  '/oauth2/mal/device_authorization',
  '/oauth2/mal/.well-known/openid-configuration',
  '/.well-known/oauth-authorization-server/oauth2/mal',
];

const BROWSER_ROUTES = ['/auth/mal', '/auth/mal/callback', '/auth/done', '/link', '/L/BCDF-GHJK'];

const corsHeadersOf = ({ headers }: Response) =>
  [...headers.keys()].filter((name) => name.startsWith('access-control'));

describe('a listed origin', () => {
  test.each(LISTED)('%s: the preflight of a start is answered', async (origin) => {
    const { send } = createTestService({ corsOrigins: LISTED });
    const response = await send('/auth/start', preflight(origin));
    expect(response.status).toBe(204);
    expect(response.headers.get('access-control-allow-origin')).toBe(origin);
    expect(response.headers.get('access-control-allow-methods')).toBe('GET,POST');
    expect(response.headers.get('access-control-allow-headers')).toContain('Content-Type');
    expect(response.headers.get('access-control-max-age')).toBe('7200');
    expect(response.headers.get('access-control-allow-credentials')).toBeNull();
    expect(response.headers.get('vary')).toContain('Origin');
    expect(response.headers.get('cache-control')).toBe('no-store, private');
  });

  test.each(DEVICE_ROUTES)('%s may be asked from it', async (path) => {
    const { send } = createTestService({ corsOrigins: LISTED });
    expect((await send(path, preflight('null'))).status).toBe(204);
    const answered = await send(path, { headers: { Origin: 'null' } });
    expect(answered.headers.get('access-control-allow-origin')).toBe('null');
  });

  test('its app reads the answer, the time to wait after a refusal included', async () => {
    const { send } = createTestService({ corsOrigins: LISTED });
    const headers = { Origin: 'https://tv.example' };
    const ask = () => send('/auth/start', { method: 'POST', body: '{"service":"mal"}', headers });
    expect((await ask()).headers.get('access-control-allow-origin')).toBe('https://tv.example');
    await ask();
    await ask();
    const limited = await ask();
    expect(limited.status).toBe(429);
    expect(limited.headers.get('access-control-expose-headers')).toContain('Retry-After');
    expect(limited.headers.get('cache-control')).toBe('no-store, private');
  });

  test.each(BROWSER_ROUTES)('%s, which browsers open, is not for it', async (path) => {
    const { send } = createTestService({ corsOrigins: ['*'] });
    const response = await send(path, { headers: { Origin: 'https://tv.example' } });
    expect(corsHeadersOf(response)).toEqual([]);
  });
});

test('* lists every origin', async () => {
  const { send } = createTestService({ corsOrigins: ['*'] });
  const response = await send('/auth/result', preflight('https://anywhere.example', 'GET'));
  expect(response.status).toBe(204);
  expect(response.headers.get('access-control-allow-origin')).toBe('*');
});

describe('the answer is that of the specification, and nothing more', () => {
  test.each([
    ['for an origin that is not listed', LISTED],
    ['when none is listed', []],
  ])('%s', async (_, corsOrigins) => {
    const { send } = createTestService({ corsOrigins });
    const refused = await send('/auth/start', preflight('https://other.example'));
    expect(refused.status).toBe(405);
    expect(corsHeadersOf(refused)).toEqual([]);
    const answered = await send('/auth/start', {
      method: 'POST',
      body: '{"service":"mal"}',
      headers: { Origin: 'https://other.example' },
    });
    expect(answered.status).toBe(200);
    expect(corsHeadersOf(answered)).toEqual([]);
  });

  test('without an origin', async () => {
    const { send } = createTestService({ corsOrigins: LISTED });
    expect((await send('/auth/result', { method: 'OPTIONS' })).status).toBe(405);
    expect(corsHeadersOf(await send('/auth/result?session=x'))).toEqual([]);
  });
});
