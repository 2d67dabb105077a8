/** What is read of a token response. What providers break, byte by byte, is in test/serve/provider-connections.test.ts. */
import { expect, test } from 'bun:test';
import type { ProviderQuirks } from '../../src/providers/config.ts';
import { poll, refresh, start } from '../kit/device.ts';
import { discoveryDocumentOf } from '../kit/provider.ts';
import { acmeAt, createTestService, MAL } from '../kit/service.ts';
import { callback } from '../kit/user.ts';

test.each<[response: object | string, result: object, ProviderQuirks?]>([
  [{ expires_in: true, refresh_token: 5, scope: '' }, {}],
  ['{"access_token":"a","id_token":"i","x":1,"__proto__":{"x":1}}', { idToken: 'i' }],
  [
    { token_type: 'mac', scope: 's' },
    { tokenType: 'mac', scope: 's' },
  ],
  // GitHub and Twitch do this.
  [{ expires_in: '28800' }, { expiresIn: 28_800 }],
  [{ scope: ['user:read', 'chat:read'] }, { scope: 'user:read chat:read' }],
  [{ expires_in: 3599.987 }, { expiresIn: 3_599 }],
  [{ expires_in: '3600.5' }, { expiresIn: 3_600 }],
  [{ expires_in: 0.9 }, {}],
  [{ expires_at: 9_999_999_999 }, {}],
  // A comma may be part of a scope, and at GitHub separates two.
  [{ scope: 'repo,gist' }, { scope: 'repo,gist' }],
  [{ scope: 'repo,gist' }, { scope: 'repo gist' }, { commaInScope: true }],
  ['\uFEFF{"access_token":"a"}', {}],
])('of a token response with %j a device gets %j', async (response, result, quirks = {}) => {
  const body =
    typeof response === 'string' ? response : JSON.stringify({ access_token: 'a', ...response });
  const fetch = async () => new Response(body);
  const service = createTestService({ providers: [{ ...MAL, quirks }], fetch });
  const { session, state } = await start(service, 'mal', { details: true });
  await callback(service, state);
  expect(await (await poll(service, session)).json()).toEqual({ accessToken: 'a', ...result });
});

test('every request says who asks, as workerd adds no User-Agent of its own', async () => {
  const issuer = 'https://acme.test';
  const fetch = async () => Response.json({ ...discoveryDocumentOf(issuer), access_token: 'a' });
  const service = createTestService({ providers: [acmeAt(issuer)], fetch });
  await service.discover();
  await callback(service, (await start(service, 'acme')).state, 'code=c', 'acme');
  await refresh(service, 'old', {}, 'acme');
  const names = service.sent.map(({ headers }) => headers['user-agent']);
  expect(names).toEqual(['sign-in-relay', 'sign-in-relay', 'sign-in-relay']);
});
