/** Two relays on one Redis: what is limited is limited over both, by the clock of the store (docs/scaling.md). */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test';
import { hash } from 'node:crypto';
import { poll, pollUntilDone, start, startRequest } from '../kit/device.ts';
import { tokensFor } from '../kit/provider.ts';
import { startRedis } from '../kit/redis/server.ts';
import type { RelayProcess } from '../kit/relay.ts';
import { startRelayPair } from '../kit/relay-pair.ts';
import { plantSecret } from '../kit/secrets.ts';
import { bringCode, makeCode } from '../kit/user.ts';

setDefaultTimeout(30_000);

const redis = await startRedis();
afterAll(() => redis.stop());

const tryStart = async ({ ask }: RelayProcess) => (await ask('/auth/start', startRequest())).status;

test('one address has one bucket, whichever relay it asks', async () => {
  const env = { START_BURST: '3', START_RATE: '0.001' };
  await using pair = await startRelayPair(redis.url, { env });
  const [one, other] = pair.relays;
  const statuses: number[] = [];
  for (const relay of [one, other, one, other]) statuses.push(await tryStart(relay));
  expect(statuses).toEqual([200, 200, 200, 429]);
});

test('MAX_SESSIONS counts the sessions of both relays', async () => {
  await using pair = await startRelayPair(redis.url, { env: { MAX_SESSIONS: '10' } });
  const [one, other] = pair.relays;
  const starts = Array.from({ length: 30 }, (_, nth) => tryStart(nth % 2 === 0 ? one : other));
  const statuses = await Promise.all(starts);
  expect(statuses.filter((status) => status === 200)).toHaveLength(10);
  expect(statuses.filter((status) => status === 503)).toHaveLength(20);
});

test('relays whose clocks differ by an hour agree on what has expired', async () => {
  await using pair = await startRelayPair(redis.url, {
    each: [{}, { fault: 'clock an hour ahead' }],
  });
  for (const [from, to] of [pair.relays, pair.relays.toReversed()]) {
    if (from === undefined || to === undefined) throw new Error('two relays');
    const { session, state } = await start(from);
    expect((await bringCode(to, state, makeCode())).status).toBe(200);
    expect((await poll(from, session)).status).toBe(200);
  }
});

test('a rolling update of a PKCE method: a sign-in that started with plain ends with S256, and no verifier is shown', async () => {
  await using pair = await startRelayPair(redis.url, {
    each: [{ env: { MAL_PKCE: 'plain' } }, { env: { MAL_PKCE: 'none' } }],
  });
  const [before, after] = pair.relays;
  const { session, state } = await start(before);
  const challengeAt = async ({ ask }: RelayProcess) => {
    const location = (await ask(`/auth/mal?state=${state}`)).headers.get('location') ?? '';
    const { searchParams } = new URL(location);
    return [searchParams.get('code_challenge_method'), searchParams.get('code_challenge') ?? ''];
  };
  const [method, verifier] = await challengeAt(before);
  plantSecret(verifier ?? '');
  expect(method).toBe('plain');
  expect(await challengeAt(after)).toEqual(['S256', hash('sha256', verifier ?? '', 'base64url')]);
  const code = makeCode();
  await bringCode(after, state, code);
  expect(await pollUntilDone([before], session)).toEqual(tokensFor(code));
});
