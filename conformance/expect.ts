/**
 * What cases expect of any value; answers.ts is for answers. A `Mismatch` fails the case and a
 * `Skip` skips it. Any other error is a fault of the suite.
 */

import { isDeepStrictEqual } from 'node:util';

/** The relay broke a rule. */
export class Mismatch extends Error {
  constructor(
    readonly subject: string,
    readonly expected: string,
    readonly got: string,
  ) {
    super(`${subject}: expected ${expected}, got ${got}`);
  }
}

/** The case cannot be run against this relay as it was started. The message says why. */
export class Skip extends Error {}

export function equal(subject: string, got: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(got, expected)) throw new Mismatch(subject, show(expected), show(got));
}

export function matches(subject: string, got: string | undefined, pattern: RegExp): void {
  if (got === undefined || !pattern.test(got)) {
    throw new Mismatch(subject, `text like ${pattern}`, show(got));
  }
}

/** `expected` is in words, since the condition is not a plain comparison. */
export function holds(subject: string, condition: boolean, expected: string, got: unknown): void {
  if (!condition) throw new Mismatch(subject, expected, show(got));
}

export function present<T>(subject: string, value: T | undefined): T {
  if (value === undefined) throw new Mismatch(subject, 'a value', 'none');
  return value;
}

export function between(subject: string, got: number, least: number, most: number): void {
  const round = (value: number) => Math.round(value * 100) / 100;
  if (got < least || got > most) {
    throw new Mismatch(subject, `${round(least)} to ${round(most)}`, String(round(got)));
  }
}

const SHOWN_CHARACTERS = 400;

function show(value: unknown): string {
  const text = value === undefined ? 'nothing' : (JSON.stringify(value) ?? String(value));
  return text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text;
}
