import { createFault } from './faults.ts';
import type { Environment, Reading } from './read-each.ts';

/**
 * The environment with `<setting>` taken from the file named by
 * `<setting>_FILE`, where there is one, without the line break at its end.
 * The file's content appears in no fault.
 */
export function readSecretFile(reading: Reading, setting: string): Environment {
  const { env, faults, readFile } = reading;
  const path = env[`${setting}_FILE`];
  if (path === undefined) return env;
  const reject = (problem: string): Environment => {
    faults.push(createFault(`${setting}_FILE`, path, problem));
    return env;
  };
  if (env[setting] !== undefined) return reject(`must not be set together with ${setting}`);
  try {
    const secret = readFile(path).replace(/\r?\n$/, '');
    return secret ? { ...env, [setting]: secret } : reject('must name a file that is not empty');
  } catch (error) {
    return reject(`must name a file that can be read (${codeOf(error)})`);
  }
}

/** The code alone, such as ENOENT: a message may hold more. */
function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unreadable';
}
