/** `GET /services`, `POST /refresh` and `details` (docs/extensions.md). */
import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { poll, refresh, start } from '../kit/device.ts';
import { createTestService, SETTINGS, type TestService } from '../kit/service.ts';
import { callback } from '../kit/user.ts';

const [MAL] = SETTINGS.providers;

const ALL = {
  access_token: 'access',
  refresh_token: 'new',
  expires_in: 3_600,
  token_type: 'bearer',
  scope: 'read write',
  id_token: 'id',
};
const USUAL = { accessToken: 'access', refreshToken: 'new', expiresIn: 3_600 };
const DETAILED = { ...USUAL, tokenType: 'bearer', scope: 'read write', idToken: 'id' };

const grantAll = async () => Response.json(ALL);

describe('GET /services', () => {
  const list = async ({ ask }: TestService) => {
    const { services } = (await (await ask('/services')).json()) as { services: object[] };
    return services;
  };

  test('names each provider as users know it, in the order of PROVIDERS, discovered or not', async () => {
    const { pkce: _, ...silent } = { ...MAL, name: 'acme', displayName: 'Acme' } as const;
    const service = createTestService({
      providerOrder: ['anilist', 'acme', 'mal'],
      discoveries: [{ ...silent, clientId: 'acme', authorizeParams: {}, issuer: 'https://a.test' }],
    });
    expect(await list(service)).toEqual([
      { service: 'anilist', name: 'AniList', blind: 'no' },
      { service: 'acme', name: 'Acme', blind: 'no' },
      { service: 'mal', name: 'MyAnimeList', blind: 'no' },
    ]);
  });

  test('says what the relay speaks', async () => {
    const { extensions } = await (await createTestService().ask('/services')).json();
    expect(extensions).toEqual([
      ...['code', 'ack', 'device', 'wait', 'progress', 'cancel', 'details', 'challenge', 'refresh'],
    ]);
    const page = readFileSync(new URL('../../docs/extensions.md', import.meta.url), 'utf8');
    const [table = ''] = page.split('\n## ');
    const rows = [...table.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name);
    expect(rows).toEqual(extensions);
  });

  test.each(['POST', 'HEAD'])('only GET, so %s is 405', async (method) => {
    const answer = await createTestService().ask('/services', { method });
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET']);
  });

  test.each(['/services', '/refresh'])('%s may be used by a listed web app', async (path) => {
    const { ask } = createTestService({ corsOrigins: ['https://tv.test'] });
    const headers = { Origin: 'https://tv.test', 'Access-Control-Request-Method': 'POST' };
    const answer = await ask(path, { method: 'OPTIONS', headers });
    expect(answer.headers.get('access-control-allow-origin')).toBe('https://tv.test');
  });
});

const post = ({ ask }: TestService, body: unknown, peer?: string) => {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return ask('/refresh', { method: 'POST', body: text }, peer);
};

describe('POST /refresh', () => {
  const ASKED = { service: 'anilist', refreshToken: 'old' };

  test('gives the fields of a result; with details all that the provider gave', async () => {
    const service = createTestService({}, { fetch: grantAll });
    expect(await (await post(service, ASKED)).json()).toEqual(USUAL);
    expect(await (await post(service, { ...ASKED, details: true })).json()).toEqual(DETAILED);
    // The second is a repeat, and the relay kept the result of the first.
    expect(service.exchanges.map((form) => Object.fromEntries(form))).toEqual([
      {
        grant_type: 'refresh_token',
        refresh_token: 'old',
        client_id: 'anilist-client',
        client_secret: 'anilist-client-secret',
      },
    ]);
  });

  test('and the refresh of the device grant are one mechanism: one request for both, and one limit', async () => {
    const service = createTestService({}, { fetch: grantAll });
    await post(service, { ...ASKED, scope: 'read' });
    const { body } = await refresh(service, 'old', { scope: 'read' }, 'anilist');
    expect(body.access_token).toBe('access');
    expect(service.exchanges).toHaveLength(1);
    for (let count = 0; count < 10; count += 1) {
      const form = 'grant_type=refresh_token&refresh_token=old';
      const init = { method: 'POST', body: new URLSearchParams(form) };
      await service.ask('/oauth2/anilist/token', init, '192.0.2.1');
    }
    const limited = await post(service, ASKED, '192.0.2.1');
    expect([limited.status, await limited.text()]).toEqual([429, 'Rate limited\n']);
    expect(limited.headers.get('retry-after')).toBe('2');
  });

  test.each([
    ['no JSON', '{', 'Invalid JSON\n'],
    ['no body', '', 'Invalid JSON\n'],
    ['a body that is too long', `{}${' '.repeat(16_384)}`, 'Invalid JSON\n'],
    ['no service', { refreshToken: 'old' }, 'Unknown service\n'],
    ['an unknown service', { ...ASKED, service: 'x' }, 'Unknown service\n'],
    ['JSON that is no object', 'null', 'Unknown service\n'],
    ['no refresh token', { service: 'mal' }, '{"error":"invalid_request"}'],
    ['an empty refresh token', { ...ASKED, refreshToken: '' }, '{"error":"invalid_request"}'],
    [
      'a refresh token that is no text',
      { ...ASKED, refreshToken: 1 },
      '{"error":"invalid_request"}',
    ],
  ])('%s is 400, and no provider is asked', async (_, body, text) => {
    const service = createTestService();
    const answer = await post(service, body);
    expect([answer.status, await answer.text()]).toEqual([400, text]);
    expect(service.exchanges).toEqual([]);
  });

  test.each([
    [401, { error: 'invalid_request', hint: 'Token has been revoked' }, 'invalid_grant'],
    [400, { error: 'invalid_grant' }, 'invalid_grant'],
    [401, {}, 'invalid_client'],
    [403, { error: 'invalid_scope' }, 'invalid_scope'],
  ])("the provider's decision, %i %j, is 400 %s, and nothing else", async (status, said, error) => {
    const service = createTestService({}, { fetch: async () => Response.json(said, { status }) });
    const answer = await post(service, ASKED);
    expect(answer.status).toBe(400);
    expect(await answer.json()).toEqual({ error });
  });

  const down = () => Promise.reject(new Error('down'));

  test.each([
    ['the provider fails', { fetch: async () => new Response('', { status: 500 }) }],
    [
      'the provider says what nobody knows',
      { fetch: async () => Response.json({}, { status: 400 }) },
    ],
    ['the provider cannot be reached', { fetch: down }],
    ['the store is unavailable', { refreshes: { begin: down, finish: down } }],
  ])('where %s, it is 503 with Retry-After: the token may be good', async (_, options) => {
    const answer = await post(createTestService({}, options), ASKED);
    expect([answer.status, await answer.text()]).toEqual([503, 'Server busy\n']);
    expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
  });

  test('a relay that is shutting down is 503', async () => {
    const service = createTestService();
    await service.drain();
    expect((await post(service, ASKED)).status).toBe(503);
  });

  test('a provider that is not discovered is 503', async () => {
    const issuer = 'https://a.test';
    const acme = { name: 'acme', displayName: 'Acme', clientId: 'id', authorizeParams: {}, issuer };
    const service = createTestService({ discoveries: [acme] });
    const answer = await post(service, { ...ASKED, service: 'acme' });
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '30']);
  });
});

describe('details', () => {
  async function resultOf(asked: object) {
    const service = createTestService({}, { fetch: grantAll });
    const { session, state } = await start(service, 'mal', asked);
    await callback(service, state);
    return (await poll(service, session)).json();
  }

  test.each([
    [{ details: true }, DETAILED],
    [{ details: true, code: true, ack: true }, DETAILED],
    [{}, USUAL],
    [{ details: false }, USUAL],
    [{ details: 'true' }, USUAL],
  ])('a start with %j: the result is %j', async (asked, result) => {
    expect(await resultOf(asked)).toEqual(result);
  });

  test('what the provider did not give is left out', async () => {
    const service = createTestService();
    const { session, state } = await start(service, 'mal', { details: true });
    await callback(service, state);
    expect(await (await poll(service, session)).text()).toBe(
      '{"accessToken":"granted","expiresIn":3600}',
    );
  });
});

test.each(['/services', '/refresh'])(
  '%s of a relay without OAUTH_BASE_URL is 503',
  async (path) => {
    const { createDisabledRoutes } = await import('../../src/http/routes.ts');
    const route = createDisabledRoutes().find((each) => each.path === path);
    const answer = route?.respond?.(undefined as never);
    expect([answer?.status, await answer?.text()]).toEqual([503, 'OAuth proxy not configured\n']);
  },
);
