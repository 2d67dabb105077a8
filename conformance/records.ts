/** What a run writes beside its report: `--secrets-file` and `--answers-file`. */

import { appendFileSync, writeFileSync } from 'node:fs';
import type { Answer, Call } from './http.ts';

/** Appends lines, each once. Without a file it only remembers them. */
function createLineFile(file: string | undefined) {
  // Fails now rather than after the run. Only the owner may read it.
  if (file !== undefined) writeFileSync(file, '', { flag: 'a', mode: 0o600 });
  const lines = new Set<string>();
  return {
    lines,
    add(line: string): void {
      if (lines.has(line)) return;
      lines.add(line);
      if (file !== undefined) appendFileSync(file, `${line}\n`);
    },
  };
}

const SHOWN_CHARACTERS = 4;
/** Anything shorter would also be found where it is no secret. */
const MIN_SECRET_CHARACTERS = 8;

export type Secrets = ReturnType<typeof createSecrets>;

/** Every secret that the suite saw or made: shortened in the report, and listed for a search of the relay's logs. */
export function createSecrets(file: string | undefined) {
  const { lines, add } = createLineFile(file);
  return {
    note(...secrets: readonly string[]): void {
      for (const secret of secrets) if (secret.length >= MIN_SECRET_CHARACTERS) add(secret);
    },
    shorten(text: string): string {
      let shortened = text;
      for (const secret of lines) {
        shortened = shortened.replaceAll(secret, `${secret.slice(0, SHOWN_CHARACTERS)}…`);
      }
      return shortened;
    },
  };
}

export type RecordAnswer = (call: Call, answer: Answer) => void;

/** Every answer of the relay as a line of JSON, to be checked against a description of the relay. */
export function createRecordAnswer(file: string | undefined): RecordAnswer {
  if (file === undefined) return () => {};
  const { add } = createLineFile(file);
  return ({ method = 'GET', path }, { status, headers: { date: _, ...fields }, body }) => {
    const [pathname = ''] = path.split('?');
    // Node gives several cookies as a list.
    const headers = Object.fromEntries(
      Object.entries(fields).map(([name, value]) => [name, String(value)]),
    );
    add(JSON.stringify({ method, path: pathname, status, headers, body }));
  };
}
