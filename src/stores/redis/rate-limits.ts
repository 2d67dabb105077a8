/** Token buckets of all instances, one for each address. */
import {
  intervalMsOf,
  type RateLimiter,
  type RateLimitPolicy,
} from '../../sign-ins/rate-limits.ts';
import type { Clock } from '../../sign-ins/time.ts';
import type { RedisCommands } from './commands.ts';
import type { RedisKeys } from './keys.ts';

/** How many refusals are cached. Beyond that the cache is cleared, and the store refuses again. */
const MAX_REFUSED_ADDRESSES = 10_000;

/** `name` is part of the keys of its buckets. */
export function createRedisRateLimiter(
  commands: RedisCommands,
  keys: RedisKeys,
  clock: Clock,
  name: string,
  policy: RateLimitPolicy,
): RateLimiter {
  const intervalMs = intervalMsOf(policy);
  const bucketOf = (address: string) => keys.bucket(name, address);
  /** Caches when each refusal ends, so that a flood of refused requests does not reach the store. */
  const refusedUntilMs = new Map<string, number>();
  return {
    /** After a timeout the outcome is unknown: a start that is refused may have taken a token. */
    async take(address) {
      const knownMs = (refusedUntilMs.get(address) ?? 0) - clock.now();
      if (knownMs > 0) return knownMs;
      const args = [policy.burst, intervalMs];
      const waitMs = Number(await commands.run('takeToken', [bucketOf(address)], args));
      if (refusedUntilMs.size >= MAX_REFUSED_ADDRESSES) refusedUntilMs.clear();
      if (waitMs > 0) refusedUntilMs.set(address, clock.now() + Math.min(waitMs, intervalMs));
      else refusedUntilMs.delete(address);
      return waitMs;
    },
    /** A refund is not repeated: if its outcome is unknown, the address loses one token at most. */
    async refund(address) {
      refusedUntilMs.delete(address);
      await commands.run('refundToken', [bucketOf(address)], [intervalMs]);
    },
    // The key of a full bucket expires.
    sweep() {},
  };
}
