import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A folder that is removed when we end, however that comes. */
export function makeTemporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'sign-in-relay-bench-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
