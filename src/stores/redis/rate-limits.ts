/** Token buckets of all instances, one for each address. */
import { intervalMsOf, type RateLimiter, type RateLimitPolicy } from '../../relay/rate-limit.ts';
import type { RedisCommands } from './commands.ts';
import type { RedisKeys } from './records.ts';
import { SCRIPTS } from './scripts.ts';

export interface RedisRateLimiterOptions {
  readonly commands: RedisCommands;
  readonly keys: RedisKeys;
  /** Part of the bucket's key. */
  readonly name: string;
  readonly policy: RateLimitPolicy;
}

export interface RedisRateLimiter extends RateLimiter {
  /** The key of an address's bucket, for a script that takes its token itself. */
  bucketOf(address: string): string;
}

export function createRedisRateLimiter(options: RedisRateLimiterOptions): RedisRateLimiter {
  const { commands, keys, name, policy } = options;
  const intervalMs = intervalMsOf(policy);
  const bucketOf = (address: string) => keys.bucket(name, address);
  return {
    policy,
    bucketOf,
    /** Unknown after a timeout: a token may have been taken by a start that is refused. */
    async take(address) {
      const args = [policy.burst, intervalMs];
      return Number(await commands.run(SCRIPTS.takeToken, [bucketOf(address)], args));
    },
    /** Not repeated: if its outcome is unknown, the address loses one token at most. */
    async refund(address) {
      await commands.run(SCRIPTS.refundToken, [bucketOf(address)], [intervalMs]);
    },
    // The key of a full bucket expires.
    sweep() {},
  };
}
