/** A Redis that is full, or configured for another purpose (docs/scaling.md, Set-up). */
import { expect, test } from 'bun:test';
import { REDELIVERY_MS } from '../kit/limits.ts';
import { startRedis } from '../kit/redis/server.ts';
import { startRelay } from '../kit/relay.ts';
import {
  create,
  createCode,
  DELIVERED,
  newSession,
  openTestRedis,
  StoreUnavailable,
} from '../kit/stores.ts';
import { failureOf } from '../kit/wait.ts';

test('starts are refused; open sessions, limits on guessing and refreshes work', async () => {
  await using redis = await startRedis();
  const { store, createRateLimiter, refreshes, time } = await openTestRedis(redis.url);
  const session = await create(store, { userCode: createCode(), redeliveryMs: REDELIVERY_MS });
  const cancelled = await create(store);
  const { browserState, pollSecret, userCode } = session;
  await create(store, { lifetimeMs: 1 });
  await redis.cli('CONFIG', 'SET', 'maxmemory', 1);
  // The place of an expired session is not enough: others may be as large.
  time.advance(2);
  expect(await failureOf(store.create(newSession()))).toBeInstanceOf(StoreUnavailable);
  const limiter = createRateLimiter('code', { burst: 1, ratePerSecond: 1 });
  expect([await limiter.take('192.0.2.1'), await limiter.take('192.0.2.1')]).toEqual([0, 1_000]);
  expect(await refreshes.begin('mal token')).toEqual({ state: 'acquired' });
  await refreshes.finish('mal token', '{}');
  expect(await refreshes.begin('mal token')).toEqual({ state: 'finished', result: '{}' });
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
});

test.each([
  ['appendonly', 'yes'],
  ['save', '3600 1'],
])('a Redis that evicts, and keeps data on a disk by %s, is warned of', async (setting, value) => {
  const args = [`--${setting}`, value, '--maxmemory-policy', 'allkeys-lru'];
  await using redis = await startRedis({ args });
  const relay = await startRelay({ REDIS_URL: redis.url });
  expect(relay.events('store_misconfigured')).toMatchObject(
    ['maxmemory-policy is allkeys-lru', 'persistence is on'].map((problem) => ({
      level: 'warning',
      problem: expect.stringContaining(problem),
    })),
  );
  await relay.stop();
});
