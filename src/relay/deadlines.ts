/**
 * Many waits of one length on one timer: thousands of parked polls would
 * otherwise be thousands of timers. All wait equally long, so the order of
 * adding is the order of falling due.
 */
import { STALL_GRACE_MS, STALL_MS } from '../limits.ts';
import type { Clock } from './clock.ts';

export interface Deadlines {
  /** Calls `onDue` once, when the time is up, unless it is called off before. */
  add(onDue: () => void): Wait;
  callOff(wait: Wait): void;
  /** Lets every wait fall due now. */
  releaseAll(): void;
  readonly size: number;
}

/** Handed back as it is: a closure for each would be a tenth of what a parked poll keeps. */
export interface Wait {
  readonly dueAtMs: number;
  readonly onDue: () => void;
}

/**
 * Each wait lasts `durationMs`, never less. A timer that fires late means that the
 * process stood still. The runtime runs timers before it reads sockets, so what
 * was waited for may have arrived unread: the waits get STALL_GRACE_MS more.
 */
export function createDeadlines(clock: Clock, durationMs: number): Deadlines {
  const waits = new Set<Wait>();
  let timerIsSet = false;

  function setTimer(delayMs: number): void {
    timerIsSet = true;
    const firesAtMs = clock.now() + delayMs;
    clock.setTimer(delayMs, () => {
      if (clock.now() - firesAtMs > STALL_MS) clock.setTimer(STALL_GRACE_MS, releaseDue);
      else releaseDue();
    });
  }

  function releaseDue(): void {
    timerIsSet = false;
    release(clock.now());
  }

  function release(nowMs: number): void {
    for (const wait of waits) {
      if (wait.dueAtMs > nowMs) {
        if (!timerIsSet) setTimer(wait.dueAtMs - nowMs);
        return;
      }
      waits.delete(wait);
      wait.onDue();
    }
  }

  return {
    add(onDue) {
      const wait: Wait = { dueAtMs: clock.now() + durationMs, onDue };
      waits.add(wait);
      // Left to run when its wait is called off: it finds nothing, or the next one.
      if (!timerIsSet) setTimer(durationMs);
      return wait;
    },
    callOff(wait) {
      waits.delete(wait);
    },
    releaseAll: () => release(Number.POSITIVE_INFINITY),
    get size() {
      return waits.size;
    },
  };
}
