/** Stores over a real Redis, in the test's time and under a prefix of their own. */
import { randomBytes, randomUUID } from 'node:crypto';
import { systemClock } from '../../../src/relay/clock.ts';
import { openRedis, type RedisOptions, type RedisStores } from '../../../src/stores/open-redis.ts';
import { parseRedisUrl } from '../../../src/stores/redis-url.ts';
import type { MakeRateLimiter } from '../suite/run-rate-limiter-suite.ts';
import type { MakeStore } from '../suite/run-store-suite.ts';

/** What a test does not say is as in production, but for the time. */
export function openTestRedis(
  url: string,
  overrides: Partial<RedisOptions> = {},
): Promise<RedisStores> {
  const target = parseRedisUrl(url);
  if (target === undefined) throw new Error(`no address of a Redis: ${url}`);
  return openRedis({
    target,
    prefix: `test-${randomUUID()}:`,
    maxSessions: 5_000,
    rateLimit: { burst: 3, ratePerSecond: 1 },
    clock: systemClock,
    randomBytes,
    onEvent: () => {},
    clockOf: (nowMs) => nowMs,
    ...overrides,
  });
}

export function makeRedisStore(url: string): MakeStore {
  return async ({ maxSessions }, cleanUps) => {
    const { store, close } = await openTestRedis(url, { maxSessions });
    cleanUps.push(async () => close());
    return store;
  };
}

export function makeRedisRateLimiter(url: string): MakeRateLimiter {
  return async (rateLimit, cleanUps) => {
    const { rateLimiter, close } = await openTestRedis(url, { rateLimit });
    cleanUps.push(async () => close());
    return rateLimiter;
  };
}
