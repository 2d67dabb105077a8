/** What is read of a token response. What providers break, byte by byte, is in test/serve/provider-connections.test.ts. */
import { expect, test } from 'bun:test';
import type { ProviderQuirks } from '../../src/providers/config.ts';
import { discoverProvider } from '../../src/providers/discovery.ts';
import { poll, refresh, start } from '../kit/device.ts';
import { discoveryDocumentOf } from '../kit/provider.ts';
import { createTestService, type Fetch, SETTINGS } from '../kit/service.ts';
import { callback } from '../kit/user.ts';

// The fake clock begins 1,000 s after the epoch.
test.each<[string, string, object, ProviderQuirks?]>([
  [
    'values of another type are left out',
    '{"access_token":"a","expires_in":true,"refresh_token":5,"scope":""}',
    { accessToken: 'a' },
  ],
  [
    'the fields of the device grant are kept, others are not',
    '{"access_token":"a","token_type":"mac","scope":"s","id_token":"i","x":1,"__proto__":{"x":1}}',
    { accessToken: 'a', tokenType: 'mac', scope: 's', idToken: 'i' },
  ],
  [
    'a lifetime may be text, as at GitHub, and scopes a list, as at Twitch',
    '{"access_token":"a","expires_in":"28800","scope":["user:read","chat:read"]}',
    { accessToken: 'a', expiresIn: 28_800, scope: 'user:read chat:read' },
  ],
  [
    'a fraction of a second is left out',
    '{"access_token":"a","expires_in":3599.987}',
    { accessToken: 'a', expiresIn: 3_599 },
  ],
  [
    'also if it is text',
    '{"access_token":"a","expires_in":"3600.5"}',
    { accessToken: 'a', expiresIn: 3_600 },
  ],
  [
    'less than a second, or no number, is left out',
    '{"access_token":"a","expires_in":0.9}',
    { accessToken: 'a' },
  ],
  [
    'expires_at does not count',
    '{"access_token":"a","expires_at":9999999999}',
    { accessToken: 'a' },
  ],
  [
    'expires_at counts where the profile says so',
    '{"access_token":"a","expires_at":4600}',
    { accessToken: 'a', expiresIn: 3_600 },
    { expiresAt: true },
  ],
  [
    'not if it has passed',
    '{"access_token":"a","expires_at":999}',
    { accessToken: 'a' },
    { expiresAt: true },
  ],
  [
    'nor if there is expires_in',
    '{"access_token":"a","expires_in":60,"expires_at":9999999999}',
    { accessToken: 'a', expiresIn: 60 },
    { expiresAt: true },
  ],
  [
    'a comma may be part of a scope',
    '{"access_token":"a","scope":"repo,gist"}',
    { accessToken: 'a', scope: 'repo,gist' },
  ],
  [
    'commas separate scopes where the profile says so, as for GitHub',
    '{"access_token":"a","scope":"repo,gist"}',
    { accessToken: 'a', scope: 'repo gist' },
    { commaInScope: true },
  ],
  ['a byte order mark does not matter', '\uFEFF{"access_token":"a"}', { accessToken: 'a' }],
])('of a token response: %s', async (_, body, result, quirks = {}) => {
  const [mal] = SETTINGS.providers;
  const providers = [{ ...mal, quirks }];
  const service = createTestService({ providers }, { fetch: async () => new Response(body) });
  const { session, state } = await start(service, 'mal', { details: true });
  await callback(service, state);
  expect(await (await poll(service, session)).json()).toEqual(result);
});

test('every request says who asks, as workerd adds no User-Agent of its own', async () => {
  const asked: unknown[] = [];
  const fetch: Fetch = async (url, { headers }) => {
    asked.push(headers?.['User-Agent']);
    const { origin } = new URL(url);
    return Response.json({ ...discoveryDocumentOf(origin), access_token: 'a' });
  };
  const service = createTestService({}, { fetch });
  await callback(service, (await start(service)).state);
  await refresh(service, 'old');
  const issuer = { name: 'acme', displayName: 'Acme', issuer: 'https://acme.test' };
  await discoverProvider({ ...issuer, clientId: 'id', authorizeParams: {} }, fetch);
  expect(asked).toEqual(['sign-in-relay', 'sign-in-relay', 'sign-in-relay']);
});
