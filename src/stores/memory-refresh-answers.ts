/** Refreshes under way and just answered, in one process. */
import { EXCHANGE_LEASE_MS, REFRESH_ANSWER_MS } from '../limits.ts';
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

export function createMemoryRefreshAnswers(): MemoryRefreshAnswers {
  const byDigest = new Map<string, Entry>();
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
      if (answer === undefined) byDigest.delete(digest);
      else byDigest.set(digest, { answer, expiresAtMs: nowMs + REFRESH_ANSWER_MS });
    },
    async sweep(nowMs) {
      for (const [digest, { expiresAtMs }] of byDigest) {
        if (expiresAtMs < nowMs) byDigest.delete(digest);
      }
    },
    get size() {
      return byDigest.size;
    },
  };
}
