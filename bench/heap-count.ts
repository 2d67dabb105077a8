/** Preloaded into a relay that never collects garbage: on SIGUSR2 it writes how many objects it has made. */
import { heapStats } from 'bun:jsc';
import { renameSync, writeFileSync } from 'node:fs';

const path = process.env.HEAP_COUNT_FILE ?? '';

process.on('SIGUSR2', () => {
  const counts = Object.values(heapStats().objectTypeCounts);
  const objects = counts.reduce((sum, count) => sum + count, 0);
  // Renamed, so that the file is complete when it appears.
  writeFileSync(`${path}.part`, String(objects));
  renameSync(`${path}.part`, path);
});
