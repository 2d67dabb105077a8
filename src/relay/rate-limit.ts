/** Token buckets: the arithmetic, and the interface of a store of them. */
import type { Awaitable } from './store.ts';

export interface RateLimitPolicy {
  /** Tokens in a full bucket. */
  readonly burst: number;
  readonly ratePerSecond: number;
}

export interface RateLimiter {
  readonly policy: RateLimitPolicy;
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

/**
 * A bucket is one number: when it will be full. Taking a token moves that time one interval
 * later, to at most `burst` intervals from now. Returns how far beyond that it would be, in
 * milliseconds: 0 if there is a token.
 */
export function missingMs(fullAtMs: number, nowMs: number, policy: RateLimitPolicy): number {
  const intervalMs = intervalMsOf(policy);
  const aheadMs = afterTaking(fullAtMs, nowMs, policy) - nowMs - policy.burst * intervalMs;
  // Less than a millisecond counts as 0: at a rate such as 0.7 the sums are rounded, and a
  // bucket of one token would otherwise never be full.
  return aheadMs >= 1 ? Math.floor(aheadMs) : 0;
}

export function intervalMsOf({ ratePerSecond }: RateLimitPolicy): number {
  return 1_000 / ratePerSecond;
}

/** The bucket with one token less. */
export function afterTaking(fullAtMs: number, nowMs: number, policy: RateLimitPolicy): number {
  return Math.max(fullAtMs, nowMs) + intervalMsOf(policy);
}

/** The bucket with one token more. */
export function afterRefund(fullAtMs: number, policy: RateLimitPolicy): number {
  return fullAtMs - intervalMsOf(policy);
}
