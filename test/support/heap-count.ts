/**
 * How many objects a relay has on its heap, garbage collected first or none
 * collected ever. Resident memory says little of either: garbage stays until
 * the runtime sees fit. The first half of this file is loaded into the relay.
 */
import { heapStats } from 'bun:jsc';
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const SIGNAL = 'SIGUSR2';
const { HEAP_COUNT, BUN_JSC_useGC } = process.env;

if (HEAP_COUNT !== undefined) {
  process.on(SIGNAL, () => {
    if (BUN_JSC_useGC !== '0') Bun.gc(true);
    const counts = Object.values(heapStats().objectTypeCounts);
    const objects = counts.reduce((sum, count) => sum + count, 0);
    // Whoever looks for the file finds all of it.
    writeFileSync(`${HEAP_COUNT}.part`, String(objects));
    renameSync(`${HEAP_COUNT}.part`, HEAP_COUNT);
  });
}

export interface HeapCount extends Disposable {
  /** For the relay's environment. */
  readonly env: Readonly<Record<string, string>>;
  countObjects(pid: number): Promise<number>;
}

/** Either what is left is counted, or, where nothing is collected, all there ever was. */
export function createHeapCount({ collects }: { readonly collects: boolean }): HeapCount {
  const folder = mkdtempSync(join(tmpdir(), 'sign-in-relay-heap-'));
  const path = join(folder, 'objects');
  return {
    env: {
      BUN_OPTIONS: `--preload ${import.meta.path}`,
      HEAP_COUNT: path,
      ...(!collects && { BUN_JSC_useGC: '0' }),
    },
    async countObjects(pid) {
      process.kill(pid, SIGNAL);
      while (!existsSync(path)) await Bun.sleep(10);
      const objects = Number(readFileSync(path, 'utf8'));
      rmSync(path);
      return objects;
    },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}
