/**
 * The metrics, by the conventions of Prometheus: base units, `_total` for counters. Each
 * takes its values from counts.ts when it is read. docs/operating.md lists each;
 * deploy/alerts.yaml and deploy/grafana.json use them.
 * @see https://prometheus.io/docs/practices/naming/
 */
import { cpuUsage, memoryUsage } from 'node:process';
import { Counter, Gauge, type Histogram, Registry } from 'prom-client';
import packageJson from '../../package.json' with { type: 'json' };
import { readFileDescriptors } from '../file-descriptors.ts';
import type { Present } from '../service.ts';
import type { Counts, Distribution, ProviderCounts } from './counts.ts';

export interface MetricsOptions {
  readonly counts: Counts;
  readonly maxSessions: number;
  readonly readPresent: () => Promise<Present>;
}

export interface Metrics {
  readonly contentType: string;
  write(): Promise<string>;
}

type Labels = Readonly<Record<string, string | number>>;

/** A value and its labels. */
type Sample = readonly [labels: Labels, value: number];

/** Distributions and their labels. */
type DistributionSample = readonly [labels: Labels, distribution: Distribution];

export function createMetrics({ counts, maxSessions, readPresent }: MetricsOptions): Metrics {
  const registry = new Registry();
  const registers = [registry];
  const { providers, rateLimited, store } = counts;

  function counter(
    name: string,
    help: string,
    labelNames: readonly string[],
    read: () => Iterable<Sample>,
  ): void {
    new Counter({
      name: `sign_in_relay_${name}_total`,
      ...{ help, labelNames, registers },
      collect() {
        this.reset();
        for (const [labels, value] of read()) this.inc(labels, value);
      },
    });
  }

  /** All that the registry needs of a histogram: prom-client's own must count itself. */
  function histogram(name: string, help: string, read: () => Iterable<DistributionSample>): void {
    const full = `sign_in_relay_${name}_seconds`;
    const get = async () => ({
      ...{ name: full, help, type: 'histogram', aggregator: 'sum' },
      values: [...read()].flatMap(([labels, each]) => samplesOf(full, labels, each)),
    });
    registry.registerMetric({ name: full, get } as unknown as Histogram);
  }

  function gauge(name: string, help: string): Gauge {
    return new Gauge({ name: `sign_in_relay_${name}`, help, registers });
  }

  const byProvider = (read: (counts: ProviderCounts) => number) => () =>
    [...providers].map(([provider, each]): Sample => [{ provider }, read(each)]);
  const byProviderAnd =
    (label: string, read: (counts: ProviderCounts) => Map<string, number>) => () =>
      [...providers].flatMap(([provider, each]) =>
        [...read(each)].map(([name, value]): Sample => [{ provider, [label]: name }, value]),
      );

  const provider = ['provider'];
  counter(
    'sign_ins_started',
    'Sign-ins that devices started.',
    provider,
    byProvider((each) => each.started),
  );
  counter(
    'sign_ins_opened',
    'Sign-ins whose link led a user to the provider.',
    provider,
    byProvider((each) => each.opened),
  );
  counter(
    'sign_ins_called_back',
    'Sign-ins whose user came back from the provider.',
    provider,
    byProvider((each) => each.calledBack),
  );
  counter(
    'sign_ins_exchanged',
    'Sign-ins whose code the provider exchanged.',
    provider,
    byProvider((each) => each.exchanged),
  );
  counter(
    'sign_ins_delivered',
    'Sign-ins whose result a device fetched.',
    provider,
    byProvider((each) => each.delivered),
  );
  counter(
    'sign_ins_expired',
    'Sign-ins that expired, by how far they came: started, opened or called_back.',
    ['provider', 'stage'],
    byProviderAnd('stage', (each) => each.expired),
  );
  counter(
    'sign_ins_ended',
    'Sign-ins that came to an end, by outcome as in the log, or cancelled, or expired.',
    ['provider', 'outcome'],
    byProviderAnd('outcome', (each) => each.ended),
  );
  histogram('delivery_wait', 'From the result in the store to its delivery.', () =>
    [...providers].map(([name, { wait }]): DistributionSample => [{ provider: name }, wait]),
  );
  counter(
    'upstream_requests',
    'Requests to token endpoints, by grant (exchange or refresh), outcome, and status (0: no answer).',
    ['provider', 'grant', 'outcome', 'status'],
    () => readAnswers(providers),
  );
  histogram(
    'upstream_request_duration',
    'Requests to token endpoints, to the last byte of the answer.',
    () =>
      [...providers].flatMap(([name, { exchange, refresh }]): DistributionSample[] => [
        [{ provider: name, grant: 'exchange' }, exchange.duration],
        [{ provider: name, grant: 'refresh' }, refresh.duration],
      ]),
  );
  counter('rate_limited', 'Requests that a rate limit refused, by kind.', ['kind'], () =>
    Object.entries(rateLimited).map(([kind, value]): Sample => [{ kind }, value]),
  );
  histogram('store_command_duration', 'Scripts that Redis carried out.', () => [
    [{}, store.duration],
  ]);
  counter(
    'store_errors',
    'Scripts that Redis refused, or did not answer (unreachable).',
    ['reason'],
    () => [
      [{ reason: 'refused' }, store.refused],
      [{ reason: 'unreachable' }, store.unreachable],
    ],
  );

  const liveSessions = gauge('live_sessions', 'Open sign-ins, of all instances with Redis.');
  const parkedPolls = gauge('parked_polls', 'Polls that this instance holds open.');
  const ready = gauge('ready', '1 while /ready answers 200.');
  gauge('max_sessions', 'MAX_SESSIONS.').set(maxSessions);
  new Gauge({
    name: 'sign_in_relay_build_info',
    help: 'The version, as a label.',
    labelNames: ['version'],
    registers,
  }).set({ version: packageJson.version }, 1);
  addProcessMetrics(registers);

  return {
    contentType: registry.contentType,
    async write() {
      const present = await readPresent();
      // A gauge that is not known is left out: its last value would be taken for the present one.
      if (present.liveSessions === undefined) liveSessions.remove();
      else liveSessions.set(present.liveSessions);
      parkedPolls.set(present.parkedPolls);
      ready.set(present.unreadiness === undefined ? 1 : 0);
      return registry.metrics();
    },
  };
}

function readAnswers(providers: ReadonlyMap<string, ProviderCounts>): Sample[] {
  return [...providers].flatMap(([provider, counts]) =>
    (['exchange', 'refresh'] as const).flatMap((grant) =>
      [...counts[grant].answers].flatMap(([outcome, byStatus]) =>
        [...byStatus].map(
          ([status, value]): Sample => [{ provider, grant, outcome, status }, value],
        ),
      ),
    ),
  );
}

/** The buckets of Prometheus are cumulative. */
function samplesOf(name: string, labels: Labels, { bounds, counts, sum }: Distribution) {
  let below = 0;
  const buckets = [...counts].map((count, index) => {
    below += count;
    const le = bounds[index] ?? '+Inf';
    return { metricName: `${name}_bucket`, labels: { ...labels, le }, value: below };
  });
  return [
    ...buckets,
    { metricName: `${name}_sum`, labels, value: sum },
    { metricName: `${name}_count`, labels, value: below },
  ];
}

/** By the names that every client library uses. prom-client's own are those of Node, of which Bun has no values. */
function addProcessMetrics(registers: Registry[]): void {
  new Counter({
    name: 'process_cpu_seconds_total',
    help: 'Processor time, of user and system.',
    registers,
    collect() {
      const { user, system } = cpuUsage();
      this.reset();
      this.inc((user + system) / 1e6);
    },
  });
  const gauge = (name: string, help: string, read: () => number | undefined) =>
    new Gauge({
      ...{ name, help, registers },
      collect() {
        const value = read();
        if (value === undefined) this.remove();
        else this.set(value);
      },
    });
  gauge('process_resident_memory_bytes', 'Resident memory.', () => memoryUsage().rss);
  gauge(
    'process_open_fds',
    'Open file descriptors, which includes connections.',
    () => readFileDescriptors().open,
  );
  gauge(
    'process_max_fds',
    'File descriptors that the process may open.',
    () => readFileDescriptors().max,
  );
  gauge('process_start_time_seconds', 'When the process started, in seconds since 1970.', () =>
    Math.round(performance.timeOrigin / 1_000),
  );
}
