/** The data of the admin page: the funnel, the last hour, latencies, sessions, failures. */
import { hostname } from 'node:os';
import type { Clock } from '../relay/time.ts';
import type { ServiceState } from '../service.ts';
import { type Counts, Distribution, ProviderCounts } from './counts.ts';
import type { HourOf, Recent, RecentFailure } from './recent.ts';

/** One provider's sign-ins since the process started. */
export interface Funnel {
  readonly service: string;
  readonly displayName: string;
  readonly started: number;
  readonly opened: number;
  readonly calledBack: number;
  readonly exchanged: number;
  readonly delivered: number;
  readonly expired: number;
}

export interface Latency {
  readonly name: string;
  readonly count: number;
  /** Upper bounds, in seconds. Undefined: no measurements, or above the last bucket. */
  readonly p50: number | undefined;
  readonly p99: number | undefined;
}

export interface Status extends ServiceState {
  readonly nowMs: number;
  readonly upSeconds: number;
  readonly maxSessions: number;
  readonly runtime: string;
  readonly hostname: string;
  /** Several relays share the sessions. */
  readonly isShared: boolean;
  readonly funnels: readonly Funnel[];
  readonly hour: readonly HourOf[];
  readonly latencies: readonly Latency[];
  readonly failures: readonly RecentFailure[];
}

export interface StatusOptions {
  readonly clock: Clock;
  readonly services: readonly { readonly name: string; readonly displayName: string }[];
  readonly maxSessions: number;
  readonly runtime: string;
  readonly isShared: boolean;
  readonly counts: Counts;
  readonly recent: Recent;
  readonly readState: () => Promise<ServiceState>;
}

const NONE = new ProviderCounts();

export function createStatus(options: StatusOptions): () => Promise<Status> {
  const { clock, services, maxSessions, runtime, isShared, counts, recent, readState } = options;
  const startedAtMs = clock.now();

  function readFunnel({ name, displayName }: (typeof services)[number]): Funnel {
    const own = counts.providers.get(name) ?? NONE;
    const { started, opened, calledBack, exchanged, delivered } = own;
    const expired = [...own.expired.values()].reduce((sum, count) => sum + count, 0);
    return {
      service: name,
      displayName,
      started,
      opened,
      calledBack,
      exchanged,
      delivered,
      expired,
    };
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

/** Merges distributions, which must have the same bounds. */
function readLatency(name: string, distributions: readonly Distribution[]): Latency {
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
