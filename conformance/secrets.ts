/** Every secret that the suite saw or made: shortened in the report, and in `--secrets-file` for a search of the relay's logs. */

import { appendFileSync, writeFileSync } from 'node:fs';

const SHOWN_CHARACTERS = 4;
/** Anything shorter would also be found where it is no secret. */
const MIN_SECRET_CHARACTERS = 8;

export type Secrets = ReturnType<typeof createSecrets>;

/** The file gets each secret once, on a line of its own. */
export function createSecrets(file: string | undefined) {
  // Fails now rather than after the run. Only the owner may read it.
  if (file !== undefined) writeFileSync(file, '', { flag: 'a', mode: 0o600 });
  const secrets = new Set<string>();
  return {
    note(...noted: readonly string[]): void {
      for (const secret of noted) {
        if (secret.length < MIN_SECRET_CHARACTERS || secrets.has(secret)) continue;
        secrets.add(secret);
        if (file !== undefined) appendFileSync(file, `${secret}\n`);
      }
    },
    shorten(text: string): string {
      let shortened = text;
      for (const secret of secrets) {
        shortened = shortened.replaceAll(secret, `${secret.slice(0, SHOWN_CHARACTERS)}…`);
      }
      return shortened;
    },
  };
}
