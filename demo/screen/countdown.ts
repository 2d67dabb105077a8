/** How long is left, in words for a person. */

/** As on a clock: `9:41`. */
export function clockText(leftMs: number): string {
  const seconds = Math.max(0, Math.ceil(leftMs / 1_000));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}

/** `1 hour`, `10 minutes`, `40 seconds`: in the largest unit that it fills. */
export function durationText(leftMs: number): string {
  const seconds = Math.max(0, Math.round(leftMs / 1_000));
  if (seconds >= 3_600) return countText(seconds / 3_600, 'hour');
  return seconds >= 60 ? countText(seconds / 60, 'minute') : countText(seconds, 'second');
}

function countText(amount: number, unit: string): string {
  const count = Math.round(amount);
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}

/** A bar that grows shorter. */
export function barText(leftMs: number, totalMs: number, columns: number): string {
  const part = Math.min(1, Math.max(0, leftMs / totalMs));
  const full = Math.ceil(part * columns);
  return '━'.repeat(full) + '┄'.repeat(columns - full);
}
