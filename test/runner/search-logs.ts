/**
 * Looks for every secret that the suite planted in every log that its relays
 * wrote: as it is, and in the forms that a careless line would give it.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { LEAST_SECRET_CHARACTERS } from '../support/secrets.ts';
import type { StepResult } from './step.ts';

export function searchLogs(logFolder: string, secretsFile: string): StepResult {
  const planted = readFileSync(secretsFile, 'utf8').split('\n');
  const secrets = [...new Set(planted)].filter(({ length }) => length >= LEAST_SECRET_CHARACTERS);
  const logs = readdirSync(logFolder);
  const find = createFinder(secrets);
  const found = logs.flatMap((name) => {
    const text = readFileSync(join(logFolder, name), 'utf8');
    return [...find(text)].map((secret) => `${name} holds ${secret.slice(0, 6)}…`);
  });
  // A search that looks at nothing finds nothing.
  if (logs.length === 0 || secrets.length < 100) found.push('too little was planted or logged');
  if (!find(`x${btoa(secrets[0] ?? '')}`).has(secrets[0] ?? '')) {
    found.push('a planted secret was not found');
  }
  return {
    name: `no secret in a log (${secrets.length} secrets, ${logs.length} logs)`,
    passed: found.length === 0 ? 1 : 0,
    failed: found.length === 0 ? 0 : 1,
    skipped: 0,
    output: found.join('\n'),
  };
}

/** Goes through a text once, however many secrets there are: by the beginnings of their forms. */
function createFinder(secrets: string[]): (text: string) => Set<string> {
  const byBeginning = new Map<string, { form: string; secret: string }[]>();
  for (const secret of secrets) {
    for (const form of new Set(formsOf(secret))) {
      const beginning = form.slice(0, LEAST_SECRET_CHARACTERS);
      const forms = byBeginning.get(beginning) ?? [];
      forms.push({ form, secret });
      byBeginning.set(beginning, forms);
    }
  }
  return (text) => {
    const found = new Set<string>();
    for (let at = 0; at < text.length; at += 1) {
      for (const { form, secret } of byBeginning.get(
        text.slice(at, at + LEAST_SECRET_CHARACTERS),
      ) ?? []) {
        if (text.startsWith(form, at)) found.add(secret);
      }
    }
    return found;
  };
}

function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret);
  return [
    secret,
    encodeURIComponent(secret),
    bytes.toString('base64').replace(/=+$/, ''),
    bytes.toString('base64url'),
    bytes.toString('hex'),
  ];
}
