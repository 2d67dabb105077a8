import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { takeToken } from '../../src/relay/rate-limit.ts';
import { property } from '../support/property.ts';

const POLICY = { burst: 3, ratePerSecond: 1 };

function createBucket(policy = POLICY) {
  let fullAtMs: number | undefined;
  return (nowMs: number): 'ok' | number => {
    const decision = takeToken(fullAtMs, nowMs, policy);
    if (!decision.ok) return decision.retryAfterMs;
    fullAtMs = decision.fullAtMs;
    return 'ok';
  };
}

test('§8: three at once, then one a second; the refusal says how long to wait', () => {
  const take = createBucket();
  expect([take(0), take(0), take(0), take(0)]).toEqual(['ok', 'ok', 'ok', 1_000]);
  expect([take(400), take(999), take(1_000), take(1_000)]).toEqual([600, 1, 'ok', 1_000]);
});

test('a bucket left alone is full again, and never more than full', () => {
  const take = createBucket();
  for (let count = 0; count < 3; count += 1) take(0);
  expect([take(60_000), take(60_000), take(60_000), take(60_000)]).toEqual([
    'ok',
    'ok',
    'ok',
    1_000,
  ]);
});

test('it allows what a bucket of counted tokens allows', () => {
  const waits = fc.array(fc.integer({ min: 0, max: 3_000 }), { maxLength: 60 });
  property(waits, (waitsMs) => {
    const take = createBucket();
    let tokens = POLICY.burst;
    let nowMs = 0;
    for (const waitMs of waitsMs) {
      nowMs += waitMs;
      tokens = Math.min(POLICY.burst, tokens + waitMs / 1_000);
      // The count is in fractions, so a token may be a hair less than whole.
      const allowed = tokens > 1 - 1e-6;
      if (allowed) tokens -= 1;
      expect(take(nowMs) === 'ok').toBe(allowed);
    }
  });
});
