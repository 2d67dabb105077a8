/** Refreshes of this process. */
import { EXCHANGE_LEASE_MS, REFRESH_RESULT_MS } from '../../limits.ts';
import type { RefreshStore } from '../../relay/refresh.ts';
import { digestOf } from '../../relay/secrets.ts';
import { type Clock, createDeadlineQueue } from '../../relay/time.ts';

export interface MemoryRefreshStore extends RefreshStore {
  readonly size: number;
}

interface Refresh {
  /** Undefined while the refresh is in progress. */
  readonly result: string | undefined;
  readonly expiresAtMs: number;
}

export function createMemoryRefreshStore(clock: Clock): MemoryRefreshStore {
  const byDigest = new Map<string, Refresh>();
  // One millisecond more, because a result is found up to and including its last millisecond.
  const expiries = createDeadlineQueue(clock, REFRESH_RESULT_MS + 1);
  return {
    begin(key) {
      const digest = digestOf(key);
      const refresh = byDigest.get(digest);
      if (refresh !== undefined && clock.now() <= refresh.expiresAtMs) {
        const { result } = refresh;
        return result === undefined ? { state: 'in_progress' } : { state: 'finished', result };
      }
      const expiresAtMs = clock.now() + EXCHANGE_LEASE_MS;
      byDigest.set(digest, { result: undefined, expiresAtMs });
      return { state: 'yours' };
    },
    finish(key, result) {
      const digest = digestOf(key);
      byDigest.delete(digest);
      if (result === undefined) return;
      const refresh = { result, expiresAtMs: clock.now() + REFRESH_RESULT_MS };
      byDigest.set(digest, refresh);
      // Tokens are removed on time, even without another lookup.
      expiries.add({
        dueAtMs: 0,
        onDue() {
          if (byDigest.get(digest) === refresh) byDigest.delete(digest);
        },
      });
    },
    get size() {
      return byDigest.size;
    },
  };
}
