/** Time is an argument: the system's clock in a running relay, a fake clock in tests. */
import { STALL_GRACE_MS, STALL_MS } from '../limits.ts';

export interface Clock {
  /** Milliseconds since the epoch. Never runs backwards. */
  now(): number;
  /** Calls `run` once after `delayMs`. Returns a function that cancels it. */
  setTimer(delayMs: number, run: () => void): () => void;
}

export const systemClock: Clock = {
  // Not Date.now(): setting the clock back would lengthen every session.
  now: () => Math.floor(performance.timeOrigin + performance.now()),
  setTimer(delayMs, run) {
    const timer = setTimeout(run, delayMs);
    // A program that embeds the relay and has closed it must be able to exit.
    timer.unref();
    return () => clearTimeout(timer);
  },
};

/** Resolves after `delayMs`. */
export function pause(clock: Clock, delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    clock.setTimer(delayMs, resolve);
  });
}

/** Something with a deadline. The object itself is queued, which saves a closure. */
export interface Deadline {
  /** Set by the queue. */
  dueAtMs: number;
  onDue(): void;
}

export type DeadlineQueue = ReturnType<typeof createDeadlineQueue>;

/**
 * Calls `onDue` once after `delayMs`. Returns a function that cancels it.
 *
 * A timer that fires late means that the process or its machine was paused. The
 * runtime runs timers before it reads sockets, so data may be waiting unread.
 * Therefore the deadline gets STALL_GRACE_MS more.
 */
export function setDeadline(clock: Clock, delayMs: number, onDue: () => void): () => void {
  const firesAtMs = clock.now() + delayMs;
  let cancelTimer = clock.setTimer(delayMs, () => {
    if (clock.now() - firesAtMs <= STALL_MS) onDue();
    else cancelTimer = clock.setTimer(STALL_GRACE_MS, onDue);
  });
  return () => cancelTimer();
}

/**
 * Many deadlines of one duration on one timer: thousands of parked polls would
 * otherwise be thousands of timers. They fall due in the order in which they were
 * added, and never early.
 */
export function createDeadlineQueue(clock: Clock, durationMs: number) {
  const queue = new Set<Deadline>();
  let cancelTimer: (() => void) | undefined;

  function releaseDue(): void {
    const nowMs = clock.now();
    try {
      for (const deadline of queue) {
        if (deadline.dueAtMs > nowMs) break;
        queue.delete(deadline);
        deadline.onDue();
      }
    } finally {
      // Also after an exception of one deadline: the others wait for this queue.
      cancelTimer?.();
      cancelTimer = undefined;
      const [next] = queue;
      if (next !== undefined) cancelTimer = setDeadline(clock, next.dueAtMs - nowMs, releaseDue);
    }
  }

  return {
    /** Calls `onDue` once after the queue's duration, unless the deadline is cancelled before. */
    add(deadline: Deadline): void {
      deadline.dueAtMs = clock.now() + durationMs;
      queue.add(deadline);
      // Cancelling one of several leaves the timer running: when it fires, it finds the next deadline.
      cancelTimer ??= setDeadline(clock, durationMs, releaseDue);
    },
    cancel(deadline: Deadline): void {
      queue.delete(deadline);
      if (queue.size > 0) return;
      // A pending timer keeps an object of Cloudflare Workers in memory, which costs money.
      cancelTimer?.();
      cancelTimer = undefined;
    },
  };
}
