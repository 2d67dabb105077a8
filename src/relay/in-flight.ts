/** Work that a process must not cut off. Counted from before its first await, so that a drain sees all of it. */
export interface InFlight {
  track<T>(run: () => Promise<T>): Promise<T>;
  /** Resolves once nothing is under way; waits for what is added meanwhile too. */
  settled(): Promise<void>;
}

export function createInFlight(): InFlight {
  const underWay = new Set<Promise<unknown>>();
  return {
    track(run) {
      const work = run();
      underWay.add(work);
      const end = () => void underWay.delete(work);
      work.then(end, end);
      return work;
    },
    async settled() {
      while (underWay.size > 0) await Promise.allSettled(underWay);
    },
  };
}
