/** Refreshes under way and just answered, in one process. */
import { EXCHANGE_LEASE_MS, REFRESH_ANSWER_MS } from '../limits.ts';
import type { Clock } from '../relay/clock.ts';
import { createDeadlines } from '../relay/deadlines.ts';
import type { RefreshAnswerStore } from '../relay/refresh-answers.ts';
import { digestOf } from '../relay/secrets.ts';

interface Entry {
  /** Absent while the provider is being asked. */
  readonly answer?: string;
  readonly expiresAtMs: number;
}

export interface MemoryRefreshAnswers extends RefreshAnswerStore {
  readonly size: number;
}

export function createMemoryRefreshAnswers(clock: Clock): MemoryRefreshAnswers {
  const byDigest = new Map<string, Entry>();
  // Past its last millisecond, in which it is still found.
  const expiries = createDeadlines(clock, REFRESH_ANSWER_MS + 1);
  return {
    async begin(key, nowMs) {
      const digest = digestOf(key);
      const entry = byDigest.get(digest);
      if (entry !== undefined && nowMs <= entry.expiresAtMs) {
        const { answer } = entry;
        return answer === undefined ? { state: 'under_way' } : { state: 'answered', answer };
      }
      byDigest.set(digest, { expiresAtMs: nowMs + EXCHANGE_LEASE_MS });
      return { state: 'yours' };
    },
    async settle(key, answer, nowMs) {
      const digest = digestOf(key);
      byDigest.delete(digest);
      if (answer === undefined) return;
      const entry = { answer, expiresAtMs: nowMs + REFRESH_ANSWER_MS };
      byDigest.set(digest, entry);
      // Tokens stay no longer than their time, asked for or not.
      expiries.add(() => {
        if (byDigest.get(digest) === entry) byDigest.delete(digest);
      });
    },
    get size() {
      return byDigest.size;
    },
  };
}
