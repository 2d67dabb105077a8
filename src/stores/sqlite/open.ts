/**
 * The stores on one SQLite: that of a Durable Object, or the sessions file of one relay. The one table
 * keeps what must survive a restart of the relay, or the eviction of the object. It has only its
 * primary key, because Cloudflare bills each changed row, including those of indexes.
 */
import { EXCHANGE_LEASE_MS, REFRESH_RESULT_MS } from '../../limits.ts';
import type { RandomBytes } from '../../sign-ins/secrets.ts';
import { neededUntilMs } from '../../sign-ins/session.ts';
import { type RefreshStore, StoreUnavailable } from '../../sign-ins/store.ts';
import type { Clock } from '../../sign-ins/time.ts';
import { createMemoryStore } from '../memory.ts';
import { readRecord, writeRecord } from '../record.ts';
import { createSealedVault } from '../sealed-vault.ts';

/** `ctx.storage.sql` of a Durable Object is one. A statement has run when it returns. */
export interface Sql {
  exec(
    statement: string,
    ...values: readonly SqlValue[]
  ): Iterable<Readonly<Record<string, unknown>>>;
}

type SqlValue = string | number;

const SESSION_ROWS = 'session';
const REFRESH_ROWS = 'refresh';

export interface SqliteStoresOptions {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
  readonly maxSessions: number;
  /** Called after each write. */
  onWrite(untilMs: number): void;
  /** Called when statements begin to fail, and when new rows are accepted again. */
  onProblem(problem: string, hasEnded: boolean): void;
}

export type SqliteStores = ReturnType<typeof openSqliteStores>;

export function openSqliteStores(options: SqliteStoresOptions) {
  const { sql, clock, randomBytes, maxSessions, onWrite, onProblem } = options;
  let problem: string | undefined;

  /** If it throws, nothing has changed. */
  function run(statement: string, ...values: readonly SqlValue[]) {
    try {
      const rows = [...sql.exec(statement, ...values)];
      // A full database still allows reading, and a DELETE that matches no row.
      if (problem !== undefined && statement.startsWith('INSERT')) {
        const over = problem;
        problem = undefined;
        onProblem(over, true);
      }
      return rows;
    } catch (error) {
      const isFirst = problem === undefined;
      problem = codeOf(error);
      if (isFirst) onProblem(problem, false);
      throw new StoreUnavailable(`the storage refuses (${problem})`);
    }
  }

  run(
    'CREATE TABLE IF NOT EXISTS kept (name TEXT, id TEXT, until_ms INTEGER, value TEXT, PRIMARY KEY (name, id)) WITHOUT ROWID',
  );

  /** One row, new or changed: each costs the same. A sweep may remove it after `untilMs`. */
  function write(name: string, id: string, value: string, untilMs: number): void {
    run('INSERT OR REPLACE INTO kept VALUES (?, ?, ?, ?)', name, id, untilMs, value);
    onWrite(untilMs);
  }

  function remove(name: string, id: string): void {
    run('DELETE FROM kept WHERE name = ? AND id = ?', name, id);
  }

  const sessions = createMemoryStore(clock, maxSessions, {
    load() {
      const rows = run('SELECT value FROM kept WHERE name = ?', SESSION_ROWS);
      // Skips malformed rows, and after a rollback those of a newer version: these users start again.
      return rows.flatMap(({ value }) => readRecord(String(value)) ?? []);
    },
    write: (session) =>
      write(SESSION_ROWS, session.ids.link, writeRecord(session), neededUntilMs(session)),
    remove: ({ ids }) => remove(SESSION_ROWS, ids.link),
  });

  /** A row is `<until when, ms>.<result>`. The result is empty while the refresh is in progress. */
  function keepRefresh(id: string, durationMs: number, result: string): void {
    const untilMs = clock.now() + durationMs;
    write(REFRESH_ROWS, id, `${untilMs}.${result}`, untilMs);
  }

  const refreshes: RefreshStore = {
    begin(id) {
      const [row] = run('SELECT value FROM kept WHERE name = ? AND id = ?', REFRESH_ROWS, id);
      const [untilMs, result = ''] = String(row?.value ?? 0).split('.');
      if (clock.now() <= Number(untilMs)) {
        return result === '' ? { state: 'in_progress' } : { state: 'finished', result };
      }
      keepRefresh(id, EXCHANGE_LEASE_MS, '');
      return { state: 'acquired' };
    },
    finish(id, result) {
      if (result === undefined) remove(REFRESH_ROWS, id);
      else keepRefresh(id, REFRESH_RESULT_MS, result);
    },
  };

  return {
    sessions: {
      ...sessions,
      sweep() {
        // One statement: thousands of them would stop everything else for seconds.
        run('DELETE FROM kept WHERE until_ms < ?', clock.now());
        return sessions.sweep();
      },
    },
    vault: createSealedVault(randomBytes),
    refreshes,
    /** Why statements fail. Undefined: new rows are accepted. */
    findProblem: () => problem,
    /** True if a new row is accepted now. */
    probe(): boolean {
      try {
        write('probe', '', '', 0);
        remove('probe', '');
        return true;
      } catch {
        return false;
      }
    },
    /** When `sessions.sweep` has something to remove. Undefined if never. */
    findNextSweep(): number | undefined {
      const [row] = run('SELECT min(until_ms) AS until_ms FROM kept');
      return typeof row?.until_ms === 'number' ? row.until_ms : undefined;
    },
  };
}

/** The code in a message, such as SQLITE_FULL. The rest of the message may contain values. */
function codeOf(error: unknown): string {
  const message = error instanceof Error ? error.message : '';
  return /\bSQLITE_[A-Z_]+/.exec(message)?.[0] ?? 'unknown';
}
