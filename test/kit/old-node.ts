/** Makes an old Node of a new one. */
import { onTestFinished } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NODE } from './process.ts';

/** A Node that runs this code before its program. */
export function nodeAfter(code: string): readonly string[] {
  const folder = mkdtempSync(join(tmpdir(), 'sign-in-relay-preload-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'preload.cjs');
  writeFileSync(file, code);
  return [NODE, '--require', file];
}

/** A Node that says that it is this version. */
export const asNode = (version: string) =>
  nodeAfter(
    `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } });`,
  );
