/** The token bucket's arithmetic, and what is asked of whoever keeps the buckets. */

export interface RateLimitPolicy {
  /** Tokens a full bucket holds. */
  readonly burst: number;
  /** Tokens that come back each second. */
  readonly ratePerSecond: number;
}

export type RateLimitDecision =
  | { readonly ok: true }
  | { readonly ok: false; readonly retryAfterMs: number };

export interface RateLimiter {
  /** Atomic: takes one token of the address's bucket, or says when there will be one. */
  take(address: string, nowMs: number): Promise<RateLimitDecision>;
  /** Atomic: undoes one `take` that turned out not to count. */
  giveBack(address: string, nowMs: number): Promise<void>;
  /** Drops buckets that are full again: they say nothing. */
  sweep(nowMs: number): Promise<void>;
}

/**
 * One number is a whole bucket: when it will be full again. Taking a token moves
 * that moment one interval on; it may lie at most `burst` intervals ahead.
 * Returns the bucket after taking, or the refusal that leaves it as it is.
 */
export function takeToken(
  fullAtMs: number | undefined,
  nowMs: number,
  policy: RateLimitPolicy,
): { readonly ok: true; readonly fullAtMs: number } | (RateLimitDecision & { ok: false }) {
  const intervalMs = 1_000 / policy.ratePerSecond;
  const next = Math.max(fullAtMs ?? nowMs, nowMs) + intervalMs;
  const aheadMs = next - nowMs - policy.burst * intervalMs;
  // A token less than a millisecond away is there: at a rate such as 0.7 sums are
  // rounded, and by that hair a burst would lose a token, or a burst of 1 all of them.
  return aheadMs >= 1
    ? { ok: false, retryAfterMs: Math.floor(aheadMs) }
    : { ok: true, fullAtMs: next };
}

/** The bucket with one token more, at most full. */
export function giveTokenBack(fullAtMs: number, policy: RateLimitPolicy): number {
  return fullAtMs - 1_000 / policy.ratePerSecond;
}
