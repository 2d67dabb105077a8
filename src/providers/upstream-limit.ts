/**
 * How many requests are under way at providers: one that hangs must not keep
 * those of the others waiting. Nothing waits here: who comes beyond it is
 * refused before a code or a refresh token is spent.
 */
import { UPSTREAM_REQUESTS, UPSTREAM_RESERVE, UPSTREAM_SHARES } from '../limits.ts';

export interface UpstreamLimit {
  /** Runs it; undefined when as many are under way, at that provider or in all, as may be. */
  run<T>(provider: string, work: () => Promise<T>): Promise<T | undefined>;
}

/** `fetchesAtOnce`: how many the runtime itself makes, and lets the rest wait. */
export function createUpstreamLimit(
  onFull: () => void,
  fetchesAtOnce = Number.POSITIVE_INFINITY,
): UpstreamLimit {
  const most = Math.max(1, Math.min(UPSTREAM_REQUESTS, fetchesAtOnce - UPSTREAM_RESERVE));
  const mostOfOne = Math.ceil(most / UPSTREAM_SHARES);
  const byProvider = new Map<string, number>();
  let all = 0;

  function change(provider: string, by: 1 | -1): void {
    all += by;
    byProvider.set(provider, (byProvider.get(provider) ?? 0) + by);
  }

  return {
    async run(provider, work) {
      if (all >= most || (byProvider.get(provider) ?? 0) >= mostOfOne) {
        onFull();
        return undefined;
      }
      change(provider, 1);
      try {
        return await work();
      } finally {
        change(provider, -1);
      }
    },
  };
}
