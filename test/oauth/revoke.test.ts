/** Signing out: `POST /revoke` and RFC 7009 (docs/extensions.md "Signing out", docs/device-grant.md "Signing out"), in what the conformance suite cannot see. */
import { describe, expect, test } from 'bun:test';
import type { ProviderConfig } from '../../src/providers/config.ts';
import { plantSecret } from '../kit/secrets.ts';
import {
  ACME,
  captureLog,
  createTestService,
  type Fetch,
  MAL,
  type Sent,
  type TestService,
} from '../kit/service.ts';

const url = 'https://acme.test/revoke';

/** `mal` has no revocation endpoint, `acme` takes every token, and `bearer` only access tokens, as Dropbox. */
const PROVIDERS: readonly ProviderConfig[] = [
  { ...MAL, removeAt: 'https://mal.test/apps' },
  { ...ACME, revocation: { url } },
  { ...ACME, name: 'bearer', revocation: { url, takes: 'access tokens', tokenIn: 'bearer' } },
];

const createAcme = (fetch: Fetch = async () => new Response(''), options = {}) =>
  createTestService({ providers: PROVIDERS, fetch, ...options });

const revoke = ({ ask }: TestService, body: object) =>
  ask('/revoke', { method: 'POST', body: JSON.stringify(body) });

const revokeOAuth = ({ ask }: TestService, form: Record<string, string>, service = 'acme') =>
  ask(`/oauth2/${service}/revoke`, { method: 'POST', body: new URLSearchParams(form) });

const TOKENS = { service: 'acme', refreshToken: 'refresh+1', accessToken: 'access/1' };

const answering =
  (status: number, body: unknown): Fetch =>
  async () =>
    Response.json(body, { status });

test('without a revocation endpoint a refusal says where the user removes the app', async () => {
  const service = createAcme();
  const response = await revoke(service, { ...TOKENS, service: 'mal' });
  expect(await response.json()).toEqual({
    error: 'unsupported',
    removeAt: 'https://mal.test/apps',
  });
});

const INVALID = { error: 'invalid_request' };
const OLD_AT_TWITCH = { status: 400, message: 'Invalid token' };

test.each<[string, Fetch, number, object]>([
  ['204: revoked', async () => new Response(null, { status: 204 }), 200, {}],
  ['200 and a page: revoked', async () => new Response('<html>bye'), 200, {}],
  ['invalid_grant: revoked', answering(400, { error: 'invalid_grant' }), 200, {}],
  ['an old token at Twitch: revoked', answering(400, OLD_AT_TWITCH), 200, {}],
  ['401 in its own words', answering(401, { message: 'no' }), 400, { error: 'invalid_client' }],
  ['an error with 200', answering(200, INVALID), 400, INVALID],
])('the response of the provider, %s', async (_, answer, status, body) => {
  const service = createAcme(answer);
  const own = await revoke(service, TOKENS);
  expect([own.status, await own.json()]).toEqual([status, body]);
  const oauth = await revokeOAuth(service, { token: 't' });
  expect([oauth.status, JSON.parse((await oauth.text()) || '{}')]).toMatchObject([status, body]);
});

describe('a provider that takes only access tokens', () => {
  const LIVE = 'Bearer live';

  /** Revokes `live`, gives `live` for the refresh token `good`, and knows no other token. */
  const takeAccessTokens: Fetch = async (_url, { headers, body }) => {
    const { Authorization } = headers as Record<string, string>;
    if (Authorization !== undefined) {
      return Response.json({}, { status: Authorization === LIVE ? 200 : 401 });
    }
    const isGood = new URLSearchParams(String(body)).get('refresh_token') === 'good';
    return isGood
      ? Response.json({ access_token: 'live' })
      : Response.json({ error: 'invalid_grant' }, { status: 400 });
  };

  const bearersOf = (sent: readonly Sent[]) => sent.map(({ headers }) => headers.authorization);

  test('a refresh token is revoked also at a provider that answers 200 for any token', async () => {
    const takeAny: Fetch = async (url, init) =>
      'Authorization' in Object(init.headers) ? Response.json({}) : takeAccessTokens(url, init);
    const service = createAcme(takeAny);
    const asked = { service: 'bearer', accessToken: 'old', refreshToken: 'good' };
    expect((await revoke(service, asked)).status).toBe(200);
    const form = { token: 'good', token_type_hint: 'refresh_token' };
    expect((await revokeOAuth(service, form, 'bearer')).status).toBe(200);
    expect(bearersOf(service.sent)).toEqual([undefined, LIVE, 'Bearer old', LIVE]);
    // Dropbox refuses a content type without a body.
    expect(service.sent[1]?.body).toBeUndefined();
    expect(service.sent[1]?.headers).not.toHaveProperty('content-type');
  });

  test.each([['good'], ['live'], ['dead']])(
    'RFC 7009 §2.1: whatever the hint, the token %s is looked for among both kinds',
    async (token) => {
      for (const token_type_hint of ['access_token', 'refresh_token', '']) {
        const service = createAcme(takeAccessTokens);
        const form = { token, token_type_hint };
        expect((await revokeOAuth(service, form, 'bearer')).status).toBe(200);
        expect(bearersOf(service.sent).includes(LIVE)).toBe(token !== 'dead');
      }
    },
  );

  test('a refresh that fails leaves it undecided: 503', async () => {
    const down: Fetch = async (_url, { headers }) =>
      new Response(null, { status: 'Authorization' in Object(headers) ? 401 : 500 });
    const service = createAcme(down);
    const asked = { service: 'bearer', accessToken: 'old', refreshToken: 'good' };
    expect((await revoke(service, asked)).status).toBe(503);
  });
});

test('a store that is unavailable: 503 with Retry-After: the tokens may be valid', async () => {
  const down = () => Promise.reject(new Error('down'));
  const createRateLimiter = () => ({
    policy: { burst: 1, ratePerSecond: 1 },
    take: down,
    refund: down,
    size: 0,
    sweep: () => {},
  });
  const service = createAcme(undefined, { stores: { createRateLimiter } });
  for (const response of [
    await revoke(service, TOKENS),
    await revokeOAuth(service, { token: 't' }),
    await service.ask('/refresh', { method: 'POST', body: JSON.stringify(TOKENS) }),
  ]) {
    expect(response.status).toBe(503);
    expect(response.headers.get('retry-after')).toBe('5');
  }
});

test('a failure is logged with a hint that names the setting, and without a token', async () => {
  const token = plantSecret(`token-${crypto.randomUUID()}`);
  const { events, named } = captureLog('debug');
  const service = createAcme(answering(404, { error_description: token }));
  await revoke(service, { service: 'acme', refreshToken: token, accessToken: token });
  await revokeOAuth(service, { token });
  expect(named('revocation_failed')).toHaveLength(2);
  expect(named('revocation_failed')[0]).toMatchObject({
    service: 'acme',
    reason: 'status',
    status: 404,
    hint: 'acme.test has no revocation endpoint there (404): correct ACME_REVOKE_URL',
  });
  expect(JSON.stringify(events)).not.toContain(token);
});
