/** The data of the admin page: the funnel, the last hour, latencies, sessions, failures. */
import { hostname } from 'node:os';
import type { ServiceState } from '../service.ts';
import type { Clock } from '../sign-ins/time.ts';
import { type Counts, Distribution, ProviderCounts } from './counts.ts';
import type { Recent } from './recent.ts';

export type Status = Awaited<ReturnType<ReturnType<typeof createStatus>>>;
export type Funnel = Status['funnels'][number];
export type Latency = Status['latencies'][number];

/** What does not change while the process runs. */
export interface Facts {
  readonly clock: Clock;
  /** Every enabled provider, with the name that users see. */
  readonly services: readonly { readonly name: string; readonly displayName: string }[];
  readonly maxSessions: number;
  /** Such as `Bun 1.4.5`. */
  readonly runtime: string;
  /** Several relays share the sessions: each counts only what it does. */
  readonly isShared: boolean;
}

const NONE = new ProviderCounts();

export function createStatus(
  { clock, services, maxSessions, runtime, isShared }: Facts,
  counts: Counts,
  recent: Recent,
  readState: () => Promise<ServiceState>,
) {
  const startedAtMs = clock.now();

  /** One provider's sign-ins since the process started. */
  function readFunnel({ name, displayName }: (typeof services)[number]) {
    const own = counts.providers.get(name) ?? NONE;
    const expired = [...own.expired.values()].reduce((sum, count) => sum + count, 0);
    return { service: name, displayName, own, expired };
  }

  return async () => {
    const all = [...counts.providers.values()];
    const upstream = all.flatMap(({ exchange, refresh }) => [exchange.duration, refresh.duration]);
    return {
      ...(await readState()),
      nowMs: clock.now(),
      upSeconds: Math.round((clock.now() - startedAtMs) / 1_000),
      maxSessions,
      runtime,
      hostname: hostname(),
      isShared,
      funnels: services.map(readFunnel),
      hour: recent.readHour(),
      latencies: [
        readLatency('Exchange or refresh at a provider', upstream),
        readLatency(
          'Delivery, from result to device',
          all.map(({ wait }) => wait),
        ),
        readLatency('Redis command', [counts.store.duration]),
      ],
      failures: recent.readFailures(),
    };
  };
}

/**
 * Merges distributions, which must have the same bounds. Quantiles are upper bounds, in seconds;
 * undefined without measurements, and above the last bucket.
 */
function readLatency(name: string, distributions: readonly Distribution[]) {
  const { bounds } = distributions[0] ?? new Distribution([]);
  const sumAt = (index: number) =>
    distributions.reduce((sum, { counts }) => sum + (counts[index] ?? 0), 0);
  const sums = Array.from({ length: bounds.length + 1 }, (_, index) => sumAt(index));
  const count = sums.reduce((sum, each) => sum + each, 0);
  const quantile = (part: number) => {
    let below = 0;
    return bounds.find((_, index) => {
      below += sums[index] ?? 0;
      return count > 0 && below >= part * count;
    });
  };
  return { name, count, p50: quantile(0.5), p99: quantile(0.99) };
}
