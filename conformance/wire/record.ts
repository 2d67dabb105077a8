/**
 * Every answer of the target, a line of JSON each: `--answers-file`. Whoever
 * has a description of the target can hold the answers to it afterwards. They
 * are the target's secrets too.
 */

import { appendFileSync, writeFileSync } from 'node:fs';
import type { Answer, Call } from './http.ts';

export type Record = (call: Call, answer: Answer) => void;

export function createRecord(file: string | undefined): Record {
  if (file === undefined) return () => {};
  // Fails now rather than after the run, and is readable by its owner only.
  writeFileSync(file, '', { flag: 'a', mode: 0o600 });
  // Thousands of them are the same page.
  const recorded = new Set<string>();
  return ({ method = 'GET', path }, { status, headers: { date: _, ...fields }, body }) => {
    const [pathname = ''] = path.split('?');
    // Node gives several cookies as a list.
    const headers = Object.fromEntries(
      Object.entries(fields).map(([name, value]) => [name, String(value)]),
    );
    const line = JSON.stringify({ method, path: pathname, status, headers, body });
    if (recorded.has(line)) return;
    recorded.add(line);
    appendFileSync(file, `${line}\n`);
  };
}
