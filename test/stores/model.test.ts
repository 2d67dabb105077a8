import { afterAll, expect, test } from 'bun:test';
import fc from 'fast-check';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { createMemoryRateLimiter } from '../../src/stores/memory-rate-limiter.ts';
import { asyncProperty } from '../support/property.ts';
import { startRedis } from '../support/redis/start-redis.ts';
import { NOW, TOKENS } from './suite/sessions.ts';
import { castOf, runSequence, sequences } from './suite/verbs.ts';
import { openTestRedis } from './support/redis-store.ts';

const redis = await startRedis();
afterAll(() => redis.stop());

/** Small, so that sequences come to its edge. */
const MAX_SESSIONS = 2;

test('whatever is done in whatever order, Redis answers as memory does', async () => {
  await asyncProperty(sequences, async (sequence) => {
    const cast = castOf(sequence);
    const { store, close } = await openTestRedis(redis.url, { maxSessions: MAX_SESSIONS });
    try {
      const expected = await runSequence(
        createMemoryStore({ maxSessions: MAX_SESSIONS }),
        sequence,
        cast,
      );
      expect(await runSequence(store, sequence, cast)).toEqual(expected);
    } finally {
      close();
    }
  });
});

/** Without what differs from one session to the next. */
function kindOf(answer: unknown): string {
  return JSON.stringify(answer ?? null, (key, value) => {
    if (key === 'startedAtMs') return undefined;
    return ['verifier', 'browserState', 'service'].includes(key) ? '' : value;
  });
}

test('such sequences come to every outcome there is', async () => {
  const seen = new Set<string>();
  for (const sequence of fc.sample(sequences, { numRuns: 500, seed: 1 })) {
    const store = createMemoryStore({ maxSessions: MAX_SESSIONS });
    for (const answer of await runSequence(store, sequence, castOf(sequence))) {
      seen.add(kindOf(answer));
    }
  }
  const found = { service: '', browserState: '' };
  const finds = [found, { ...found, deviceName: 'Fernseher 📺' }].map((each) => kindOf(each));
  const claims = [TOKENS, { error: 'access_denied' }, { error: 'exchange_failed' }].map((result) =>
    JSON.stringify({ state: 'claimed', result }),
  );
  expect([...seen].sort()).toEqual(
    [
      ...['"registered"', '"busy"', '"collision"', 'true', 'false', 'null', '{}'],
      ...['{"verifier":""}', '{"state":"pending"}', '{"state":"gone"}', ...claims, ...finds],
      ...['"acknowledged"', '"early"', '"gone"'],
    ].sort(),
  );
});

/** Buckets fill slowly here: in Redis one that is full goes by the server's own clock. */
const policies = fc.record({
  burst: fc.integer({ min: 1, max: 5 }),
  ratePerSecond: fc.constantFrom(0.1, 0.07, 0.03),
});
const takes = fc.array(
  fc.record({
    isGivenBack: fc.boolean(),
    address: fc.constantFrom('192.0.2.1', '2001:db8::'),
    pauseMs: fc.constantFrom(0, 0, 1, 9_999, 10_000, 14_285, 14_286, 33_334, 100_000),
  }),
  { maxLength: 40 },
);

test('whoever comes when, the Redis rate limiter decides as the one in memory does', async () => {
  await asyncProperty(fc.tuple(policies, takes), async ([rateLimit, sequence]) => {
    const memory = createMemoryRateLimiter(rateLimit);
    const { rateLimiter, close } = await openTestRedis(redis.url, { rateLimit });
    try {
      let nowMs = NOW;
      for (const { address, pauseMs, isGivenBack } of sequence) {
        nowMs += pauseMs;
        const expected = await memory.take(address, nowMs);
        expect(await rateLimiter.take(address, nowMs)).toEqual(expected);
        if (!isGivenBack) continue;
        await memory.giveBack(address, nowMs);
        await rateLimiter.giveBack(address, nowMs);
      }
    } finally {
      close();
    }
  });
});
