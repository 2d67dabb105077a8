import type { Clock } from '../../src/relay/clock.ts';

export interface FakeClock extends Clock {
  /** Moves time on and runs the timers that fall due, each at its own moment. */
  advance(ms: number): void;
  /** Moves time on without running timers, as for a process that is stopped. They run late, with the next `advance`. */
  stall(ms: number): void;
  readonly timers: number;
}

export function createFakeClock(startMs = 1_000_000): FakeClock {
  let nowMs = startMs;
  const timers = new Set<{ atMs: number; run: () => void }>();

  function nextDue(untilMs: number) {
    const due = [...timers].filter(({ atMs }) => atMs <= untilMs);
    return due.sort((a, b) => a.atMs - b.atMs)[0];
  }

  return {
    now: () => nowMs,
    setTimer(delayMs, run) {
      const timer = { atMs: nowMs + delayMs, run };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    advance(ms) {
      const untilMs = nowMs + ms;
      for (let due = nextDue(untilMs); due !== undefined; due = nextDue(untilMs)) {
        timers.delete(due);
        nowMs = Math.max(nowMs, due.atMs);
        due.run();
      }
      nowMs = untilMs;
    },
    stall(ms) {
      nowMs += ms;
    },
    get timers() {
      return timers.size;
    },
  };
}

/** Lets everything that is ready run on, with no time passing. */
export async function runReady(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
}

/** The same for what takes turns of the event loop, such as reading an answer's body. */
export async function runTurns(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await new Promise(setImmediate);
}
