/**
 * How many objects a relay has on its heap after a collection. Resident memory says little of
 * it, because the runtime frees garbage when it likes. The first part of this file is loaded
 * into the relay.
 */
import { heapStats } from 'bun:jsc';
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pollUntil } from './wait.ts';

const SIGNAL = 'SIGUSR2';
const { HEAP_COUNT } = process.env;

if (HEAP_COUNT !== undefined) {
  process.on(SIGNAL, () => {
    Bun.gc(true);
    const counts = Object.values(heapStats().objectTypeCounts);
    const objects = counts.reduce((sum, count) => sum + count, 0);
    // Renamed when complete, so that a reader never sees a part of it.
    writeFileSync(`${HEAP_COUNT}.part`, String(objects));
    renameSync(`${HEAP_COUNT}.part`, HEAP_COUNT);
  });
}

export function createHeapCount() {
  const folder = mkdtempSync(join(tmpdir(), 'sign-in-relay-heap-'));
  const path = join(folder, 'objects');
  return {
    /** For the relay's environment. */
    env: { BUN_OPTIONS: `--preload ${import.meta.path}`, HEAP_COUNT: path },
    async countObjects(pid: number): Promise<number> {
      process.kill(pid, SIGNAL);
      await pollUntil('the objects are counted', () => existsSync(path));
      const objects = Number(readFileSync(path, 'utf8'));
      rmSync(path);
      return objects;
    },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}
