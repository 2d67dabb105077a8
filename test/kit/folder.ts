/** Folders for what a test writes. All are removed at the end: by setup.ts, or with a program that is no test. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const made: string[] = [];

export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'sign-in-relay-test-'));
  made.push(folder);
  return folder;
}

export function removeFolders(): void {
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true, force: true });
}

process.once('exit', removeFolders);
