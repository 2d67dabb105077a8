/** Token buckets in one map, the longest untouched first. */
import { MAX_RATE_LIMIT_ADDRESSES } from '../limits.ts';
import {
  giveTokenBack,
  type RateLimiter,
  type RateLimitPolicy,
  takeToken,
} from '../relay/rate-limit.ts';

export interface MemoryRateLimiter extends RateLimiter {
  readonly size: number;
}

export function createMemoryRateLimiter(policy: RateLimitPolicy): MemoryRateLimiter {
  const fullAtMs = new Map<string, number>();

  /** A bucket behind one that is not yet full waits for it, at most `burst / rate` seconds. */
  function dropFull(nowMs: number): void {
    for (const [address, fullAt] of fullAtMs) {
      if (fullAt > nowMs) return;
      fullAtMs.delete(address);
    }
  }

  return {
    async take(address, nowMs) {
      const decision = takeToken(fullAtMs.get(address), nowMs, policy);
      if (!decision.ok) return decision;
      fullAtMs.delete(address);
      dropFull(nowMs);
      if (fullAtMs.size >= MAX_RATE_LIMIT_ADDRESSES) {
        const [oldest] = fullAtMs.keys();
        if (oldest !== undefined) fullAtMs.delete(oldest);
      }
      fullAtMs.set(address, decision.fullAtMs);
      return { ok: true };
    },
    async giveBack(address) {
      const fullAt = fullAtMs.get(address);
      // In its place: one full too early is found by the next look-up, or swept.
      if (fullAt !== undefined) fullAtMs.set(address, giveTokenBack(fullAt, policy));
    },
    async sweep(nowMs) {
      dropFull(nowMs);
    },
    get size() {
      return fullAtMs.size;
    },
  };
}
