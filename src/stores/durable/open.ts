/** The stores of one Durable Object, on its own SQLite. */
import type { RateLimiter, RateLimitPolicy } from '../../relay/rate-limit.ts';
import type { RefreshStore } from '../../relay/refresh.ts';
import type { RandomBytes } from '../../relay/secrets.ts';
import type { SessionStore } from '../../relay/store.ts';
import type { Clock } from '../../relay/time.ts';
import { createMemoryStore } from '../memory/sessions.ts';
import { createDurableRateLimiter } from './rate-limits.ts';
import { createDurableRefreshStore } from './refreshes.ts';
import { createRows, type RowsOptions } from './rows.ts';
import { createSealedPersistence, readSessions } from './sealed.ts';

export interface DurableStoresOptions extends RowsOptions {
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
  /** The share of this object. */
  readonly maxSessions: number;
}

export interface DurableStores {
  readonly sessions: SessionStore;
  readonly refreshes: RefreshStore;
  createRateLimiter(name: string, policy: RateLimitPolicy): RateLimiter;
  findProblem(): string | undefined;
  /** When `sessions.sweep` has something to remove. Undefined: never. */
  findNextSweep(): number | undefined;
}

export function openDurableStores(options: DurableStoresOptions): DurableStores {
  const { clock, randomBytes, maxSessions } = options;
  const rows = createRows(options);
  const createRateLimiter = (name: string, policy: RateLimitPolicy) =>
    createDurableRateLimiter(rows, clock, name, policy);
  const sessions = createMemoryStore(
    clock,
    maxSessions,
    createSealedPersistence(rows, randomBytes),
    readSessions(rows),
  );
  return {
    sessions: {
      ...sessions,
      async sweep() {
        // Removes the rows of expired sessions, which it reports.
        await sessions.sweep();
        rows.removeOld(clock.now());
      },
    },
    refreshes: createDurableRefreshStore(rows, clock, randomBytes),
    createRateLimiter,
    findProblem: rows.findProblem,
    findNextSweep: rows.findNextEnd,
  };
}
