/** Preloaded into a relay: its clock is an hour ahead. */
const HOUR_MS = 3_600_000;
const now = performance.now.bind(performance);
performance.now = () => now() + HOUR_MS;
