/** Reads what an operator wrote into a file: settings, a secret, a certificate. */
import { readFileSync } from 'node:fs';

/** Without the byte order mark that some editors write before the text. Throws as `readFileSync` does. */
export function readTextFile(path: string, encoding: 'utf8' | 'latin1'): string {
  return readFileSync(path, encoding).replace(/^\uFEFF/, '');
}
