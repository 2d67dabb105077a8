/** A Redis that is full, or configured for another purpose (docs/scaling.md, Set-up). */
import { expect, setDefaultTimeout, test } from 'bun:test';
import { pollUntilDone, refresh, startRequest, startWithCode } from '../kit/device.ts';
import { ACK_MS } from '../kit/limits.ts';
import { tokensFor } from '../kit/provider.ts';
import { type RedisServer, startRedis } from '../kit/redis/server.ts';
import { startRelay } from '../kit/relay.ts';
import { startRelayPair } from '../kit/relay-pair.ts';
import { plantSecret } from '../kit/secrets.ts';
import {
  create,
  createCode,
  DELIVERED,
  newSession,
  openTestRedis,
  StoreUnavailable,
} from '../kit/stores.ts';
import { bringCode, decision, makeCode, stateOf } from '../kit/user.ts';
import { failureOf, pollUntil } from '../kit/wait.ts';

setDefaultTimeout(30_000);

const startBounded = (maxMemory = '64mb') =>
  startRedis({ maxMemory, evictionPolicy: 'noeviction' });
const setMaxMemory = (redis: RedisServer, bytes: string | number) =>
  redis.cli('CONFIG', 'SET', 'maxmemory', bytes);

test('an open session still works: its code, its opening, its result, a cancellation', async () => {
  await using redis = await startBounded();
  const { store, close } = await openTestRedis(redis.url);
  const session = await create(store, { userCode: createCode(), redeliveryMs: ACK_MS });
  const cancelled = await create(store);
  const { browserState, pollSecret, userCode } = session;
  await setMaxMemory(redis, 1);
  expect(await store.find({ userCode: String(userCode) })).toMatchObject({ browserState });
  expect(await store.learnsOpening(pollSecret)).toBe(false);
  expect(await store.open(session)).toBeDefined();
  expect(await store.learnsOpening(pollSecret)).toBe(true);
  await store.lease(session);
  expect(await store.complete(session)).toBe(true);
  expect(await store.poll(pollSecret)).toEqual(DELIVERED);
  expect(await store.acknowledge(pollSecret)).toBe('acknowledged');
  expect(await store.find({ browserState })).toBe('signed_in');
  expect(await store.cancel(cancelled.pollSecret)).toBe('cancelled');
  close();
});

test('no new session takes the place of an expired one: others may be as large', async () => {
  await using redis = await startBounded();
  const { store, time, close } = await openTestRedis(redis.url);
  await create(store, { lifetimeMs: 1 });
  await setMaxMemory(redis, 1);
  time.advance(2);
  expect(await failureOf(store.create(newSession()))).toBeInstanceOf(StoreUnavailable);
  close();
});

/** Until Redis refuses more, and further, so that a closed connection makes no room. */
async function fillUp(redis: RedisServer): Promise<void> {
  const value = 'x'.repeat(100_000);
  for (let nth = 0; ; nth += 1) {
    const failure = await failureOf(redis.cli('SET', `filler:${nth}`, value));
    if (failure === undefined) continue;
    expect(String(failure)).toContain('OOM');
    break;
  }
  const used = Number(/used_memory:(\d+)/.exec(await redis.cli('INFO', 'memory'))?.[1]);
  await setMaxMemory(redis, used - 1_000_000);
}

test('new sign-ins are refused; codes work, guessing is limited, refreshes work', async () => {
  await using redis = await startBounded('8mb');
  const env = { TRUSTED_PROXY_CIDRS: '127.0.0.1' };
  await using pair = await startRelayPair(redis.url, { env });
  const [relay, other] = pair.relays;
  const { session, link } = await startWithCode(relay);
  await fillUp(redis);
  const refused = await relay.ask('/auth/start', startRequest());
  expect([refused.status, await refused.text()]).toEqual([503, 'Server busy\n']);
  // A load balancer must leave them where they work.
  expect((await relay.ask('/ready')).status).toBe(200);

  const from = (address: string) => ({ 'X-Forwarded-For': address });
  const guess = async (address: string) =>
    (await relay.ask(`/L/${createCode().replace(/^.{4}/, '$&-')}`, { headers: from(address) }))
      .status;
  const ofOne: number[] = [];
  for (let nth = 0; nth < 12; nth += 1) ofOne.push(await guess('203.0.113.1'));
  expect(ofOne).toEqual([...Array(10).fill(404), 429, 429]);
  const ofMany = await Promise.all(
    Array.from({ length: 200 }, (_, nth) => guess(`198.51.100.${nth}`)),
  );
  // 40 are left of the 50 for all together, and some come back meanwhile.
  expect(ofMany.filter((status) => status === 404).length).toBeWithin(40, 200);
  expect(new Set(ofMany)).toEqual(new Set([404, 429]));

  /** The limit for all together lets one pass every fifth of a second. */
  const askUntil = (status: number, init: RequestInit) =>
    pollUntil(`the answer is ${status}`, async () => {
      const response = await relay.ask(link, init);
      if (response.status === status) return response;
      expect(response.status).toBe(429);
      return undefined;
    });
  const question = await askUntil(200, { headers: from('203.0.113.2') });
  expect(await question.text()).toContain('MyAnimeList');
  const leaving = await askUntil(303, decision('continue', from('203.0.113.2')));
  const code = makeCode();
  expect((await bringCode(other, plantSecret(stateOf(leaving)), code)).status).toBe(200);
  expect(await pollUntilDone([other], session)).toEqual(tokensFor(code));
  expect((await refresh(relay, makeCode())).status).toBe(200);
});

test.each([
  ['evicts', { evictionPolicy: 'allkeys-lru' }, 'maxmemory-policy is allkeys-lru'],
  ['has an append-only file', { args: ['--appendonly', 'yes'] }, 'persistence is on'],
  ['takes snapshots', { args: ['--save', '900 1'] }, 'persistence is on'],
])('a Redis that %s is warned of at the start', async (_, options, problem) => {
  await using redis = await startRedis(options);
  const relay = await startRelay({ REDIS_URL: redis.url });
  expect(relay.events('store_unfit')).toMatchObject([
    { level: 'warning', problem: expect.stringContaining(problem) },
  ]);
  await relay.stop();
});
