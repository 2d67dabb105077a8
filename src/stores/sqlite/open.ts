/** The stores on one SQLite: that of a Durable Object, or the sessions file of one relay. */
import type { RateLimiter, RateLimitPolicy } from '../../relay/rate-limit.ts';
import type { RefreshStore } from '../../relay/refresh.ts';
import type { RandomBytes } from '../../relay/secrets.ts';
import type { SessionStore } from '../../relay/store.ts';
import type { Clock } from '../../relay/time.ts';
import { createMemoryStore } from '../memory/sessions.ts';
import { createSqliteRateLimiter } from './rate-limits.ts';
import { createSqliteRefreshStore } from './refreshes.ts';
import { createRows, type RowsOptions } from './rows.ts';
import { createSealedPersistence, readSessions } from './sealed.ts';

export interface SqliteStoresOptions extends RowsOptions {
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
  /** In a Durable Object: its share. */
  readonly maxSessions: number;
}

export interface SqliteStores {
  readonly sessions: SessionStore;
  readonly refreshes: RefreshStore;
  createRateLimiter(name: string, policy: RateLimitPolicy): RateLimiter;
  findProblem(): string | undefined;
  /** Whether a new row is accepted now. */
  probe(): boolean;
  /** When `sessions.sweep` has something to remove. Undefined: never. */
  findNextSweep(): number | undefined;
}

export function openSqliteStores(options: SqliteStoresOptions): SqliteStores {
  const { clock, randomBytes, maxSessions } = options;
  const rows = createRows(options);
  const createRateLimiter = (name: string, policy: RateLimitPolicy) =>
    createSqliteRateLimiter(rows, clock, name, policy);
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
    refreshes: createSqliteRefreshStore(rows, clock, randomBytes),
    createRateLimiter,
    findProblem: rows.findProblem,
    probe: rows.probe,
    findNextSweep: rows.findNextEnd,
  };
}
