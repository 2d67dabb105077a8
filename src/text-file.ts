/** Reads what an operator wrote into a file: settings, a secret, a picture. */
import { readFileSync, statSync } from 'node:fs';

/** Enough for a settings file that contains a logo. */
const MAX_BYTES = 1_048_576;

/** Like an error of a system call, but `code` is text for the operator. */
const failure = (code: string) => Object.assign(new Error(code), { code });

/**
 * Removes the byte order mark that some editors write. Accepts only a regular file, or a link
 * to one: reading a pipe would block until somebody writes, and a device may be endless. Throws
 * as `readFileSync` does, with a `code`.
 */
export function readTextFile(path: string, encoding: 'utf8' | 'latin1'): string {
  const file = statSync(path);
  if (!file.isFile()) throw failure('not a regular file');
  if (file.size > MAX_BYTES) throw failure('larger than 1 MiB');
  const text = readFileSync(path, encoding).replace(/^\uFEFF/, '');
  // Users would see U+FFFD in a name, and a provider would refuse it in a secret.
  if (text.includes('\uFFFD')) throw failure('not in UTF-8');
  return text;
}
