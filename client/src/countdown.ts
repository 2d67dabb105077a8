/** How long a link still works, although the device sleeps or its clock is set. */
import type { Reply } from './ask.ts';
import type { Platform } from './platform.ts';

/** How long polling goes on after the link has expired, for a result whose response was lost. */
const GRACE_MS = 10_000;

/** Compares two clocks: one may stop while the device sleeps, the other may be set. */
export function createCountdown({ now, date }: Platform, expiresInMs: number, startedAtMs: number) {
  const skew = () => date() - now();
  const sinceMs = now();
  let skewMs = skew();
  const ageMs = date() - startedAtMs;
  // A start in the future means that the clock was set. Its age is unknown, so it counts as expired.
  const initialMs = ageMs < 0 ? 0 : Math.max(expiresInMs - ageMs, 0);

  function leftMs(atSkewMs = skew()): number {
    skewMs = Math.min(skewMs, atSkewMs);
    return Math.max(initialMs - (now() - sinceMs) - (atSkewMs - skewMs), 0);
  }

  return {
    leftMs,
    initialMs,
    endMs: sinceMs + initialMs + GRACE_MS,
    /** The relay says that the session lives. If it has expired by our clocks, the device's clock was set. */
    confirm({ tookMs, wallMs }: Reply) {
      const askedSkewMs = skew() - wallMs + tookMs;
      if (!leftMs(askedSkewMs)) skewMs = askedSkewMs;
    },
  };
}
