/** Loaded into a relay before it starts: on a signal it counts what is on its heap. */

import { heapStats } from 'bun:jsc';
import { renameSync, writeFileSync } from 'node:fs';

export const PROBE_SIGNAL = 'SIGUSR2';

const { HEAP_PROBE } = process.env;

if (HEAP_PROBE !== undefined) {
  process.on(PROBE_SIGNAL, () => {
    const counts = Object.values(heapStats().objectTypeCounts);
    const total = counts.reduce((sum, count) => sum + count, 0);
    // Whoever looks for the file finds all of it.
    writeFileSync(`${HEAP_PROBE}.part`, String(total));
    renameSync(`${HEAP_PROBE}.part`, HEAP_PROBE);
  });
}
