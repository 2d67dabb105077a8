/**
 * What a relay keeps, its garbage collected first. Resident memory alone says
 * little: garbage stays until the runtime sees fit, on a busy machine for long.
 * Half of this file is loaded into the relay before it starts.
 */
import { heapStats } from 'bun:jsc';
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RelayProcess } from './relay-process.ts';

const SIGNAL = 'SIGUSR2';
const { COLLECTED_HEAP } = process.env;

if (COLLECTED_HEAP !== undefined) {
  process.on(SIGNAL, () => {
    Bun.gc(true);
    const counts = Object.values(heapStats().objectTypeCounts);
    const objects = counts.reduce((sum, count) => sum + count, 0);
    // Whoever looks for the file finds all of it.
    writeFileSync(`${COLLECTED_HEAP}.part`, String(objects));
    renameSync(`${COLLECTED_HEAP}.part`, COLLECTED_HEAP);
  });
}

export interface CollectedHeap extends Disposable {
  /** For the relay's environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Collects, and counts the objects that are left. */
  countObjects(relay: RelayProcess): Promise<number>;
}

export function createCollectedHeap(): CollectedHeap {
  const folder = mkdtempSync(join(tmpdir(), 'sign-in-relay-heap-'));
  const path = join(folder, 'objects');
  return {
    env: { BUN_OPTIONS: `--preload ${import.meta.path}`, COLLECTED_HEAP: path },
    async countObjects({ pid }) {
      process.kill(pid, SIGNAL);
      while (!existsSync(path)) await Bun.sleep(10);
      const objects = Number(readFileSync(path, 'utf8'));
      rmSync(path);
      return objects;
    },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}
