/**
 * Measures how slow the machine is, so that other work on it, or another case that sends many
 * requests at once, does not fail a case. While the suite runs, it asks every half second for a
 * page that waits for nothing. A response is late only if it comes later than its rule says by
 * more than those pages took.
 */

interface Control {
  readonly startedAt: number;
  endedAt: number | undefined;
}

const controls: Control[] = [];

/** Records how long such a page takes, even if it never arrives. */
export function noteControl(page: Promise<unknown>): void {
  const control: Control = { startedAt: performance.now(), endedAt: undefined };
  controls.push(control);
  const end = () => {
    control.endedAt = performance.now();
  };
  page.then(end, end);
}

/** The longest time that any such page took which was requested or arrived after `startedAt`. */
export function slowSecondsSince(startedAt: number): number {
  const now = performance.now();
  const seconds = controls
    .filter(({ endedAt }) => endedAt === undefined || endedAt >= startedAt)
    .map((control) => ((control.endedAt ?? now) - control.startedAt) / 1000);
  return Math.max(0, ...seconds);
}
