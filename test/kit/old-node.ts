/** Makes an old Node of a new one. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newFolder } from './folder.ts';
import { NODE } from './process.ts';

/** A Node that runs this code before its program. */
export function nodeAfter(code: string): readonly string[] {
  const folder = newFolder();
  const file = join(folder, 'preload.cjs');
  writeFileSync(file, code);
  return [NODE, '--require', file];
}

/** A Node that says that it is this version. */
export const asNode = (version: string) =>
  nodeAfter(
    `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } });`,
  );
