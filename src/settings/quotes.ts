import { createFault } from './faults.ts';
import type { Reading } from './read-each.ts';

/**
 * The reading without quotes around the named settings. Those that have them
 * are at fault, since a shell would have removed them: `docker --env-file` and
 * its like keep them as part of the value. What is inside is checked as usual.
 */
export function withoutQuotes(reading: Reading, settings: readonly string[]): Reading {
  const env = { ...reading.env };
  for (const setting of settings) {
    const value = env[setting];
    const inside = /^\s*(["'])(.*)\1\s*$/s.exec(value ?? '')?.[2];
    if (inside === undefined) continue;
    reading.faults.push(createFault(setting, value, PROBLEM));
    env[setting] = inside.trim() === '' ? undefined : inside;
  }
  return { ...reading, env };
}

const PROBLEM = 'must not be in quotes: here they are part of the value';
