/** Token buckets in this process. */
import {
  afterRefund,
  afterTaking,
  missingMs,
  type RateLimiter,
  type RateLimitPolicy,
} from '../../relay/rate-limit.ts';
import type { Clock } from '../../relay/time.ts';

export interface MemoryRateLimiter extends RateLimiter {
  take(key: string): number;
  refund(key: string): void;
  /** When the bucket will be full; 0 if it is. */
  fullAtMs(key: string): number;
  readonly size: number;
}

/** Addresses in one limit, about 10 MB. One more, and the least recently used gets its burst back early. */
export const MAX_RATE_LIMIT_ADDRESSES = 100_000;

/** Full buckets are removed early, because a large map slows garbage collection. Many at a time, which is cheaper. */
const TAKES_BETWEEN_REMOVALS = 256;

/** `kept`: buckets that are not full, and when they will be. */
export function createMemoryRateLimiter(
  clock: Clock,
  policy: RateLimitPolicy,
  kept: ReadonlyMap<string, number> = new Map(),
): MemoryRateLimiter {
  /** When each bucket will be full. The longest untouched bucket is first. */
  const fullAtMs = new Map(kept);
  let takes = 0;

  /** Stops at the first bucket that is not full. So a full one behind it stays for up to `burst / rate` seconds. */
  function removeFull(nowMs: number): void {
    for (const [key, fullAt] of fullAtMs) {
      if (fullAt > nowMs) return;
      fullAtMs.delete(key);
    }
  }

  function makeRoom(nowMs: number): void {
    removeFull(nowMs);
    const [oldest] = fullAtMs.size >= MAX_RATE_LIMIT_ADDRESSES ? fullAtMs.keys() : [];
    if (oldest !== undefined) fullAtMs.delete(oldest);
  }

  return {
    policy,
    take(key) {
      const nowMs = clock.now();
      const bucket = fullAtMs.get(key) ?? nowMs;
      const retryAfterMs = missingMs(bucket, nowMs, policy);
      if (retryAfterMs > 0) return retryAfterMs;
      fullAtMs.delete(key);
      takes += 1;
      if (takes % TAKES_BETWEEN_REMOVALS === 0) removeFull(nowMs);
      if (fullAtMs.size >= MAX_RATE_LIMIT_ADDRESSES) makeRoom(nowMs);
      fullAtMs.set(key, afterTaking(bucket, nowMs, policy));
      return 0;
    },
    refund(key) {
      const bucket = fullAtMs.get(key);
      // Keeps its place in the order, although it is full earlier now.
      if (bucket !== undefined) fullAtMs.set(key, afterRefund(bucket, policy));
    },
    fullAtMs: (key) => fullAtMs.get(key) ?? 0,
    sweep() {
      removeFull(clock.now());
    },
    get size() {
      return fullAtMs.size;
    },
  };
}
