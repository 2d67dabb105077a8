/** Token buckets shared by all instances: one script, one key for each address that is not idle. */
import type { RateLimiter, RateLimitPolicy } from '../relay/rate-limit.ts';
import type { TimeOf } from './redis-clock.ts';
import type { RedisCommands } from './redis-commands.ts';
import { GIVE_TOKEN_BACK, TAKE_TOKEN } from './redis-limit-scripts.ts';

export interface RedisRateLimiterOptions {
  readonly commands: RedisCommands;
  readonly prefix: string;
  /** Keeps the buckets of several limits apart. */
  readonly name: string;
  readonly policy: RateLimitPolicy;
  readonly timeOf: TimeOf;
}

export function createRedisRateLimiter(options: RedisRateLimiterOptions): RateLimiter {
  const { commands, prefix, name, policy, timeOf } = options;
  const intervalMs = 1_000 / policy.ratePerSecond;
  const bucketOf = (address: string) => `${prefix}rate:${name}:${address}`;
  return {
    /** Unknown after a timeout: a token may have been taken by a start that is refused. */
    async take(address, nowMs) {
      const args = [timeOf(nowMs), policy.burst, intervalMs];
      const retryAfterMs = Number(await commands.run(TAKE_TOKEN, [bucketOf(address)], args));
      return retryAfterMs === 0 ? { ok: true } : { ok: false, retryAfterMs };
    },
    /** Not repeated: unknown, it costs the address one token at most. */
    async giveBack(address, nowMs) {
      await commands.run(GIVE_TOKEN_BACK, [bucketOf(address)], [timeOf(nowMs), intervalMs]);
    },
    // A full bucket expires by itself.
    sweep: async () => {},
  };
}
