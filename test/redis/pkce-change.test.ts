/** Two relays on one Redis of which one has another PKCE method already, as in a rolling update. */
import { expect, test } from 'bun:test';
import { startRedis } from '../support/redis/start-redis.ts';
import { plantSecret } from '../support/secrets.ts';
import { startSession } from '../support/wire.ts';
import { pollUntilDone } from './support/device.ts';
import { bringCode, makeCode } from './support/person.ts';
import { startRelayPair } from './support/relay-pair.ts';
import { tokenOf } from './support/token-endpoint.ts';

test('a sign-in that started with plain and is opened where none is set: a challenge of S256, and no verifier shown', async () => {
  const redis = await startRedis();
  await using pair = await startRelayPair(redis.url, {
    each: [{ env: { MAL_PKCE: 'plain' } }, { env: { MAL_PKCE: 'none' } }],
  });
  const [before, after] = pair.relays;
  const { session, state } = await startSession(before.baseUrl, 'mal');
  const challengeAt = async ({ baseUrl }: { readonly baseUrl: string }) => {
    const response = await fetch(`${baseUrl}/auth/mal?state=${state}`, { redirect: 'manual' });
    const { searchParams } = new URL(response.headers.get('location') ?? '');
    return [searchParams.get('code_challenge_method'), searchParams.get('code_challenge') ?? ''];
  };
  const [method, verifier] = await challengeAt(before);
  plantSecret(verifier ?? '');
  expect(method).toBe('plain');
  const digest = new Bun.CryptoHasher('sha256').update(verifier ?? '').digest('base64url');
  expect(await challengeAt(after)).toEqual(['S256', digest]);
  const code = makeCode();
  await bringCode(after, state, code);
  expect(await pollUntilDone([before], session)).toEqual({ accessToken: tokenOf(code) });
  await redis.stop();
});
