/** The one table: it keeps what must survive a restart of the relay, or the eviction of a Durable Object. */
import { StoreUnavailable } from '../../sign-ins/store.ts';

/** `ctx.storage.sql` of a Durable Object is one. A statement has run when it returns. */
export interface Sql {
  exec(
    statement: string,
    ...values: readonly SqlValue[]
  ): Iterable<Readonly<Record<string, unknown>>>;
}

type SqlValue = string | number;

export type Rows = ReturnType<typeof createRows>;

export interface RowsOptions {
  readonly sql: Sql;
  /** Called after each write. */
  onWrite(untilMs: number): void;
  /** Called when statements begin to fail, and when new rows are accepted again. */
  onProblem(problem: string, isOver: boolean): void;
}

/**
 * The table has only its primary key, because Cloudflare bills each changed row, including those of
 * indexes.
 */
export function createRows({ sql, onWrite, onProblem }: RowsOptions) {
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

  /** One row, new or changed: each costs the same. `untilMs`: when `removeOld` may remove it. */
  function write(name: string, id: string, value: string, untilMs: number): void {
    run('INSERT OR REPLACE INTO kept VALUES (?, ?, ?, ?)', name, id, untilMs, value);
    onWrite(untilMs);
  }

  function remove(name: string, id: string): void {
    run('DELETE FROM kept WHERE name = ? AND id = ?', name, id);
  }

  return {
    /** All that was kept under a name, each as it was written. */
    readAll: (name: string) =>
      run('SELECT value FROM kept WHERE name = ?', name).map(({ value }) => String(value)),
    read(name: string, id: string): string | undefined {
      const [row] = run('SELECT value FROM kept WHERE name = ? AND id = ?', name, id);
      return row && String(row.value);
    },
    write,
    remove,
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
    removeOld: (nowMs: number) => void run('DELETE FROM kept WHERE until_ms < ?', nowMs),
    /** When the next row may be removed. Undefined if there is none. */
    findNextEnd(): number | undefined {
      const [row] = run('SELECT min(until_ms) AS until_ms FROM kept');
      return typeof row?.until_ms === 'number' ? row.until_ms : undefined;
    },
    /** Why statements fail. Undefined: new rows are accepted. */
    findProblem: () => problem,
  };
}

/** The code in a message, such as SQLITE_FULL. The rest of the message may contain values. */
function codeOf(error: unknown): string {
  const message = error instanceof Error ? error.message : '';
  return /\bSQLITE_[A-Z_]+/.exec(message)?.[0] ?? 'unknown';
}
