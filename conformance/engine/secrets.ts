/** Every secret the suite saw or made: kept out of the report, and listed for a search of the target's logs. */

import { appendFileSync, writeFileSync } from 'node:fs';

export interface Secrets {
  /** Empty values are no secrets and are ignored. */
  note(...secrets: readonly string[]): void;
  /** The text with every known secret cut down to its first characters. */
  shorten(text: string): string;
}

const KEPT_CHARACTERS = 4;
/** Anything shorter would also be found where it is no secret. */
const LEAST_CHARACTERS = 8;

export function createSecrets(file: string | undefined): Secrets {
  const known = new Set<string>();
  // Fails now rather than after the run, and is readable by its owner only.
  if (file !== undefined) writeFileSync(file, '', { flag: 'a', mode: 0o600 });
  return {
    note(...secrets) {
      for (const secret of secrets) {
        if (secret.length < LEAST_CHARACTERS || known.has(secret)) continue;
        known.add(secret);
        if (file !== undefined) appendFileSync(file, `${secret}\n`);
      }
    },
    shorten(text) {
      let shortened = text;
      for (const secret of known) {
        if (!shortened.includes(secret)) continue;
        shortened = shortened.replaceAll(secret, `${secret.slice(0, KEPT_CHARACTERS)}…`);
      }
      return shortened;
    },
  };
}
