/** What the admin page shows, as data: the funnel, the last hour, latencies, sessions, failures. */
import type { Clock } from '../relay/time.ts';
import type { Present } from '../service.ts';
import type { Metrics } from './metrics.ts';
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
  /** Upper bounds, in seconds. Undefined: there is nothing to measure, or it is above the last bucket. */
  readonly p50: number | undefined;
  readonly p99: number | undefined;
}

export interface Status extends Present {
  readonly nowMs: number;
  readonly upSeconds: number;
  readonly maxSessions: number;
  readonly funnels: readonly Funnel[];
  readonly hour: readonly HourOf[];
  readonly latencies: readonly Latency[];
  readonly failures: readonly RecentFailure[];
}

export interface StatusOptions {
  readonly clock: Clock;
  readonly services: readonly { readonly name: string; readonly displayName: string }[];
  readonly maxSessions: number;
  readonly metrics: Metrics;
  readonly recent: Recent;
  readonly readPresent: () => Promise<Present>;
}

interface Value {
  readonly value: number;
  readonly labels: Partial<Record<string, string | number>>;
  readonly metricName?: string;
}

interface Readable {
  get(): Promise<{ readonly values: readonly Value[] }>;
}

export function createStatus(options: StatusOptions): () => Promise<Status> {
  const { clock, services, maxSessions, metrics, recent, readPresent } = options;
  const startedAtMs = clock.now();

  async function readFunnel({ name, displayName }: (typeof services)[number]): Promise<Funnel> {
    const count = (metric: Readable) => sumOf(metric, name);
    return {
      service: name,
      displayName,
      started: await count(metrics.started),
      opened: await count(metrics.opened),
      calledBack: await count(metrics.calledBack),
      exchanged: await count(metrics.exchanged),
      delivered: await count(metrics.delivered),
      expired: await count(metrics.expired),
    };
  }

  return async () => ({
    ...(await readPresent()),
    nowMs: clock.now(),
    upSeconds: Math.round((clock.now() - startedAtMs) / 1_000),
    maxSessions,
    funnels: await Promise.all(services.map(readFunnel)),
    hour: recent.readHour(),
    latencies: await Promise.all([
      readLatency('Exchange or refresh at a provider', metrics.upstreamDuration),
      readLatency('Delivery, from result to device', metrics.deliveryWait),
      readLatency('Redis command', metrics.storeDuration),
    ]),
    failures: recent.readFailures(),
  });
}

async function sumOf(metric: Readable, provider: string): Promise<number> {
  const { values } = await metric.get();
  return values
    .filter(({ labels }) => labels.provider === provider)
    .reduce((sum, { value }) => sum + value, 0);
}

/** Of all labels together. The buckets of a histogram are cumulative. */
async function readLatency(name: string, histogram: Readable): Promise<Latency> {
  const upTo = new Map<number, number>();
  for (const { value, labels, metricName = '' } of (await histogram.get()).values) {
    if (!metricName.endsWith('_bucket')) continue;
    const bound = labels.le === '+Inf' ? Number.POSITIVE_INFINITY : Number(labels.le);
    upTo.set(bound, (upTo.get(bound) ?? 0) + value);
  }
  const count = upTo.get(Number.POSITIVE_INFINITY) ?? 0;
  const quantile = (part: number) => {
    const [bound] = [...upTo].find(([, below]) => count > 0 && below >= part * count) ?? [];
    return bound === Number.POSITIVE_INFINITY ? undefined : bound;
  };
  return { name, count, p50: quantile(0.5), p99: quantile(0.99) };
}
