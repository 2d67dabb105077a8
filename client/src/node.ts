/// <reference types="node" />
/** Storage in a folder, for Node, Bun and Deno. */
import { createHash, randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parse } from './ask.ts';
import { attempt } from './errors.ts';
import type { SessionStorage } from './storage.ts';

/** How often a process tries to get a lock that another one holds. */
const RETRY_MS = 50;
/** A lock older than this is stale. Longer than any refresh, even by a process that was suspended. */
const STALE_MS = 300_000;
/** A lock file that names no owner after this long belongs to a process that was killed while writing it. */
const UNNAMED_MS = 5_000;

/** The longest key that is a file name as it is. */
const MAX_NAME = 200;
/** The name of a temporary file: one that is being written, or a lock that is being broken. */
const TEMPORARY = /\.(json|lock)\.[\da-f]{12}$/;

const storages = new Map<string, SessionStorage>();

/**
 * One file for each session, which only its owner can read, in a folder that is created when
 * needed. Writes are atomic: a temporary file is written, then renamed. The lock of a process
 * that was killed is broken.
 */
export function fileStorage(folder: string): SessionStorage {
  const path = resolve(folder);
  const storage = storages.get(path) ?? createStorage(path);
  storages.set(path, storage);
  return storage;
}

function createStorage(folder: string): SessionStorage {
  const pathOf = (key: string) => join(folder, `${nameOf(key)}.json`);
  async function make() {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await sweep(folder);
  }
  return {
    getItem: (key) => readIfThere(pathOf(key)),
    async setItem(key, value) {
      await make();
      await replace(pathOf(key), value);
    },
    async removeItem(key) {
      await rm(pathOf(key), { force: true });
      await sweep(folder);
    },
    async lock(key, run) {
      await make();
      const release = await take(join(folder, `${nameOf(key)}.lock`));
      await run().finally(release);
    },
  };
}

/** File systems allow 255 bytes, and the name of a temporary file is longer than its key. */
const nameOf = (key: string) =>
  key.length > MAX_NAME ? createHash('sha256').update(key).digest('hex') : key;

/** Removes temporary files that killed processes have left, because they may contain tokens. */
async function sweep(folder: string): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    const path = join(folder, name);
    if (TEMPORARY.test(name) && (await ageOf(path)) > STALE_MS) await rm(path, { force: true });
  }
}

/** 0 if it is not there. */
const ageOf = (path: string): Promise<number> =>
  stat(path).then(
    ({ mtimeMs }) => Date.now() - mtimeMs,
    () => 0,
  );

const readIfThere = (path: string) => readFile(path, 'utf8').catch(ignore('ENOENT'));

const replace = (path: string, text: string) => create(`${path}.${nonce()}`, text, path);

/** Writes a new file, for its owner alone, and then renames it. `flush`: it is on the disk before that. */
const create = (path: string, text: string, newPath?: string) =>
  writeFile(path, text, { flag: 'wx', mode: 0o600, flush: true })
    .then(() => (newPath ? rename(path, newPath) : undefined))
    .catch(async (error) => {
      // On a full disk it is there, and empty.
      if (error.code !== 'EEXIST') await rm(path, { force: true });
      throw error;
    });

/** The locks that this process holds or waits for. Any other lock file with its pid is stale. */
const held = new Set<string>();

/** Waits for the lock. Returns a function that releases it. */
async function take(path: string): Promise<() => Promise<void>> {
  const owner = JSON.stringify({ host: hostname(), pid: process.pid, nonce: nonce() });
  const release = async () => {
    held.delete(owner);
    if ((await readIfThere(path)) === owner) await rm(path, { force: true });
  };
  held.add(owner);
  for (;;) {
    const isTaken = await create(path, owner).then(() => true, ignore('EEXIST'));
    if (isTaken) return release;
    const other = await readIfThere(path);
    if (other !== undefined && (await isStale(path, other))) await breakLock(path, other);
    // This timer is unref'd. That of the caller keeps the process running.
    else await pause(RETRY_MS, undefined, { ref: false });
  }
}

async function isStale(path: string, owner: string): Promise<boolean> {
  const { host, pid } = Object(parse(owner));
  if ((await ageOf(path)) > (host ? STALE_MS : UNNAMED_MS)) return true;
  if (host !== hostname()) return false;
  const isRunning = () => attempt(() => process.kill(pid, 0));
  return pid === process.pid ? !held.has(owner) : !isRunning();
}

/** Reads the lock again after renaming it: another process may have broken it first and taken it. */
async function breakLock(path: string, stale: string): Promise<void> {
  const temporary = `${path}.${nonce()}`;
  await rename(path, temporary).catch(ignore('ENOENT'));
  const moved = await readIfThere(temporary);
  if (moved === stale) await rm(temporary, { force: true });
  else if (moved !== undefined) await rename(temporary, path);
}

const nonce = () => randomBytes(6).toString('hex');
/** Returns undefined after this error, and throws any other. */
const ignore = (code: string) => (error: unknown) => {
  if ((error as { readonly code?: string }).code !== code) throw error;
  return undefined;
};
