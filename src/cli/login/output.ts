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
 * A new file is opened before the sign-in, so that no user signs in for a file that cannot be
 * written. It replaces what is at the path once there are tokens: that is never half written,
 * and only its owner can read it. What is at the path is never opened, since it may be the pipe
 * of another user.
 */
export function openFileOutput(path: string): Output {
  requireMissingOrRegular(path);
  const target = attempt(path, () => targetOf(path));
  const name = `.${basename(target)}.${randomBytes(6).toString('hex')}`;
  const written = join(dirname(target), name);
  let file: number | undefined = attempt(path, () => openSync(written, 'wx', 0o600));

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
        fsyncSync(file);
        close();
        renameSync(written, target);
      });
    },
    close() {
      close();
      rmSync(written, { force: true });
    },
  };
}

/** What a link names is replaced, and the link stays: its owner chose where the tokens are. */
function targetOf(path: string): string {
  const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink();
  return isLink ? targetOf(resolve(dirname(path), readlinkSync(path))) : path;
}

/** Also of what a link names. */
function requireMissingOrRegular(path: string): void {
  const found = attempt(path, () => statSync(path, { throwIfNoEntry: false }));
  if (found?.isDirectory()) throw new OutputError(`${path} is a directory`);
  if (found?.isFile() === false) {
    throw new OutputError(`${path} is no regular file. Without --output the tokens go to stdout`);
  }
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
