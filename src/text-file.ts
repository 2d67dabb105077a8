/** Reads what an operator wrote into a file: settings, a secret, a picture. */
import { Buffer } from 'node:buffer';
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';

/** More than a file of settings needs that contains a picture. */
const MAX_BYTES = 1_048_576;

/** `code` is for the operator, instead of that of a system call. */
class TextFileError extends Error {
  constructor(readonly code: 'not a regular file' | 'larger than 1 MiB') {
    super(code);
  }
}

/**
 * Removes the byte order mark that some editors write. Accepts only a regular
 * file, or a link to one: a pipe would stop the process until somebody writes, a device may have
 * no end. Throws as `readFileSync` does, with a `code`.
 */
export function readTextFile(path: string, encoding: 'utf8' | 'latin1'): string {
  // A pipe is opened without waiting for its writer.
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    if (!fstatSync(file).isFile()) throw new TextFileError('not a regular file');
    return readWhole(file)
      .toString(encoding)
      .replace(/^\uFEFF/, '');
  } finally {
    closeSync(file);
  }
}

/** The size of a file below /proc is 0, and any other file may grow. */
function readWhole(file: number): Buffer {
  const bytes = Buffer.allocUnsafe(MAX_BYTES + 1);
  let length = 0;
  for (;;) {
    const read = readSync(file, bytes, length, bytes.length - length, null);
    if (read === 0) return bytes.subarray(0, length);
    length += read;
    if (length > MAX_BYTES) throw new TextFileError('larger than 1 MiB');
  }
}
