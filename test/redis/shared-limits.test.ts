/** What is limited is limited over all relays together, by the store's clock. `protocol.md` §8. */
import { afterAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import { startRedis } from '../support/redis/start-redis.ts';
import { plantSecret } from '../support/secrets.ts';
import { startSession } from '../support/wire.ts';
import { startRelayPair } from './support/relay-pair.ts';

const redis = await startRedis();
afterAll(() => redis.stop());

const start = async ({ baseUrl }: { baseUrl: string }) =>
  (await fetch(`${baseUrl}/auth/start`, { method: 'POST', body: '{"service":"mal"}' })).status;

test('one address has one bucket, whichever relay it asks', async () => {
  await using pair = await startRelayPair(redis.url, {
    env: { START_BURST: '3', START_RATE: '0.001' },
  });
  const [one, other] = pair.relays;
  const statuses = [await start(one), await start(other), await start(one), await start(other)];
  expect(statuses).toEqual([200, 200, 200, 429]);
});

test('as many sign-ins are alive as may be, over both relays', async () => {
  await using pair = await startRelayPair(redis.url, { env: { MAX_SESSIONS: '10' } });
  const [one, other] = pair.relays;
  const statuses = await Promise.all(
    Array.from({ length: 30 }, (_, index) => start(index % 2 === 0 ? one : other)),
  );
  expect(statuses.filter((status) => status === 200)).toHaveLength(10);
  expect(statuses.filter((status) => status === 503)).toHaveLength(20);
});

test('relays whose clocks differ by an hour agree on what is alive', async () => {
  const preload = join(import.meta.dir, 'support/an-hour-ahead.ts');
  await using pair = await startRelayPair(redis.url, { each: [{}, { preload }] });
  const [right, ahead] = pair.relays;
  for (const [from, to] of [
    [right, ahead],
    [ahead, right],
  ] as const) {
    const { session, state } = await startSession(from.baseUrl, 'mal');
    const code = plantSecret('code-of-different-clocks');
    const page = await fetch(`${to.baseUrl}/auth/mal/callback?state=${state}&code=${code}`);
    expect(page.status).toBe(200);
    const answer = await fetch(`${from.baseUrl}/auth/result?session=${session}`);
    expect(answer.status).toBe(200);
  }
});
