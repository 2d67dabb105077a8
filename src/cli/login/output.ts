/** Where the tokens go: stdout, or a file that only its owner can read. */
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  fsyncSync,
  lstatSync,
  openSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import type { Tokens } from '../../../client/src/index.ts';
import { jsonText } from '../terminal.ts';

/** The tokens cannot be written. Its message is for the user. */
export class OutputError extends Error {}

export interface Output {
  /** Rejects with an OutputError. */
  write(tokens: Tokens): Promise<void>;
  /** Removes what was prepared, unless it was written. */
  close(): void;
}

const toText = (tokens: Tokens) => `${jsonText(tokens)}\n`;

export const stdoutOutput: Output = {
  write: (tokens) =>
    new Promise((resolve, reject) => {
      process.stdout.write(toText(tokens), (error) => {
        if (error) reject(new OutputError(`stdout: ${codeOf(error)}`));
        else resolve();
      });
    }),
  close: () => {},
};

/**
 * Opened before the sign-in, so that no user signs in for a file that cannot be written. A
 * regular file is replaced atomically once there are tokens: it is never half written, and
 * only its owner can read it. Anything else, such as a pipe, is written to directly.
 */
export function openFileOutput(path: string): Output {
  const isReplaced = isMissingOrRegular(path);
  const target = isReplaced ? attempt(path, () => targetOf(path)) : path;
  const name = `.${basename(target)}.${randomBytes(6).toString('hex')}`;
  const written = isReplaced ? join(dirname(target), name) : path;
  let file: number | undefined = attempt(path, () =>
    openSync(written, isReplaced ? 'wx' : 'w', 0o600),
  );

  function close(): void {
    if (file !== undefined) closeSync(file);
    file = undefined;
  }
  return {
    async write(tokens) {
      attempt(path, () => {
        if (file === undefined) return;
        // Unlike writeSync, it writes all or throws.
        writeFileSync(file, toText(tokens));
        if (isReplaced) fsyncSync(file);
        close();
        if (isReplaced) renameSync(written, target);
      });
    },
    close() {
      close();
      if (isReplaced) rmSync(written, { force: true });
    },
  };
}

/** What a link names is replaced, and the link stays: its owner chose where the tokens are. */
function targetOf(path: string): string {
  const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink();
  return isLink ? targetOf(resolve(dirname(path), readlinkSync(path))) : path;
}

function isMissingOrRegular(path: string): boolean {
  const found = attempt(path, () => statSync(path, { throwIfNoEntry: false }));
  if (found?.isDirectory()) throw new OutputError(`${path} is a directory`);
  return found === undefined || found.isFile();
}

function attempt<Value>(path: string, run: () => Value): Value {
  try {
    return run();
  } catch (error) {
    throw new OutputError(`${path} cannot be written: ${codeOf(error)}`);
  }
}

const codeOf = (error: unknown) =>
  error instanceof Error && 'code' in error ? String(error.code) : String(error);
