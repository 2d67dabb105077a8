/**
 * The metrics, in the text format of Prometheus and by its conventions: base units,
 * `_total` for counters. docs/reference.md lists them; deploy/alerts.yaml and
 * deploy/grafana.json use them.
 * @see https://prometheus.io/docs/instrumenting/exposition_formats/
 * @see https://prometheus.io/docs/practices/naming/
 */
import { cpuUsage, memoryUsage } from 'node:process';
import packageJson from '../../package.json' with { type: 'json' };
import { GRANTS } from '../monitor.ts';
import { readFileDescriptors } from '../server/machine.ts';
import type { ServiceState } from '../service.ts';
import type { Counts, Distribution } from './counts.ts';
import type { Facts } from './status.ts';

export const METRICS_CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

type Labels = Readonly<Record<string, string | number>>;

interface Sample {
  /** `_bucket`, `_sum` or `_count` of a histogram. */
  readonly suffix?: string;
  readonly labels: Labels;
  readonly value: number;
}

interface Metric {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly name: string;
  readonly help: string;
  readonly samples: readonly Sample[];
}

type Constants = Pick<Facts, 'maxSessions' | 'runtime'>;

export function writeMetrics(counts: Counts, constants: Constants, state: ServiceState): string {
  const metrics = [
    ...signInMetrics(counts),
    ...requestMetrics(counts),
    ...relayMetrics(constants, state),
    ...processMetrics(),
  ];
  return metrics.map(writeMetric).join('');
}

function writeMetric({ type, name, help, samples }: Metric): string {
  const lines = samples.map(
    ({ suffix = '', labels, value }) => `${name}${suffix}${writeLabels(labels)} ${value}\n`,
  );
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`;
}

function writeLabels(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(value)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function escapeLabel(value: string | number): string {
  return String(value).replace(/[\\"\n]/g, (character) =>
    character === '\n' ? '\\n' : `\\${character}`,
  );
}

/** The name of each metric, what it counts, and its help. */
const STEPS = [
  ['started', 'started', 'Sign-ins that devices started.'],
  ['opened', 'opened', 'Sign-ins whose link redirected a user to the provider.'],
  ['called_back', 'calledBack', 'Sign-ins whose user came back from the provider.'],
  ['exchanged', 'exchanged', 'Sign-ins whose code the provider exchanged.'],
  ['delivered', 'delivered', 'Sign-ins whose result a device fetched.'],
] as const;

const ENDS = [
  [
    'expired',
    'stage',
    'Sign-ins that expired, by how far they came: started, opened or called_back.',
  ],
  [
    'ended',
    'outcome',
    'Sign-ins that came to an end, by outcome as in the log, or cancelled, or expired.',
  ],
] as const;

function signInMetrics({ providers }: Counts): Metric[] {
  const each = [...providers];
  return [
    ...STEPS.map(([step, counted, help]) => {
      const samples = each.map(([provider, counts]) => {
        return { labels: { provider }, value: counts[counted] };
      });
      return counter(`sign_ins_${step}`, help, samples);
    }),
    ...ENDS.map(([end, label, help]) => {
      const samples = each.flatMap(([provider, counts]) => {
        return samplesBy(label, counts[end], { provider });
      });
      return counter(`sign_ins_${end}`, help, samples);
    }),
    histogram(
      'delivery_wait',
      'From the result in the store to its delivery.',
      each.map(([provider, { wait }]) => [{ provider }, wait]),
    ),
  ];
}

function requestMetrics({ providers, rateLimited, failedRequests, store }: Counts): Metric[] {
  const grants = [...providers].flatMap(([provider, counts]) =>
    GRANTS.map((grant) => ({
      labels: { provider, grant },
      counts: counts[grant],
    })),
  );
  return [
    counter(
      'upstream_requests',
      'Requests to token and revocation endpoints, by grant (exchange, refresh or revoke) and outcome.',
      grants.flatMap(({ labels, counts }) => samplesBy('outcome', counts.outcomes, labels)),
    ),
    histogram(
      'upstream_request_duration',
      'Requests to token and revocation endpoints, to the last byte of the response.',
      grants.map(({ labels, counts }) => [labels, counts.duration]),
    ),
    counter(
      'rate_limited',
      'Requests that a rate limit refused, by kind.',
      samplesBy('kind', rateLimited),
    ),
    counter(
      'requests_failed',
      'Requests that got a 5xx, or a fault that devices get as a 204 or 400, by kind: start, device or browser.',
      samplesBy('kind', failedRequests),
    ),
    histogram('store_command_duration', 'Scripts that Redis ran.', [[{}, store.duration]]),
    counter(
      'store_errors',
      'Scripts that Redis refused, or did not answer (unreachable).',
      samplesBy('reason', store.failures),
    ),
  ];
}

function relayMetrics({ maxSessions, runtime }: Constants, state: ServiceState): Metric[] {
  const { liveSessions, parkedPolls, readiness } = state;
  const { version } = packageJson;
  return [
    gauge(
      'sign_in_relay_live_sessions',
      'Sign-ins in progress; with Redis, those of all instances.',
      liveSessions,
    ),
    gauge('sign_in_relay_parked_polls', 'Polls that this instance holds open.', parkedPolls),
    gauge('sign_in_relay_ready', '1 while /ready gets a 200.', readiness.status === 'down' ? 0 : 1),
    gauge(
      'sign_in_relay_limited',
      '1 while /ready gets a 200 that says which requests fail.',
      readiness.status === 'degraded' ? 1 : 0,
    ),
    gauge('sign_in_relay_max_sessions', 'MAX_SESSIONS.', maxSessions),
    gauge('sign_in_relay_build_info', 'The version and the runtime, as labels.', 1, {
      version,
      runtime,
    }),
  ];
}

/** Under the names that every client library uses. */
function processMetrics(): Metric[] {
  const { user, system } = cpuUsage();
  const { open, max } = readFileDescriptors();
  return [
    {
      type: 'counter',
      name: 'process_cpu_seconds_total',
      help: 'Processor time, of user and system.',
      samples: [{ labels: {}, value: (user + system) / 1e6 }],
    },
    gauge('process_resident_memory_bytes', 'Resident memory.', memoryUsage().rss),
    gauge('process_open_fds', 'Open file descriptors, which includes connections.', open),
    gauge('process_max_fds', 'File descriptors that the process may open.', max),
    gauge(
      'process_start_time_seconds',
      'When the process started, in seconds since 1970.',
      Math.round(performance.timeOrigin / 1_000),
    ),
  ];
}

function counter(name: string, help: string, samples: readonly Sample[]): Metric {
  return { type: 'counter', name: `sign_in_relay_${name}_total`, help, samples };
}

/** One sample for each name. */
function samplesBy(
  label: string,
  counts: ReadonlyMap<string, number>,
  labels: Labels = {},
): Sample[] {
  return [...counts].map(([name, value]) => ({ labels: { ...labels, [label]: name }, value }));
}

/** An unknown value has no sample. */
function gauge(name: string, help: string, value: number | undefined, labels: Labels = {}): Metric {
  return { type: 'gauge', name, help, samples: value === undefined ? [] : [{ labels, value }] };
}

function histogram(
  name: string,
  help: string,
  distributions: readonly (readonly [labels: Labels, distribution: Distribution])[],
): Metric {
  const samples = distributions.flatMap(([labels, each]) => samplesOf(labels, each));
  return { type: 'histogram', name: `sign_in_relay_${name}_seconds`, help, samples };
}

/** The buckets of Prometheus are cumulative. */
function samplesOf(labels: Labels, { bounds, counts, sum }: Distribution): Sample[] {
  let below = 0;
  const buckets = [...counts].map((count, index) => {
    below += count;
    return {
      suffix: '_bucket',
      labels: { ...labels, le: bounds[index] ?? '+Inf' },
      value: below,
    };
  });
  return [
    ...buckets,
    { suffix: '_sum', labels, value: sum },
    { suffix: '_count', labels, value: below },
  ];
}
