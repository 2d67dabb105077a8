/**
 * How slow relay, proxy and suite are for other reasons than the rule that a case checks. While
 * the suite runs, it asks again and again for a page that waits for nothing. An answer is late if
 * it comes later than its rule says, and by more than those pages took meanwhile. So other work on
 * the machine, or another case that sends many requests at once, breaks no rule.
 */

interface Control {
  readonly startedAt: number;
  endedAt: number | undefined;
}

const controls: Control[] = [];

/** Notes how long such a page takes, also if it does not come. */
export function noteControl(page: Promise<unknown>): void {
  const control: Control = { startedAt: performance.now(), endedAt: undefined };
  controls.push(control);
  const end = () => {
    control.endedAt = performance.now();
  };
  page.then(end, end);
}

/** The longest time that one of them took, of those that were under way at this time or later. */
export function slowSecondsSince(startedAt: number): number {
  const now = performance.now();
  const seconds = controls
    .filter(({ endedAt }) => endedAt === undefined || endedAt >= startedAt)
    .map((control) => ((control.endedAt ?? now) - control.startedAt) / 1000);
  return Math.max(0, ...seconds);
}
