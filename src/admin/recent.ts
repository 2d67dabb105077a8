/** The last hour by minute, provider, and outcome or step, and the last failures, for the admin page. */
import type { FailureEvent, SignInOutcome } from '../monitor.ts';
import type { Clock } from '../sign-ins/time.ts';

export const MINUTES = 60;
const MINUTE_MS = 60_000;

/** More than fit on a screen. */
const MAX_FAILURES = 20;

/** `atMs` and `signIn` are those of the latest of `count` occurrences. */
export interface RecentFailure extends FailureEvent {
  readonly atMs: number;
  readonly count: number;
  /** When a failure of the store ended. Absent while it lasts. */
  readonly endedAtMs?: number;
}

/** What is counted in each minute, besides the outcomes of sign-ins. */
export type Step = 'opened' | 'got_tokens' | 'not_back' | 'start_refused';

/** The oldest minute first; the last one is the current minute. */
export interface HourlyCounts {
  readonly service: string;
  readonly what: SignInOutcome | Step;
  readonly minutes: readonly number[];
}

export type Recent = ReturnType<typeof createRecent>;

export function createRecent(clock: Clock) {
  /** Counts by provider, outcome or step, and minute since 1970. */
  const services = new Map<string, Map<HourlyCounts['what'], Map<number, number>>>();
  const failures: RecentFailure[] = [];
  const minuteNow = () => Math.floor(clock.now() / MINUTE_MS);

  return {
    count(service: string, what: HourlyCounts['what']): void {
      const minute = minuteNow();
      const all = services.get(service) ?? new Map<HourlyCounts['what'], Map<number, number>>();
      services.set(service, all);
      const counts = all.get(what) ?? new Map<number, number>();
      all.set(what, counts);
      counts.set(minute, (counts.get(minute) ?? 0) + 1);
      const [oldest = minute] = counts.keys();
      if (minute - oldest >= MINUTES) counts.delete(oldest);
    },

    failed(failure: FailureEvent): void {
      const { event, service, signIn, hint, reason } = failure;
      const known = failures.findIndex(
        (each) => each.event === event && each.service === service && each.hint === hint,
      );
      const [before] = known === -1 ? [] : failures.splice(known, 1);
      const count = (before?.count ?? 0) + 1;
      failures.unshift({ event, service, signIn, hint, reason, atMs: clock.now(), count });
      failures.length = Math.min(failures.length, MAX_FAILURES);
    },

    recovered(event: string, reason: string | undefined): void {
      for (const [index, failure] of failures.entries()) {
        const hasEnded = failure.event === event && failure.reason === reason;
        if (hasEnded && failure.endedAtMs === undefined) {
          failures[index] = { ...failure, endedAtMs: clock.now() };
        }
      }
    },

    readHour(): HourlyCounts[] {
      const first = minuteNow() - MINUTES + 1;
      const minutesOf = (counts: ReadonlyMap<number, number>) =>
        Array.from({ length: MINUTES }, (_, index) => counts.get(first + index) ?? 0);
      return [...services].flatMap(([service, all]) =>
        [...all].map(([what, counts]) => ({ service, what, minutes: minutesOf(counts) })),
      );
    },

    /** The newest first. */
    readFailures: (): readonly RecentFailure[] => failures,
  };
}
