/**
 * Cleaning up when this process ends before anybody has done it. A script has
 * this; under `bun test` (1.4.5) there is no such event, and what a test does
 * not stop is ended by the kernel (redis-process.ts) and leaves its folder.
 */
const cleanups = new Set<() => void>();

/** One listener for all: one for each server would be taken for a leak. */
process.once('exit', () => {
  for (const clean of cleanups) clean();
});

/** Returns how to call it off. */
export function atExit(clean: () => void): () => void {
  cleanups.add(clean);
  return () => void cleanups.delete(clean);
}
