/** Two ways to put load on: as much as goes, and so much a second. */

/** `count` of `work`, so many at once. Returns how long it took. */
export async function runMany(
  count: number,
  atOnce: number,
  work: () => Promise<unknown>,
): Promise<number> {
  const begunMs = performance.now();
  let left = count;
  await Promise.all(
    Array.from({ length: Math.min(atOnce, count) }, async () => {
      while (left > 0) {
        left -= 1;
        await work();
      }
    }),
  );
  return performance.now() - begunMs;
}

/** Begins `work` at random moments, whether or not what was begun before has ended, and waits for the last. */
export async function runAtRate(
  perSecond: number,
  seconds: number,
  work: () => Promise<unknown>,
): Promise<void> {
  const endMs = performance.now() + seconds * 1_000;
  const running = new Set<Promise<unknown>>();
  let failure: unknown;
  for (let dueMs = performance.now(); dueMs < endMs; dueMs += gapMs(perSecond)) {
    const waitMs = dueMs - performance.now();
    if (waitMs > 0) await Bun.sleep(waitMs);
    if (failure !== undefined) break;
    const done: Promise<unknown> = work()
      .catch((error: unknown) => {
        failure ??= error;
      })
      .finally(() => running.delete(done));
    running.add(done);
  }
  await Promise.all(running);
  if (failure !== undefined) throw failure;
}

/** As between people who know nothing of each other. */
function gapMs(perSecond: number): number {
  return (-Math.log(1 - Math.random()) * 1_000) / perSecond;
}
