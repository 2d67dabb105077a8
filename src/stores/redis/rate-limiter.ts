/** Token buckets shared by all instances: one script, one key for each address that is not idle. */
import type { RateLimiter, RateLimitPolicy } from '../../relay/rate-limit.ts';
import type { TimeOf } from './clock.ts';
import type { RedisCommands } from './commands.ts';
import { GIVE_TOKEN_BACK, TAKE_TOKEN } from './limit-scripts.ts';

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
    async take(address) {
      const args = [timeOf(), policy.burst, intervalMs];
      const retryAfterMs = Number(await commands.run(TAKE_TOKEN, [bucketOf(address)], args));
      return retryAfterMs;
    },
    /** Not repeated: unknown, it costs the address one token at most. */
    async refund(address) {
      await commands.run(GIVE_TOKEN_BACK, [bucketOf(address)], [timeOf(), intervalMs]);
    },
    // A full bucket expires by itself.
    sweep() {},
  };
}
