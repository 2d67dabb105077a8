/** What can be wrong with a sessions file, in words for the operator. Each text begins with a path. */
import { accessSync, constants, lstatSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { platform } from 'node:process';
import { StoreUnavailable } from '../../sign-ins/store.ts';

/** A restart would fail in the same way: somebody has to change the file, its folder or the setting. */
export class UnusableFile extends StoreUnavailable {}

/** A restart may succeed, for example after space was freed or the other relay was stopped. */
const TRANSIENT: Readonly<Record<string, string>> = {
  ENOSPC: 'cannot be written: the disk is full',
  EDQUOT: 'cannot be written: the disk is full',
  SQLITE_FULL: 'cannot be written: the disk is full',
  SQLITE_BUSY: 'is used by another relay: each needs a file of its own',
};

const NOT_WRITABLE = 'may not be written by this user';
const READ_ONLY = 'cannot be written: its file system is read-only';
const DAMAGED = 'is damaged, or not an SQLite file: move it away, which ends sign-ins in progress';

const FINAL: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  ENOTDIR: 'does not exist',
  EACCES: NOT_WRITABLE,
  EPERM: NOT_WRITABLE,
  SQLITE_CANTOPEN: NOT_WRITABLE,
  EROFS: READ_ONLY,
  SQLITE_READONLY: READ_ONLY,
  SQLITE_CORRUPT: DAMAGED,
  SQLITE_NOTADB: DAMAGED,
};

export const describeCode = (code: string): string =>
  `${TRANSIENT[code] ?? FINAL[code] ?? 'cannot be used'} (${code})`;

export const describeProblem = (path: string, code: string): string =>
  `${path} ${describeCode(code)}`;

export function failureFor(path: string, code: string): StoreUnavailable {
  const text = describeProblem(path, code);
  return code in FINAL ? new UnusableFile(text) : new StoreUnavailable(text);
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

export function sqliteCodeOf(error: unknown): string {
  const { errcode = 0 } = error as { readonly errcode?: number };
  return CODES[errcode & 0xff] ?? `SQLITE_${errcode}`;
}

/** Such as a file that root created in the folder of the relay. */
function findFileProblem(path: string): string | undefined {
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
    return undefined;
  } catch (error) {
    return describeProblem(path, String((error as NodeJS.ErrnoException).code));
  }
}

const OTHERS_MAY_WRITE = 0o002;

/** Undefined if the file can be used or created. Changes nothing, because it may be another program's. */
export function findPathProblem(path: string): string | undefined {
  const folder = dirname(path);
  try {
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found?.isSymbolicLink()) return `${path} is a symbolic link: name the file itself`;
    if (found !== undefined && !found.isFile()) return `${path} is not a file`;
    const { mode } = statSync(folder);
    if (platform !== 'win32' && (mode & OTHERS_MAY_WRITE) !== 0) {
      const octal = (mode & 0o7777).toString(8).padStart(4, '0');
      return `${path} is in a folder that every user may write to (mode ${octal}): give it mode 0700`;
    }
    accessSync(folder, constants.W_OK);
    return found && findFileProblem(path);
  } catch (error) {
    const code = String((error as NodeJS.ErrnoException).code);
    if (code === 'EACCES') {
      return `${folder} exists but is not writable (${code}): give it to the user of the relay, with mode 0700`;
    }
    const problem = describeProblem(folder, code);
    return code === 'EROFS'
      ? problem
      : `${problem}: create the folder for the user of the relay, with mode 0700`;
  }
}
