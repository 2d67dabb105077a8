import { expect, test } from 'bun:test';
import { MAX_RATE_LIMIT_ADDRESSES } from '../../src/limits.ts';
import { createMemoryRateLimiter } from '../../src/stores/memory-rate-limiter.ts';
import { runRateLimiterSuite } from './suite/run-rate-limiter-suite.ts';

const POLICY = { burst: 3, ratePerSecond: 1 };

runRateLimiterSuite('memory', async (policy) => createMemoryRateLimiter(policy));

test('§8: idle addresses are dropped by the sweep, busy ones are kept', async () => {
  const limiter = createMemoryRateLimiter(POLICY);
  await limiter.take('192.0.2.1', 0);
  await limiter.take('192.0.2.2', 900);
  await limiter.sweep(1_000);
  expect(limiter.size).toBe(1);
  await limiter.sweep(1_900);
  expect(limiter.size).toBe(0);
});

test('no more addresses are remembered than the limit says, even within one second', async () => {
  const limiter = createMemoryRateLimiter(POLICY);
  for (let index = 0; index < MAX_RATE_LIMIT_ADDRESSES + 500; index += 1) {
    await limiter.take(`address ${index}`, 0);
  }
  expect(limiter.size).toBe(MAX_RATE_LIMIT_ADDRESSES);
});

test('past the limit the address seen longest ago is forgotten, not the one that came first', async () => {
  const limiter = createMemoryRateLimiter(POLICY);
  const seen = ['first', 'second', 'second', 'second', 'first', 'first'];
  for (const address of seen) await limiter.take(address, 0);
  for (let index = 0; limiter.size < MAX_RATE_LIMIT_ADDRESSES; index += 1) {
    await limiter.take(`address ${index}`, 0);
  }
  await limiter.take('one too many', 0);
  expect((await limiter.take('first', 0)).ok).toBe(false);
  expect((await limiter.take('second', 0)).ok).toBe(true);
});

test('a bucket that is full again is dropped as soon as another address comes', async () => {
  const limiter = createMemoryRateLimiter(POLICY);
  await limiter.take('192.0.2.1', 0);
  await limiter.take('192.0.2.2', 1_000);
  expect(limiter.size).toBe(1);
});
