/** Token buckets: what a store of them does. stores/memory.ts, stores/redis/store.ts. */
import type { Awaitable } from './store.ts';

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

/** How long it takes until a bucket has one token more. */
export function intervalMsOf({ ratePerSecond }: RateLimitPolicy): number {
  return 1_000 / ratePerSecond;
}
