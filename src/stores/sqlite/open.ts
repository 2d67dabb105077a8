/** The stores on one SQLite: that of a Durable Object, or the sessions file of one relay. */
import type { RateLimitPolicy } from '../../relay/rate-limit.ts';
import type { RandomBytes } from '../../relay/secrets.ts';
import type { Clock } from '../../relay/time.ts';
import { createMemoryStore } from '../memory/sessions.ts';
import { createSqliteRateLimiter } from './rate-limits.ts';
import { createSqliteRefreshStore } from './refreshes.ts';
import { createRows, type RowsOptions } from './rows.ts';
import { createSealedPersistence, readSessions } from './sealed.ts';

export interface SqliteStoresOptions extends RowsOptions {
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
  /** The share of one Durable Object, if there are several. */
  readonly maxSessions: number;
}

export type SqliteStores = ReturnType<typeof openSqliteStores>;

export function openSqliteStores(options: SqliteStoresOptions) {
  const { clock, randomBytes, maxSessions } = options;
  const rows = createRows(options);
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
    createRateLimiter: (name: string, policy: RateLimitPolicy) =>
      createSqliteRateLimiter(rows, clock, name, policy),
    findProblem: rows.findProblem,
    probe: rows.probe,
    /** When `sessions.sweep` has something to remove. Undefined: never. */
    findNextSweep: rows.findNextEnd,
  };
}
