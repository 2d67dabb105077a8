/** The last hour by minute, provider and outcome, and the last failures, for the admin page. */
import type { FailureEvent } from '../monitor.ts';
import type { Clock } from '../relay/time.ts';

export const MINUTES = 60;
const MINUTE_MS = 60_000;

/** More than fit on a screen. */
const MAX_FAILURES = 20;

/** `atMs` and `signIn` are those of the latest of `count`. */
export interface RecentFailure extends FailureEvent {
  readonly atMs: number;
  readonly count: number;
}

/** The oldest minute first; the last one is the current minute. */
export interface HourOf {
  readonly service: string;
  readonly outcome: string;
  readonly minutes: readonly number[];
}

export type Recent = ReturnType<typeof createRecent>;

interface Ring {
  readonly service: string;
  readonly outcome: string;
  readonly counts: number[];
  /** The minute of the newest count. */
  minute: number;
}

/** One ring for each provider and outcome. */
export function createRecent(clock: Clock) {
  const rings = new Map<string, Map<string, Ring>>();
  const failures: RecentFailure[] = [];
  const minuteNow = () => Math.floor(clock.now() / MINUTE_MS);

  /** Removes what is older than an hour. */
  function turn(ring: Ring, minute: number): void {
    const passed = Math.min(minute - ring.minute, MINUTES);
    for (let step = 1; step <= passed; step += 1)
      ring.counts[(minute - passed + step) % MINUTES] = 0;
    ring.minute = minute;
  }

  return {
    ended(service: string, outcome: string): void {
      const minute = minuteNow();
      let byOutcome = rings.get(service);
      if (byOutcome === undefined) {
        byOutcome = new Map();
        rings.set(service, byOutcome);
      }
      let ring = byOutcome.get(outcome);
      if (ring === undefined) {
        ring = { service, outcome, counts: new Array<number>(MINUTES).fill(0), minute };
        byOutcome.set(outcome, ring);
      }
      if (ring.minute !== minute) turn(ring, minute);
      ring.counts[minute % MINUTES] = (ring.counts[minute % MINUTES] ?? 0) + 1;
    },

    failed(failure: FailureEvent): void {
      const { event, service, hint } = failure;
      const known = failures.findIndex(
        (each) => each.event === event && each.service === service && each.hint === hint,
      );
      const [before] = known === -1 ? [] : failures.splice(known, 1);
      failures.unshift({ ...failure, atMs: clock.now(), count: (before?.count ?? 0) + 1 });
      failures.length = Math.min(failures.length, MAX_FAILURES);
    },

    readHour(): HourOf[] {
      const minute = minuteNow();
      const all = [...rings.values()].flatMap((byOutcome) => [...byOutcome.values()]);
      return all.map((ring) => {
        turn(ring, minute);
        const minutes = Array.from(
          { length: MINUTES },
          (_, index) => ring.counts[(minute + 1 + index) % MINUTES] ?? 0,
        );
        return { service: ring.service, outcome: ring.outcome, minutes };
      });
    },

    /** The newest first. */
    readFailures: (): readonly RecentFailure[] => failures,
  };
}
