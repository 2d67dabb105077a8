/** The stores in memory: the suite, and that they keep nothing they need not. */

import { expect, test } from 'bun:test';
import { MAX_TOMBSTONES } from '../../src/stores/memory.ts';
import { EXCHANGE_LEASE_MS, MAX_RATE_LIMIT_ADDRESSES } from '../kit/limits.ts';
import { createCompleted, LIFETIME_MS, openMemory } from '../kit/stores.ts';
import { runStoreSuite } from './suite.ts';

runStoreSuite('memory', async (options) => openMemory(options));

const POLICY = { burst: 3, ratePerSecond: 1 };

test('the latest ended sign-ins are known, until they would have expired', async () => {
  const { store, time, sizes } = openMemory();
  const codes: string[] = [];
  for (let count = 0; count < MAX_TOMBSTONES + 10; count += 1) {
    const session = await createCompleted(store, { withUserCode: true });
    await store.poll(session.pollSecret);
    codes.push(session.userCode ?? '');
  }
  expect(sizes().sessions).toBe(MAX_TOMBSTONES);
  const found = await Promise.all(codes.map((userCode) => store.find({ userCode })));
  expect(found.slice(0, 11).filter(Boolean)).toEqual(['signed_in']);
  time.advance(LIFETIME_MS);
  await store.sweep();
  expect(sizes().sessions).toBe(MAX_TOMBSTONES);
  time.advance(1);
  await store.sweep();
  expect(sizes().sessions).toBe(0);
});

test('nothing is kept of a refresh that never finished', () => {
  const { refreshes, time, sizes } = openMemory();
  refreshes.begin('a token');
  time.advance(EXCHANGE_LEASE_MS + 1);
  expect(sizes().refreshes).toBe(0);
});

test('a bucket that is full again is removed by a sweep, or after hundreds of others', async () => {
  const { createRateLimiter, time, sizes } = openMemory();
  const limiter = createRateLimiter('start', POLICY);
  await limiter.take('192.0.2.1');
  time.advance(900);
  await limiter.take('192.0.2.2');
  time.advance(100);
  await limiter.sweep();
  expect(sizes().startBuckets).toBe(1);
  time.advance(900);
  await limiter.sweep();
  expect(sizes().startBuckets).toBe(0);
  await limiter.take('192.0.2.1');
  time.advance(1_000);
  for (let index = 0; index < 300; index += 1) await limiter.take(`address ${index}`);
  expect(sizes().startBuckets).toBe(300);
});

test('the number of buckets is limited: the least recently used one is evicted', async () => {
  const { createRateLimiter, sizes } = openMemory();
  const limiter = createRateLimiter('start', POLICY);
  const seen = ['first', 'second', 'second', 'second', 'first', 'first'];
  for (const address of seen) await limiter.take(address);
  for (let index = 0; index < MAX_RATE_LIMIT_ADDRESSES - 1; index += 1) {
    await limiter.take(`address ${index}`);
  }
  expect(sizes().startBuckets).toBe(MAX_RATE_LIMIT_ADDRESSES);
  expect(await limiter.take('first')).toBeGreaterThan(0);
  expect(await limiter.take('second')).toBe(0);
});
