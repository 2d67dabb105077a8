/** The stores on one SQLite: that of a Durable Object, or the sessions file of one relay. */
import { EXCHANGE_LEASE_MS, REFRESH_RESULT_MS } from '../../limits.ts';
import type { RandomBytes } from '../../sign-ins/secrets.ts';
import { neededUntilMs } from '../../sign-ins/session.ts';
import type { RefreshStore } from '../../sign-ins/store.ts';
import type { Clock } from '../../sign-ins/time.ts';
import { createMemoryStore } from '../memory.ts';
import { readRecord, writeRecord } from '../record.ts';
import { createSealedVault } from '../sealed-vault.ts';
import { createRows, type Rows, type RowsOptions } from './rows.ts';

const SESSION_ROWS = 'session';
const REFRESH_ROWS = 'refresh';

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
    // Skips malformed rows, and after a rollback those of a newer version: these users start again.
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

/** A row is `<until when, ms>.<result>`. The result is empty while the refresh is in progress. */
function createSqliteRefreshStore(rows: Rows, clock: Clock): RefreshStore {
  function write(id: string, durationMs: number, result: string): void {
    const untilMs = clock.now() + durationMs;
    rows.write(REFRESH_ROWS, id, `${untilMs}.${result}`, untilMs);
  }
  return {
    begin(id) {
      const [untilMs = '0', result = ''] = rows.read(REFRESH_ROWS, id)?.split('.') ?? [];
      if (clock.now() <= Number(untilMs)) {
        return result === '' ? { state: 'in_progress' } : { state: 'finished', result };
      }
      write(id, EXCHANGE_LEASE_MS, '');
      return { state: 'yours' };
    },
    finish(id, result) {
      if (result === undefined) rows.remove(REFRESH_ROWS, id);
      else write(id, REFRESH_RESULT_MS, result);
    },
  };
}
