/**
 * Listens on a Unix socket. Removes neither a file at its path nor the socket of a running
 * program.
 */
import { randomBytes } from 'node:crypto';
import { linkSync, lstatSync, renameSync, type Stats, statSync, unlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { codeOf } from '../providers/connect-problem.ts';
import type { Listener, ListenOptions, Runtime } from './runtime.ts';

/** The message continues a sentence that begins with the path. */
export class SocketPathProblem extends Error {}

/** The second try finds the socket of a relay that was faster. A third is needed only if that one stops. */
const MAX_TRIES = 3;

/**
 * The socket gets its name by a hard link, which replaces nothing, once the relay listens.
 * So a socket at the path that refuses connections belongs to no program any more, and of
 * two relays that start at once one fails. The runtime removes only the temporary name.
 */
export async function listenAtSocket(
  runtime: Runtime,
  path: string,
  options: ListenOptions,
): Promise<Listener> {
  try {
    checkFolder(dirname(path));
    await findStale(runtime, path);
  } catch (error) {
    explain(error);
  }
  const temporary = nameBeside(path);
  const listener = await runtime.listen({ unix: temporary }, options).catch(explain);
  try {
    await giveName(runtime, temporary, path);
  } catch (error) {
    await listener.stop();
    throw error;
  }
  let own = identityOf(path);

  /** The path may have the socket of another relay by now. */
  function removeOwn(): void {
    if (own !== undefined && identityOf(path) === own) unlinkSync(path);
    own = undefined;
  }

  return {
    url: `unix:${path}`,
    renew(certificate) {
      listener.renew(certificate);
      // Bun has a new socket, at the temporary name.
      if (identityOf(temporary) === undefined || identityOf(path) !== own) return;
      renameSync(temporary, path);
      own = identityOf(path);
    },
    stop() {
      removeOwn();
      return listener.stop();
    },
    cut() {
      removeOwn();
      listener.cut();
    },
  };
}

function checkFolder(folder: string): void {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return;
  throw new SocketPathProblem(`the folder ${folder} does not exist`);
}

/** Short: the settings limit the path, and this may be longer by a few bytes. */
function nameBeside(path: string): string {
  return join(dirname(path), `.${randomBytes(3).toString('hex')}`);
}

async function giveName(runtime: Runtime, temporary: string, path: string): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      linkSync(temporary, path);
      return unlinkSync(temporary);
    } catch (error) {
      if (codeOf(error) !== 'EEXIST' || tries === MAX_TRIES) explain(error);
    }
    const stale = await findStale(runtime, path);
    if (stale !== undefined) removeStale(path, stale);
  }
}

/** The identity of a socket that a program left behind. Throws if anything else is there. */
async function findStale(runtime: Runtime, path: string): Promise<string | undefined> {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return undefined;
  if (!stats.isSocket()) {
    throw new SocketPathProblem(`${kindOf(stats)} is there, and the relay replaces only a socket`);
  }
  const identity = identityOf(path);
  const code = await runtime.tryToConnect(path);
  if (code === 'ECONNREFUSED') return identity;
  if (code === 'ENOENT') return undefined;
  // EAGAIN: its queue of connections is full.
  throw new SocketPathProblem(
    code === undefined || code === 'EAGAIN'
      ? 'another program listens there already'
      : `a socket is there that the relay cannot connect to (${code})`,
  );
}

function kindOf(stats: Stats): string {
  if (stats.isSymbolicLink()) return 'a symbolic link';
  return stats.isDirectory() ? 'a folder' : 'a file';
}

/** If another relay has put its own socket there meanwhile, that one is put back. */
function removeStale(path: string, stale: string): void {
  if (identityOf(path) !== stale) return;
  const aside = nameBeside(path);
  try {
    renameSync(path, aside);
    if (identityOf(aside) !== stale) linkSync(aside, path);
    unlinkSync(aside);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') explain(error);
  }
}

/** Includes the time, because inode numbers are reused. Undefined: nothing is there. */
function identityOf(path: string): string | undefined {
  const stats = lstatSync(path, { throwIfNoEntry: false, bigint: true });
  return stats && `${stats.dev} ${stats.ino} ${stats.mtimeNs}`;
}

function explain(error: unknown): never {
  const code = codeOf(error);
  if (code === '') throw error;
  throw new SocketPathProblem(`no socket can be created there (${code})`);
}
