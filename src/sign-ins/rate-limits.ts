/** Token buckets: the interface, and the implementation in memory. */
import type { Awaitable } from './store.ts';
import type { Clock } from './time.ts';

export interface RateLimitPolicy {
  /** Tokens in a full bucket. */
  readonly burst: number;
  readonly ratePerSecond: number;
}

export interface RateLimiter {
  /** Atomic: takes one token of the key's bucket. Returns 0, or the milliseconds until there is one. */
  take(key: string): Awaitable<number>;
  /** Atomic: undoes one `take` that turned out not to count. */
  refund(key: string): Awaitable<void>;
  /** Removes buckets that are full again: a missing bucket is a full one. */
  sweep(): void;
}

/** One limit for each address and one for all together, because an attacker may have many addresses. */
export interface RateLimitPair {
  readonly perAddress: RateLimiter;
  readonly overall: RateLimiter;
}

/** How many addresses a limit remembers, in about 10 MB. Beyond that the least recently used one is evicted. */
export const MAX_RATE_LIMIT_ADDRESSES = 100_000;

/** Full buckets are removed in batches, because a large map slows garbage collection. */
const TAKES_BETWEEN_REMOVALS = 256;

/** How long it takes until a bucket has one token more. */
export function intervalMsOf({ ratePerSecond }: RateLimitPolicy): number {
  return 1_000 / ratePerSecond;
}

/**
 * A bucket is one number: when it will be full. Taking a token moves that time one interval
 * later, to at most `burst` intervals from now.
 */
export function createMemoryRateLimiter(clock: Clock, policy: RateLimitPolicy) {
  const intervalMs = intervalMsOf(policy);
  /** When each bucket will be full. The longest untouched bucket is first. */
  const fullAtMs = new Map<string, number>();
  let takes = 0;

  /** Stops at the first bucket that is not full. A full one behind it stays for up to `burst / rate` seconds. */
  function removeFull(nowMs: number): void {
    for (const [key, fullAt] of fullAtMs) {
      if (fullAt > nowMs) return;
      fullAtMs.delete(key);
    }
  }

  return {
    take(key) {
      const nowMs = clock.now();
      const fullAt = Math.max(fullAtMs.get(key) ?? 0, nowMs) + intervalMs;
      const missingMs = fullAt - nowMs - policy.burst * intervalMs;
      // Less than a millisecond counts as 0: at a rate such as 0.7 the sums are rounded, and a
      // bucket of one token would otherwise never be full.
      if (missingMs >= 1) return Math.floor(missingMs);
      fullAtMs.delete(key);
      takes += 1;
      const isCrowded = fullAtMs.size >= MAX_RATE_LIMIT_ADDRESSES;
      if (isCrowded || takes % TAKES_BETWEEN_REMOVALS === 0) removeFull(nowMs);
      const [oldest] = fullAtMs.size >= MAX_RATE_LIMIT_ADDRESSES ? fullAtMs.keys() : [];
      if (oldest !== undefined) fullAtMs.delete(oldest);
      fullAtMs.set(key, fullAt);
      return 0;
    },
    refund(key) {
      const fullAt = fullAtMs.get(key);
      // Keeps its place in the order, although it is full earlier now.
      if (fullAt !== undefined) fullAtMs.set(key, fullAt - intervalMs);
    },
    sweep() {
      removeFull(clock.now());
    },
    get size() {
      return fullAtMs.size;
    },
  } satisfies RateLimiter & { readonly size: number };
}
