/**
 * The stores of one relay in one file, so that sign-ins survive a restart (SESSIONS_FILE).
 * The relay holds the lock of the file as long as it runs. The lock is the operating system's,
 * so a relay that was killed leaves none. docs/install.md "A sessions file".
 */
import { chmodSync, closeSync, constants, lstatSync, openSync } from 'node:fs';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { setTimeout } from 'node:timers/promises';
import { type RefusalEvent, type StoreProblem, StoreUnavailable } from '../../sign-ins/store.ts';
import { openSqliteStores, type Sql, type SqliteStores, type SqliteStoresOptions } from './open.ts';
import {
  describeCode,
  describeProblem,
  failureFor,
  findPathProblem,
  sqliteCodeOf,
  UnusableFile,
} from './problems.ts';

/** How long a start waits for the old relay to end, because a restart may overlap. */
const LOCK_WAIT_MS = 10_000;
const LOCK_RETRY_MS = 100;

/** How often a file that refused a change is tried again. */
const PROBE_MS = 1_000;

/** `SRLY`: says that the file is ours. https://www.sqlite.org/pragma.html#pragma_application_id */
const APPLICATION_ID = 0x53_52_4c_59;

/** The version of the table. The records have versions of their own (record.ts). */
const FORMAT = 1;

export interface SessionsFileOptions
  extends Pick<SqliteStoresOptions, 'clock' | 'randomBytes' | 'maxSessions'> {
  readonly path: string;
  /** Called when the file refuses changes, and when it accepts them again. */
  readonly onEvent: (event: RefusalEvent) => void;
}

/**
 * Rejects with StoreUnavailable, whose message says why the file cannot be used and what helps,
 * and completes a sentence that begins with SESSIONS_FILE.
 */
export async function openSessionsFile(all: SessionsFileOptions) {
  const { path, onEvent, ...options } = all;
  const { clock } = options;
  const database = await openDatabase(path, options);
  let stopProbing = () => {};

  /** Probes, because no request would: a load balancer sends none to a relay that is not ready. */
  function probeLater(): void {
    // A probe may itself report a problem, which sets the timer.
    stopProbing();
    stopProbing = clock.setTimer(PROBE_MS, () => {
      if (!stores.probe()) probeLater();
    });
  }

  let stores: SqliteStores;
  try {
    stores = openSqliteStores({
      ...options,
      sql: createSql(database),
      onWrite() {},
      onProblem(reason, hasEnded) {
        if (hasEnded) {
          onEvent({ type: 'store_accepts', reason });
          stopProbing();
        } else {
          const remedy = `SESSIONS_FILE ${describeProblem(path, reason)}`;
          onEvent({ type: 'store_refuses', reason, remedy });
          probeLater();
        }
      },
    });
  } catch (error) {
    stopProbing();
    // Releases the lock for another attempt of this process.
    database.close();
    throw error;
  }
  // Otherwise a full disk would be noticed only when a device starts a sign-in.
  stores.probe();

  return {
    ...stores,
    findProblem(): StoreProblem | undefined {
      const problem = stores.findProblem();
      if (problem === undefined) return undefined;
      // Anybody may read this at /ready, so it has no path.
      return { status: 'down', reason: `store: SESSIONS_FILE ${describeCode(problem)}` };
    },
    close() {
      stopProbing();
      database.close();
    },
  };
}

/** Opens, locks and checks the database. */
async function openDatabase(
  path: string,
  { clock }: Pick<SessionsFileOptions, 'clock'>,
): Promise<DatabaseSync> {
  const { DatabaseSync } = await import('node:sqlite').catch(() => {
    throw new StoreUnavailable('needs Bun, or Node 22.13 or newer, which have SQLite');
  });
  createFile(path);
  const untilMs = clock.now() + LOCK_WAIT_MS;
  for (;;) {
    const database = new DatabaseSync(path);
    try {
      lock(database);
      check(database, path);
      prepare(database);
      makePrivate(path);
      return database;
    } catch (error) {
      database.close();
      const code = sqliteCodeOf(error);
      if (error instanceof StoreUnavailable) throw error;
      if (code !== 'SQLITE_BUSY' || clock.now() >= untilMs) throw failureFor(path, code);
    }
    // The clock's timers are unref'd: Node would exit here, and Bun would spin.
    await setTimeout(LOCK_RETRY_MS);
  }
}

/** Follows no symbolic link, and changes nothing of a file that exists: it may be another program's. */
function createFile(path: string): void {
  const problem = findPathProblem(path);
  if (problem !== undefined) throw new UnusableFile(problem);
  try {
    const { O_APPEND, O_CREAT, O_NOFOLLOW = 0, O_RDWR } = constants;
    closeSync(openSync(path, O_APPEND | O_CREAT | O_NOFOLLOW | O_RDWR, 0o600));
  } catch (error) {
    throw failureFor(path, String((error as NodeJS.ErrnoException).code));
  }
}

/** Only the owner may read the file, because it has sealed tokens (docs/sealing.md). A killed process may have left its write-ahead log. */
function makePrivate(path: string): void {
  for (const each of [path, `${path}-wal`]) {
    if (lstatSync(each, { throwIfNoEntry: false })?.isFile()) chmodSync(each, 0o600);
  }
}

/** In exclusive mode no other process can open the file. Changes nothing: check() comes next. */
function lock(database: DatabaseSync): void {
  database.exec('PRAGMA locking_mode = EXCLUSIVE');
  database.exec('BEGIN IMMEDIATE; COMMIT');
}

/** With `synchronous=NORMAL` only a checkpoint is written through, so a power cut may lose the last changes. */
function prepare(database: DatabaseSync): void {
  database.exec('PRAGMA journal_mode = WAL');
  database.exec('PRAGMA synchronous = NORMAL');
}

function check(database: DatabaseSync, path: string): void {
  const read = (name: string) => Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0];
  if (read('quick_check') !== 'ok') throw failureFor(path, 'SQLITE_CORRUPT');
  if (read('schema_version') === 0) {
    database.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${FORMAT}`);
  }
  if (read('application_id') !== APPLICATION_ID) {
    throw new UnusableFile(`${path} is a database of another program: name another file`);
  }
  if (read('user_version') !== FORMAT) {
    throw new UnusableFile(
      `${path} was written by another version of the relay: start that one, or move the file away, which ends sign-ins in progress`,
    );
  }
}

/** Each statement is compiled once. */
function createSql(database: DatabaseSync): Sql {
  const statements = new Map<string, StatementSync>();
  return {
    exec(text, ...values) {
      let statement = statements.get(text);
      if (statement === undefined) {
        statement = database.prepare(text);
        statements.set(text, statement);
      }
      try {
        return statement.all(...values) as Record<string, unknown>[];
      } catch (error) {
        throw new Error(sqliteCodeOf(error));
      }
    },
  };
}
