/** Fake time: it moves only when a test moves it. */
import type { Clock } from '../../src/sign-ins/time.ts';

export type FakeClock = ReturnType<typeof createFakeClock>;

export function createFakeClock(startMs = 1_000_000) {
  let nowMs = startMs;
  /** In the order in which they fall due. */
  const timers: { readonly atMs: number; readonly run: () => void }[] = [];

  return {
    now: () => nowMs,
    setTimer(delayMs: number, run: () => void) {
      const timer = { atMs: nowMs + delayMs, run };
      timers.splice(timers.findLastIndex(({ atMs }) => atMs <= timer.atMs) + 1, 0, timer);
      return () => {
        const at = timers.indexOf(timer);
        if (at !== -1) timers.splice(at, 1);
      };
    },
    /** Moves time on and runs the timers that fall due, each at its own moment. */
    advance(ms: number) {
      const untilMs = nowMs + ms;
      for (let due = timers[0]; due !== undefined && due.atMs <= untilMs; due = timers[0]) {
        timers.shift();
        nowMs = Math.max(nowMs, due.atMs);
        due.run();
      }
      nowMs = untilMs;
    },
    /** Moves time on without running timers, as in a process that is suspended. They run late, with the next `advance`. */
    stall(ms: number) {
      nowMs += ms;
    },
    get timers() {
      return timers.length;
    },
    /** When the next timer falls due. Infinity: there is none. */
    dueMs: () => timers[0]?.atMs ?? Infinity,
  } satisfies Clock & Record<string, unknown>;
}

/** As `advance`, for code with promises: what is ready runs before time moves on. */
export async function advance(clock: FakeClock, ms: number): Promise<void> {
  const untilMs = clock.now() + ms;
  for (;;) {
    await new Promise(setImmediate);
    const dueMs = clock.dueMs();
    if (dueMs > untilMs) break;
    clock.advance(Math.max(dueMs - clock.now(), 0));
  }
  clock.advance(untilMs - clock.now());
}

/** Runs everything that is ready, while no time passes. */
export async function runReady(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
}

/** The same for work that needs turns of the event loop, such as reading the body of a response. */
export async function runTurns(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await new Promise(setImmediate);
}

/** Whether a promise is unsettled after everything that is ready has run. */
export async function isPending(promise: Promise<unknown>): Promise<boolean> {
  let isSettled = false;
  const settle = () => {
    isSettled = true;
  };
  promise.then(settle, settle);
  await runReady();
  return !isSettled;
}
