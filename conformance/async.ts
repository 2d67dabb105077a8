/** Waiting, lists of the same thing, and a limit on what runs at the same time. */

export { setTimeout as sleep } from 'node:timers/promises';

export function times<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

/**
 * Returns `acquire`: it resolves in the order of the calls, for at most `count` callers at once, with
 * the function that releases. A second call of that function does nothing.
 */
export function createSemaphore(count: number): () => Promise<() => void> {
  let free = count;
  const waiting: (() => void)[] = [];
  return async () => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      const next = waiting.shift();
      if (next) next();
      else free += 1;
    };
  };
}
