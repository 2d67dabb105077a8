/** Token buckets shared by all instances: one script, one key for each address that is not idle. */
import type { RateLimiter, RateLimitPolicy } from '../relay/rate-limit.ts';
import type { TimeOf } from './redis-clock.ts';
import type { RedisCommands } from './redis-commands.ts';
import { TAKE_TOKEN } from './redis-scripts.ts';

export interface RedisRateLimiterOptions {
  readonly commands: RedisCommands;
  readonly prefix: string;
  readonly name: string;
  readonly policy: RateLimitPolicy;
  readonly timeOf: TimeOf;
}

export function createRedisRateLimiter(options: RedisRateLimiterOptions): RateLimiter {
  const { commands, prefix, name, policy, timeOf } = options;
  const intervalMs = 1_000 / policy.ratePerSecond;
  return {
    /** Unknown after a timeout: a token may have been taken by a start that is refused. */
    async take(address, nowMs) {
      const key = `${prefix}rate:${name}:${address}`;
      const args = [timeOf(nowMs), policy.burst, intervalMs];
      const retryAfterMs = Number(await commands.run(TAKE_TOKEN, [key], args));
      return retryAfterMs === 0 ? { ok: true } : { ok: false, retryAfterMs };
    },
    giveBack: async () => {},
    // A full bucket expires by itself.
    sweep: async () => {},
  };
}
