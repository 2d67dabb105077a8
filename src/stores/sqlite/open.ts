/** The stores on one SQLite: that of a Durable Object, or the sessions file of one relay. */
import type { RandomBytes } from '../../sign-ins/secrets.ts';
import { neededUntilMs } from '../../sign-ins/session.ts';
import type { Clock } from '../../sign-ins/time.ts';
import { createMemoryStore } from '../memory.ts';
import { readRecord, writeRecord } from '../record.ts';
import { createSealedVault } from '../sealed-vault.ts';
import { createSqliteRefreshStore } from './refreshes.ts';
import { createRows, type RowsOptions } from './rows.ts';

const SESSION_ROWS = 'session';

export interface SqliteStoresOptions extends RowsOptions {
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
  readonly maxSessions: number;
}

export type SqliteStores = ReturnType<typeof openSqliteStores>;

export function openSqliteStores(options: SqliteStoresOptions) {
  const { clock, randomBytes, maxSessions } = options;
  const rows = createRows(options);
  const sessions = createMemoryStore(clock, maxSessions, {
    // Without malformed rows, and rows of a newer version (after a rollback): those users start again.
    load: () => rows.readAll(SESSION_ROWS).flatMap((value) => readRecord(value) ?? []),
    write: (session) =>
      rows.write(SESSION_ROWS, session.ids.link, writeRecord(session), neededUntilMs(session)),
    remove: ({ ids }) => rows.remove(SESSION_ROWS, ids.link),
  });
  return {
    sessions: {
      ...sessions,
      sweep() {
        // Removes the rows of expired sessions, which it returns.
        const swept = sessions.sweep();
        rows.removeOld(clock.now());
        return swept;
      },
    },
    vault: createSealedVault(randomBytes),
    refreshes: createSqliteRefreshStore(rows, clock),
    findProblem: rows.findProblem,
    probe: rows.probe,
    /** When `sessions.sweep` has something to remove. Undefined if never. */
    findNextSweep: rows.findNextEnd,
  };
}
