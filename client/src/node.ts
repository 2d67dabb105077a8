/// <reference types="node" />
/** Storage in a folder, for Node, Bun and Deno. */
import { randomBytes } from 'node:crypto';
import { type FileHandle, mkdir, open, readFile, rename, rm, stat, utimes } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import type { SessionStorage } from './storage.ts';

/** How often a process asks for a lock that another one has. */
const RETRY_MS = 50;
/** The holder of a lock says so often that it lives, for processes on other machines. */
const TOUCH_MS = 5_000;
/** Longer than any refresh, also of a process that was stopped. */
const STALE_MS = 300_000;
/** A lock that names nobody for so long is of a process that was killed while it wrote that. */
const UNNAMED_MS = 5_000;

const storages = new Map<string, SessionStorage>();

/**
 * One file for each session, which only its owner can read, in a folder that is made when it is
 * needed. A file is whole at any time: it is written beside its place, then renamed. The lock of
 * a process that was killed is taken over.
 */
export function fileStorage(folder: string): SessionStorage {
  const path = resolve(folder);
  const storage = storages.get(path) ?? createStorage(path);
  storages.set(path, storage);
  return storage;
}

function createStorage(folder: string): SessionStorage {
  const pathOf = (key: string) => join(folder, `${key}.json`);
  return {
    getItem: (key) => readIfThere(pathOf(key)),
    async setItem(key, value) {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await replace(pathOf(key), value);
    },
    removeItem: (key) => rm(pathOf(key), { force: true }),
    async lock(key, run) {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const release = await take(join(folder, `${key}.lock`));
      await run().finally(release);
    },
  };
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

async function replace(path: string, text: string): Promise<void> {
  const aside = `${path}.${nonce()}`;
  try {
    const file = await open(aside, 'wx', 0o600);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(aside, path);
  } catch (error) {
    await rm(aside, { force: true });
    throw error;
  }
}

/** The locks of this process, so that those of an earlier one with its id are known to be stale. */
const held = new Set<string>();

/** Waits until no other process has it. Returns what releases it. */
async function take(path: string): Promise<() => Promise<void>> {
  const owner = JSON.stringify({ host: hostname(), pid: process.pid, nonce: nonce() });
  for (;;) {
    const file = await create(path);
    if (file !== undefined) {
      held.add(owner);
      try {
        await file.writeFile(owner).finally(() => file.close());
      } catch (error) {
        held.delete(owner);
        await rm(path, { force: true });
        throw error;
      }
      const touching = setInterval(() => {
        const now = new Date();
        utimes(path, now, now).catch(() => {});
      }, TOUCH_MS);
      return async () => {
        clearInterval(touching);
        held.delete(owner);
        if ((await readIfThere(path)) === owner) await rm(path, { force: true });
      };
    }
    const other = await readIfThere(path);
    if (other !== undefined && (await isStale(path, other))) await breakLock(path, other);
    else await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

async function create(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, 'wx', 0o600);
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return undefined;
    throw error;
  }
}

async function isStale(path: string, owner: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) return false;
  const ageMs = Date.now() - found.mtimeMs;
  if (ageMs > (owner === '' ? UNNAMED_MS : STALE_MS)) return true;
  const { host, pid } = parse(owner);
  if (host !== hostname() || typeof pid !== 'number') return false;
  return pid === process.pid ? !held.has(owner) : !isRunning(pid);
}

/** What was renamed is looked at again: another process may have broken it first, and have its own there. */
async function breakLock(path: string, stale: string): Promise<void> {
  const aside = `${path}.${nonce()}`;
  try {
    await rename(path, aside);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
    return;
  }
  if ((await readIfThere(aside)) === stale) await rm(aside, { force: true });
  else await rename(aside, path);
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // It is another user's.
    return codeOf(error) === 'EPERM';
  }
}

function parse(text: string): { readonly host?: unknown; readonly pid?: unknown } {
  try {
    return Object(JSON.parse(text));
  } catch {
    // Its owner is writing it.
    return {};
  }
}

const nonce = () => randomBytes(6).toString('hex');
const codeOf = (error: unknown) => (error as { readonly code?: string }).code;
