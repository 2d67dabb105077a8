/**
 * The stores of one relay in one file, so that sign-ins survive a restart (SESSIONS_FILE).
 * The relay holds the lock of the file as long as it runs. The lock is the operating system's,
 * so a relay that was killed leaves none. docs/install.md "A sessions file".
 */
import { chmodSync, closeSync, constants, lstatSync, openSync } from 'node:fs';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { type StoreProblem, StoreUnavailable } from '../../sign-ins/store.ts';
import { pause } from '../../sign-ins/time.ts';
import { openSqliteStores, type SqliteStoresOptions } from './open.ts';
import type { Sql } from './rows.ts';

/** How long a start waits for a relay that is about to end: a restart may overlap. */
export const LOCK_WAIT_MS = 10_000;
const LOCK_RETRY_MS = 100;

/** How often a file that refused a change is tried again. */
const PROBE_MS = 1_000;

/** `SRLY`: says that the file is ours. https://www.sqlite.org/pragma.html#pragma_application_id */
const APPLICATION_ID = 0x53_52_4c_59;

/** The version of the table. The records have versions of their own (record.ts). */
const FORMAT = 1;

export interface SessionsFileOptions extends Omit<SqliteStoresOptions, 'sql' | 'onWrite'> {
  readonly path: string;
  /** Called when the file refuses changes, and when it accepts them again. */
  readonly onProblem: (problem: string | undefined) => void;
}

/**
 * Rejects with StoreUnavailable, whose message says why the file cannot be used and what helps,
 * and completes a sentence that begins with SESSIONS_FILE.
 */
export async function openSessionsFile({ path, onProblem, ...options }: SessionsFileOptions) {
  const { clock } = options;
  const database = await openDatabase(path, options);
  let stopProbing = () => {};

  /** Requests may not come again: a load balancer sends none to a relay that is not ready. */
  function probeLater(): void {
    stopProbing = clock.setTimer(PROBE_MS, () => {
      if (stores.probe()) return;
      probeLater();
    });
  }

  const stores = openSqliteStores({
    ...options,
    sql: createSql(database),
    onWrite() {},
    onProblem(problem) {
      onProblem(problem);
      stopProbing();
      if (problem !== undefined) probeLater();
    },
  });
  return {
    vault: stores.vault,
    refreshes: stores.refreshes,
    createRateLimiter: stores.createRateLimiter,
    // The next relay delivers what is in the file.
    sessions: { ...stores.sessions, hasUndelivered: () => false },
    findProblem(): StoreProblem | undefined {
      const problem = stores.findProblem();
      if (problem === undefined) return undefined;
      const text = `store: SESSIONS_FILE ${describe(problem)}`;
      return { text, stopsEverything: true };
    },
    close() {
      stopProbing();
      database.close();
    },
  };
}

/** Locked, checked, and with the settings of this file. */
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
      check(database);
      prepare(database);
      makePrivate(path);
      return database;
    } catch (error) {
      database.close();
      const code = sqliteCodeOf(error);
      if (error instanceof StoreUnavailable) throw error;
      if (code !== 'SQLITE_BUSY') throw new StoreUnavailable(describe(code));
      if (clock.now() >= untilMs) {
        throw new StoreUnavailable('is used by another relay: each needs a file of its own');
      }
    }
    await pause(clock, LOCK_RETRY_MS);
  }
}

/** Follows no symbolic link, and changes nothing of a file that exists: it may be another program's. */
function createFile(path: string): void {
  try {
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found?.isSymbolicLink()) {
      throw new StoreUnavailable('is a symbolic link: name the file itself');
    }
    if (found !== undefined && !found.isFile()) throw new StoreUnavailable('is not a file');
    const { O_APPEND, O_CREAT, O_NOFOLLOW = 0, O_RDWR } = constants;
    closeSync(openSync(path, O_APPEND | O_CREAT | O_NOFOLLOW | O_RDWR, 0o600));
  } catch (error) {
    if (error instanceof StoreUnavailable) throw error;
    throw new StoreUnavailable(describe(String((error as NodeJS.ErrnoException).code)));
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

/** After a power cut the last changes may be missing, since only a checkpoint is written through (`synchronous=NORMAL`). */
function prepare(database: DatabaseSync): void {
  database.exec('PRAGMA journal_mode = WAL');
  database.exec('PRAGMA synchronous = NORMAL');
}

function check(database: DatabaseSync): void {
  const read = (name: string) => Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0];
  if (read('quick_check') !== 'ok') throw new StoreUnavailable(describe('SQLITE_CORRUPT'));
  if (read('schema_version') === 0) {
    database.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${FORMAT}`);
  }
  if (read('application_id') !== APPLICATION_ID) {
    throw new StoreUnavailable('is a database of another program: name another file');
  }
  if (read('user_version') !== FORMAT) {
    throw new StoreUnavailable(
      'was written by another version of the relay: start that one, or move the file away, which ends open sign-ins',
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

/** The primary result codes that a file can cause. https://www.sqlite.org/rescode.html */
const CODES: Readonly<Record<number, string>> = {
  5: 'SQLITE_BUSY',
  8: 'SQLITE_READONLY',
  10: 'SQLITE_IOERR',
  11: 'SQLITE_CORRUPT',
  13: 'SQLITE_FULL',
  14: 'SQLITE_CANTOPEN',
  26: 'SQLITE_NOTADB',
};

function sqliteCodeOf(error: unknown): string {
  const { errcode = 0 } = error as { readonly errcode?: number };
  return CODES[errcode & 0xff] ?? `SQLITE_${errcode}`;
}

const DAMAGED = 'is damaged, or no SQLite file: move it away, which ends open sign-ins';
const NOT_WRITABLE = 'may not be written by this user: give it the folder, with mode 0700';
const FULL = 'cannot be written: the disk is full';
const READ_ONLY = 'cannot be written: its file system is read-only';

const PROBLEMS: Readonly<Record<string, string>> = {
  ENOENT: 'is in a folder that does not exist: create it, for the user of the relay',
  ENOTDIR: 'is in a folder that does not exist: create it, for the user of the relay',
  EACCES: NOT_WRITABLE,
  EPERM: NOT_WRITABLE,
  SQLITE_CANTOPEN: NOT_WRITABLE,
  EROFS: READ_ONLY,
  SQLITE_READONLY: READ_ONLY,
  ENOSPC: FULL,
  EDQUOT: FULL,
  SQLITE_FULL: FULL,
  SQLITE_CORRUPT: DAMAGED,
  SQLITE_NOTADB: DAMAGED,
};

function describe(code: string): string {
  return `${PROBLEMS[code] ?? 'cannot be used'} (${code})`;
}

/** What the operator should do about a refusal, for the log. */
export const remedyFor = (code: string): string => `SESSIONS_FILE ${describe(code)}`;
