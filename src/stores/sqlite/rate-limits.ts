/** Rate limits that are not forgotten at a restart, or when a Durable Object is evicted. */
import {
  createMemoryRateLimiter,
  intervalMsOf,
  type MemoryRateLimiter,
  type RateLimitPolicy,
} from '../../sign-ins/rate-limits.ts';
import type { Clock } from '../../sign-ins/time.ts';
import type { Rows } from './rows.ts';

/**
 * An object stays in memory for 10 s at least after its last request. A bucket that is full
 * again by then needs no row.
 * https://developers.cloudflare.com/durable-objects/concepts/durable-object-lifecycle/
 */
export const OBJECT_IDLE_MS = 10_000;

/** Longer than a request between its `take` and its `refund`, after which nothing has changed and no row is written. */
const BUCKET_WRITE_MS = 250;

export function createSqliteRateLimiter(
  rows: Rows,
  clock: Clock,
  name: string,
  policy: RateLimitPolicy,
): MemoryRateLimiter {
  if (policy.burst * intervalMsOf(policy) <= OBJECT_IDLE_MS) {
    return createMemoryRateLimiter(clock, policy);
  }
  const rowName = `limit ${name}`;
  const written = new Map(
    rows.readAll(rowName).map(({ id, value }) => [id, Number(value)] as const),
  );
  const limiter = createMemoryRateLimiter(clock, policy, written);
  const changed = new Set<string>();

  /** A row that says more than the bucket holds only makes the limit stricter. */
  function writeChanged(): void {
    for (const key of changed) {
      const fullAtMs = limiter.fullAtMs(key);
      if (fullAtMs <= Math.max(clock.now(), written.get(key) ?? 0)) continue;
      try {
        rows.write(rowName, key, String(fullAtMs), fullAtMs);
      } catch {
        // Best effort: requests report storage errors.
        continue;
      }
      written.set(key, fullAtMs);
    }
    changed.clear();
  }

  function noteChange(key: string): void {
    if (changed.size === 0) clock.setTimer(BUCKET_WRITE_MS, writeChanged);
    changed.add(key);
  }

  return {
    ...limiter,
    take(key) {
      const retryAfterMs = limiter.take(key);
      if (retryAfterMs === 0) noteChange(key);
      return retryAfterMs;
    },
    refund: limiter.refund,
    sweep() {
      limiter.sweep();
      for (const [key, fullAtMs] of written) if (fullAtMs <= clock.now()) written.delete(key);
    },
    get size() {
      return limiter.size;
    },
  };
}
