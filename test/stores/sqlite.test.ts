/** The stores on SQLite: the suite on Bun's SQLite and on a file, and what they keep. */
import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { UnusableFile } from '../../src/stores/sqlite/problems.ts';
import { newFolder } from '../kit/folder.ts';
import { REDELIVERY_MS } from '../kit/limits.ts';
import {
  create,
  createCompleted,
  DELIVERED,
  LIFETIME_MS,
  NOW,
  newSession,
  openDurable,
  openFile,
  StoreUnavailable,
  sqlOf,
} from '../kit/stores.ts';
import { runStoreSuite } from './suite.ts';

runStoreSuite(
  'a Durable Object, on the SQLite of Bun',
  async (options) => openDurable(createSql(), options),
  false,
);

const folder = newFolder();
let files = 0;
const newPath = () => join(folder, `${++files}.db`);

runStoreSuite('a sessions file', async (options) => openFile(newPath(), options), false);

test('only its owner can read a sessions file, also one that a killed relay has left', async () => {
  const path = newPath();
  writeFileSync(path, '', { mode: 0o644 });
  const { store, close } = await openFile(path);
  const { pollSecret } = await createCompleted(store);
  for (const each of [path, `${path}-wal`]) expect(statSync(each).mode & 0o777).toBe(0o600);
  const left = newPath();
  for (const suffix of ['', '-wal']) {
    copyFileSync(path + suffix, left + suffix);
    chmodSync(left + suffix, 0o644);
  }
  close();
  const reopened = await openFile(left);
  for (const suffix of ['', '-wal']) expect(statSync(left + suffix).mode & 0o777).toBe(0o600);
  expect(await reopened.store.poll(pollSecret)).toEqual(DELIVERED);
  reopened.close();
});

test('a stop waits for no device: the next relay delivers what is in the file', async () => {
  const { store, stores, close } = await openFile(newPath());
  await createCompleted(store);
  expect(stores.sessions.hasUndelivered()).toBe(false);
  close();
});

test('what has expired leaves a sessions file, which does not grow', async () => {
  const path = newPath();
  const { time, store, close } = await openFile(path);
  const sizes = [];
  for (let round = 0; round < 4; round += 1) {
    for (let count = 0; count < 500; count += 1) await create(store);
    time.advance(LIFETIME_MS + 1);
    await store.sweep();
    sizes.push(statSync(path).size);
  }
  expect(await store.countLive()).toBe(0);
  // Four rounds without reuse of space would take twice as much as two.
  expect(sizes.at(-1)).toBeLessThan(1.5 * (sizes[1] ?? 0));
  close();
  const kept = new Database(path).query('SELECT * FROM kept').all();
  expect(kept).toEqual([]);
});

const DAMAGED = 'is damaged, or not an SQLite file: move it away';
const NEWER = 'PRAGMA application_id = 0x53524c59; PRAGMA user_version = 2; CREATE TABLE a (a)';

function makeOpenFolder(path: string): string {
  mkdirSync(path);
  chmodSync(path, 0o777);
  return join(path, 'sessions.db');
}

test.each<[string, (path: string) => unknown, string]>([
  ['that is no database', (path) => writeFileSync(path, 'no database '.repeat(500)), DAMAGED],
  ['in which bytes have changed', damage, DAMAGED],
  [
    'of another program',
    (path) => run(path, 'CREATE TABLE a (a)'),
    'a database of another program',
  ],
  ['of a newer version', (path) => run(path, NEWER), 'was written by another version of the relay'],
  ['that is a folder', mkdirSync, 'is not a file'],
  [
    'in a missing folder',
    (path) => join(path, 'a', 'b'),
    'does not exist (ENOENT): create the folder',
  ],
  ['in an open folder', makeOpenFolder, 'is in a folder that every user may write to (mode 0777)'],
])('a start with a sessions file %s is refused in plain words', async (_, prepare, message) => {
  const path = newPath();
  const other = prepare(path);
  const opening = openFile(typeof other === 'string' ? other : path);
  const refused = await opening.catch((error: unknown) => error);
  // No restart mends it: docs/install.md "As a service".
  expect(refused).toBeInstanceOf(UnusableFile);
  expect((refused as Error).message).toContain(message);
  expect((refused as Error).message).toStartWith(path);
});

test('a file of another program stays as it is, and no symbolic link is followed', async () => {
  const path = newPath();
  run(path, 'CREATE TABLE other (a)');
  chmodSync(path, 0o644);
  const before = readFileSync(path);
  await openFile(path).catch(() => {});
  expect(statSync(path).mode & 0o777).toBe(0o644);
  expect(readFileSync(path).equals(before)).toBe(true);

  const link = newPath();
  symlinkSync(path, link);
  const refused = await openFile(link).catch((error: unknown) => error);
  expect(String(refused)).toContain('is a symbolic link');
  expect(statSync(path).mode & 0o777).toBe(0o644);
});

test('a file that could not be read is not locked afterwards', async () => {
  const path = newPath();
  run(path, 'PRAGMA application_id = 0x53524c59; PRAGMA user_version = 1; CREATE TABLE kept (a)');
  await expect(openFile(path)).rejects.toThrow(StoreUnavailable);
  run(path, 'DROP TABLE kept');
  (await openFile(path)).close();
});

function run(path: string, statements: string): void {
  const database = new Database(path);
  database.run(statements);
  database.close();
}

/** Pages that were overwritten, as by a broken disk. */
function damage(path: string): undefined {
  run(
    path,
    'PRAGMA application_id = 0x53524c59; PRAGMA user_version = 1; CREATE TABLE kept (a); CREATE INDEX i ON kept (a)',
  );
  run(path, `INSERT INTO kept VALUES ${Array.from({ length: 2_000 }, (_, row) => `('${row}')`)}`);
  const bytes = readFileSync(path);
  writeFileSync(path, bytes.fill(0xff, 4_096 * 2, 4_096 * 4));
}

/** May refuse, and counts. */
function createSql() {
  const database = new Database(':memory:');
  let failure: Error | undefined;
  const statements: string[] = [];
  const sql = sqlOf(database);
  return {
    exec(statement: string, ...values: (string | number)[]) {
      if (failure !== undefined) throw failure;
      statements.push(statement);
      return sql.exec(statement, ...values);
    },
    /** How many changed a row so far. */
    changes: () => statements.filter((each) => /^(INSERT|DELETE)/.test(each)).length,
    failWith(error: Error | undefined) {
      failure = error;
    },
    dump: () => JSON.stringify(database.query('SELECT * FROM kept').all()),
  };
}

test('a sign-in changes five rows: start, link, lease, result, delivery', async () => {
  const sql = createSql();
  const { store } = openDurable(sql);
  const session = await create(store);
  await store.open(session);
  await store.open(session);
  await store.lease(session);
  await store.complete(session);
  await store.poll(session.pollSecret);
  expect(sql.changes()).toBe(5);
});

test('however many have expired, a sweep is one statement, so nothing waits for long', async () => {
  const sql = createSql();
  const { store, time } = openDurable(sql);
  for (let count = 0; count < 3; count += 1) await create(store);
  time.advance(LIFETIME_MS + 1);
  const changes = sql.changes();
  expect(await store.countLive()).toBe(0);
  expect(await store.sweep()).toHaveLength(3);
  expect([sql.changes(), sql.dump()]).toEqual([changes + 1, '[]']);
});

test('while SQLite refuses, only tokens of an exchange are kept; all work afterwards', async () => {
  const sql = createSql();
  const problems: unknown[] = [];
  const { store, stores } = openDurable(sql, { onProblem: (...problem) => problems.push(problem) });
  const session = await create(store);
  const completed = await createCompleted(store);
  const exchanging = await create(store);
  await store.lease(exchanging);
  sql.failWith(new Error('database or disk is full: SQLITE_FULL'));
  const attempts = [
    () => store.create(newSession()),
    () => store.open(session),
    () => store.fail(session),
    () => store.lease(session),
    () => store.poll(completed.pollSecret),
    () => store.cancel(session.pollSecret),
  ];
  for (const attempt of attempts) {
    await expect(attempt()).rejects.toBeInstanceOf(StoreUnavailable);
  }
  // Only this process has the tokens.
  expect(await store.complete(exchanging)).toBe(true);
  await expect(store.poll(exchanging.pollSecret)).rejects.toBeInstanceOf(StoreUnavailable);
  expect(stores.findProblem()).toBe('SQLITE_FULL');
  sql.failWith(undefined);
  expect(await store.countLive()).toBe(3);
  expect(await store.poll(exchanging.pollSecret)).toEqual(DELIVERED);
  expect(await store.lease(session)).toBeDefined();
  expect(await store.poll(completed.pollSecret)).toEqual(DELIVERED);
  expect(problems).toEqual([
    ['SQLITE_FULL', false],
    ['SQLITE_FULL', true],
  ]);
  expect(stores.findProblem()).toBeUndefined();
});

test('a delivered result that SQLite refuses to remove is removed by the next sweep', async () => {
  const sql = createSql();
  const { store, time } = openDurable(sql);
  const session = await createCompleted(store, { redeliveryMs: REDELIVERY_MS });
  await store.poll(session.pollSecret);
  time.advance(REDELIVERY_MS + 1);
  sql.failWith(new Error('database or disk is full: SQLITE_FULL'));
  await expect(store.sweep()).rejects.toBeInstanceOf(StoreUnavailable);
  sql.failWith(undefined);
  await store.sweep();
  expect([await store.countLive(), sql.dump()]).toEqual([0, '[]']);
});

test('the next sweep is due when the first row is not needed any more', async () => {
  const { store, stores, refreshes, time } = openDurable(createSql());
  expect(stores.findNextSweep()).toBeUndefined();
  await create(store);
  expect(stores.findNextSweep()).toBe(NOW + LIFETIME_MS);
  await refreshes.begin('token');
  await refreshes.finish('token', '{}');
  expect(stores.findNextSweep()).toBe(NOW + 30_000);
  time.advance(30_001);
  await store.sweep();
  expect(stores.findNextSweep()).toBe(NOW + LIFETIME_MS);
});
