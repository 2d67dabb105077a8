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

/**
 * Begins `work` at random moments, whether or not what was begun before has ended, and waits for the
 * last. Returns how many failed, as they do when the machine stalls for a second; rejects when most did.
 */
export async function runAtRate(
  perSecond: number,
  seconds: number,
  work: () => Promise<unknown>,
): Promise<number> {
  const endMs = performance.now() + seconds * 1_000;
  const running = new Set<Promise<unknown>>();
  const failures: unknown[] = [];
  let begun = 0;
  for (let dueMs = performance.now(); dueMs < endMs; dueMs += gapMs(perSecond)) {
    const waitMs = dueMs - performance.now();
    if (waitMs > 0) await Bun.sleep(waitMs);
    begun += 1;
    const done: Promise<unknown> = work()
      .catch((error: unknown) => failures.push(error))
      .finally(() => running.delete(done));
    running.add(done);
  }
  await Promise.all(running);
  if (failures.length > begun / 2) throw failures[0];
  return failures.length;
}

/** As between people who know nothing of each other. */
function gapMs(perSecond: number): number {
  return (-Math.log(1 - Math.random()) * 1_000) / perSecond;
}
