/** Waiting, and doing many things at once. */

export { setTimeout as sleep } from 'node:timers/promises';

export function times<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

/** Does every job, at most `workers` at a time; rejects with the first fault, when all have ended. */
export async function atMost<T>(
  workers: number,
  jobs: readonly T[],
  work: (job: T) => Promise<void>,
): Promise<void> {
  const queue = jobs.values();
  const faults: unknown[] = [];
  const worker = async () => {
    // One iterator for all: each worker takes what nobody has taken.
    for (const job of queue) {
      await work(job).catch((fault: unknown) => faults.push(fault));
    }
  };
  await Promise.all(times(workers, worker));
  if (faults.length > 0) throw faults[0];
}
