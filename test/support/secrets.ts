import { appendFileSync } from 'node:fs';

/** Shorter ones would be found by chance. */
export const LEAST_SECRET_CHARACTERS = 12;

/**
 * Remembers a value that no log may ever hold: every token, code, state, poll
 * secret, verifier and client secret that a test sees or makes goes through
 * here. The suite's runner looks for each of them in all output at the end.
 */
export function plantSecret<Value extends string>(value: Value): Value {
  if (value !== '' && value.length < LEAST_SECRET_CHARACTERS) {
    throw new RangeError('too short to be looked for');
  }
  const file = process.env.RELAY_TEST_SECRETS;
  if (file && value !== '') appendFileSync(file, `${value}\n`);
  return value;
}
