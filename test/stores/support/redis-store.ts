/** Stores over a real Redis, in the test's time and under a prefix of their own. */
import { randomBytes, randomUUID } from 'node:crypto';
import { systemClock } from '../../../src/relay/clock.ts';
import type { RateLimiter, RateLimitPolicy } from '../../../src/relay/rate-limit.ts';
import { openRedis, type RedisOptions, type RedisStores } from '../../../src/stores/open-redis.ts';
import { parseRedisUrl } from '../../../src/stores/redis-url.ts';
import type { MakeRateLimiter } from '../suite/run-rate-limiter-suite.ts';
import type { MakeRefreshAnswers } from '../suite/run-refresh-answers-suite.ts';
import type { MakeStore } from '../suite/run-store-suite.ts';

const RATE_LIMIT: RateLimitPolicy = { burst: 3, ratePerSecond: 1 };

type TestRedisOptions = Partial<RedisOptions> & { readonly rateLimit?: RateLimitPolicy };

/** What a test does not say is as in production, but for the time. */
export async function openTestRedis(
  url: string,
  { rateLimit = RATE_LIMIT, ...overrides }: TestRedisOptions = {},
): Promise<RedisStores & { rateLimiter: RateLimiter }> {
  const target = parseRedisUrl(url);
  if (target === undefined) throw new Error(`no address of a Redis: ${url}`);
  const stores = await openRedis({
    target,
    prefix: `test-${randomUUID()}:`,
    maxSessions: 5_000,
    clock: systemClock,
    randomBytes,
    onEvent: () => {},
    clockOf: (nowMs) => nowMs,
    ...overrides,
  });
  return { ...stores, rateLimiter: stores.createRateLimiter('start', rateLimit) };
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

export function makeRedisRefreshAnswers(url: string): MakeRefreshAnswers {
  return async (cleanUps) => {
    const { refreshAnswers, close } = await openTestRedis(url);
    cleanUps.push(async () => close());
    return refreshAnswers;
  };
}
