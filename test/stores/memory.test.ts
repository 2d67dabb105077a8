/** The stores in memory: the suite, and that they keep nothing they need not. */
import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { MAX_RATE_LIMIT_ADDRESSES, REFRESH_ANSWER_MS } from '../kit/limits.ts';
import { asyncProperty } from '../kit/random.ts';
import { LIFETIME_MS, openMemory, register, registerCompleted } from '../kit/stores.ts';
import { runStoreSuite } from './suite.ts';

runStoreSuite('memory', async (options) => openMemory(options));

const POLICY = { burst: 3, ratePerSecond: 1 };

test('no session is kept after its claim or its sweep', async () => {
  const { store, time, sizes } = openMemory();
  const { pollSecret } = await registerCompleted(store);
  for (let count = 0; count < 50; count += 1) await register(store);
  await store.claim(pollSecret);
  expect(sizes().sessions).toBe(50);
  time.advance(LIFETIME_MS + 1);
  await store.sweep();
  expect(sizes().sessions).toBe(0);
});

test('no refresh is kept without an answer, or when its time is over', async () => {
  const { refreshes, time, sizes } = openMemory();
  await refreshes.begin('given up');
  await refreshes.settle('given up', undefined);
  expect(sizes().refreshes).toBe(0);
  await refreshes.begin('answered');
  await refreshes.settle('answered', '{}');
  time.advance(REFRESH_ANSWER_MS);
  expect(await refreshes.begin('answered')).toMatchObject({ state: 'answered' });
  time.advance(1);
  expect(sizes().refreshes).toBe(0);
});

test('a bucket that is full again is removed by a sweep, or when another address comes', async () => {
  const { createLimiter, time, sizes } = openMemory();
  const limiter = createLimiter(POLICY);
  await limiter.take('192.0.2.1');
  time.advance(900);
  await limiter.take('192.0.2.2');
  time.advance(100);
  await limiter.sweep();
  expect(sizes().buckets).toEqual([1]);
  time.advance(900);
  await limiter.sweep();
  expect(sizes().buckets).toEqual([0]);
  await limiter.take('192.0.2.1');
  time.advance(1_000);
  await limiter.take('192.0.2.2');
  expect(sizes().buckets).toEqual([1]);
});

test('the number of buckets is limited; beyond it the address seen longest ago is forgotten', async () => {
  const { createLimiter, sizes } = openMemory();
  const limiter = createLimiter(POLICY);
  const seen = ['first', 'second', 'second', 'second', 'first', 'first'];
  for (const address of seen) await limiter.take(address);
  for (let index = 0; index < MAX_RATE_LIMIT_ADDRESSES - 1; index += 1) {
    await limiter.take(`address ${index}`);
  }
  expect(sizes().buckets).toEqual([MAX_RATE_LIMIT_ADDRESSES]);
  expect((await limiter.take('first')).ok).toBe(false);
  expect((await limiter.take('second')).ok).toBe(true);
});

test('a bucket allows what counted tokens would allow', async () => {
  const waits = fc.array(fc.integer({ min: 0, max: 3_000 }), { maxLength: 60 });
  await asyncProperty(waits, async (waitsMs) => {
    const { createLimiter, time } = openMemory();
    const limiter = createLimiter(POLICY);
    let tokens = POLICY.burst;
    for (const waitMs of waitsMs) {
      time.advance(waitMs);
      tokens = Math.min(POLICY.burst, tokens + waitMs / 1_000);
      // The count is in fractions, so a token may be a little less than whole.
      const isAllowed = tokens > 1 - 1e-6;
      if (isAllowed) tokens -= 1;
      expect((await limiter.take('192.0.2.1')).ok).toBe(isAllowed);
    }
  });
});
