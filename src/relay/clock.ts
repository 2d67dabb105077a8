/** Time as an argument: the real one in a running relay, a fake one in tests. */
export interface Clock {
  /** Milliseconds since the epoch; never runs backwards. */
  now(): number;
  /** Calls `run` once after `delayMs`; returns how to prevent it. */
  setTimer(delayMs: number, run: () => void): () => void;
}

export const systemClock: Clock = {
  // Not Date.now(): a clock that is set back would lengthen every session.
  now: () => Math.floor(performance.timeOrigin + performance.now()),
  setTimer(delayMs, run) {
    const timer = setTimeout(run, delayMs);
    // A server or a connection keeps the process running, never a timer: a host ends once it has closed those.
    if (typeof timer === 'object') timer.unref();
    return () => clearTimeout(timer);
  },
};

/** Resolves after `delayMs`. */
export function pause(clock: Clock, delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    clock.setTimer(delayMs, resolve);
  });
}
