/** Waiting, and many jobs at the same time. */

export { setTimeout as sleep } from 'node:timers/promises';

export function times<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

/**
 * At most `count` callers have a turn at once; the others wait in order. Each call resolves with
 * the function that ends its turn. A second call of that function does nothing.
 */
export function createTurns(count: number): () => Promise<() => void> {
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
