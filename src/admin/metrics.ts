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
import type { Counts, Distribution, Facts } from './counts.ts';

export const METRICS_HEADERS = {
  'Content-Type': 'text/plain; version=0.0.4; charset=utf-8',
  'Cache-Control': 'no-store',
} as const;

type Labels = Readonly<Record<string, string | number>>;

/** `suffix`: `_bucket`, `_sum` or `_count` of a histogram. */
type Sample = readonly [labels: Labels, value: number, suffix?: string];

export function writeMetrics(counts: Counts, facts: Facts, state: ServiceState): string {
  return [
    ...signInMetrics(counts),
    ...requestMetrics(counts),
    ...relayMetrics(facts, state),
    ...processMetrics(),
  ].join('');
}

function metric(type: string, name: string, help: string, samples: readonly Sample[]): string {
  const lines = samples.map(([labels, value, suffix = '']) => {
    // No label has a character that must be escaped: they are names of settings and of our own.
    const pairs = Object.entries(labels).map(([label, text]) => `${label}="${text}"`);
    return `${name}${suffix}${pairs.length > 0 ? `{${pairs.join(',')}}` : ''} ${value}\n`;
  });
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`;
}

/** The name of each metric, what it counts, and its help. */
const STEPS = [
  ['started', 'started', 'Sign-ins that devices started.'],
  ['opened', 'opened', 'Sign-ins whose link redirected a user to the provider.'],
  ['called_back', 'calledBack', 'Sign-ins whose user came back from the provider.'],
  ['exchanged', 'exchanged', 'Sign-ins whose code the provider exchanged.'],
  ['delivered', 'delivered', 'Sign-ins whose result a device fetched.'],
] as const;

function signInMetrics({ providers }: Counts): string[] {
  const each = [...providers];
  const end = (name: 'expired' | 'ended', label: string, help: string) => {
    const samples = each.flatMap(([provider, counts]) =>
      samplesBy(label, counts[name], { provider }),
    );
    return counter(`sign_ins_${name}`, help, samples);
  };
  return [
    ...STEPS.map(([step, counted, help]) => {
      const samples = each.map(([provider, counts]) => [{ provider }, counts[counted]] as const);
      return counter(`sign_ins_${step}`, help, samples);
    }),
    end(
      'expired',
      'stage',
      'Sign-ins that expired, by how far they came: started, opened or called_back.',
    ),
    end(
      'ended',
      'outcome',
      'Sign-ins that came to an end, by outcome as in the log, or cancelled, or expired.',
    ),
    histogram(
      'delivery_wait',
      'From the result in the store to its delivery.',
      each.map(([provider, { wait }]) => [{ provider }, wait]),
    ),
  ];
}

function requestMetrics({ providers, rateLimited, failedRequests, store }: Counts): string[] {
  const grants = [...providers].flatMap(([provider, counts]) =>
    GRANTS.map((grant) => [{ provider, grant }, counts[grant]] as const),
  );
  return [
    counter(
      'upstream_requests',
      'Requests to token and revocation endpoints, by grant (exchange, refresh or revoke) and outcome.',
      grants.flatMap(([labels, { outcomes }]) => samplesBy('outcome', outcomes, labels)),
    ),
    histogram(
      'upstream_request_duration',
      'Requests to token and revocation endpoints, to the last byte of the response.',
      grants.map(([labels, { duration }]) => [labels, duration]),
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

function relayMetrics({ maxSessions, runtime }: Facts, state: ServiceState): string[] {
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
function processMetrics(): string[] {
  const { user, system } = cpuUsage();
  const { open, max } = readFileDescriptors();
  return [
    metric('counter', 'process_cpu_seconds_total', 'Processor time, of user and system.', [
      [{}, (user + system) / 1e6],
    ]),
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

const counter = (name: string, help: string, samples: readonly Sample[]) =>
  metric('counter', `sign_in_relay_${name}_total`, help, samples);

/** One sample for each name. */
const samplesBy = (label: string, counts: ReadonlyMap<string, number>, labels: Labels = {}) =>
  [...counts].map(([name, value]) => [{ ...labels, [label]: name }, value] as const);

/** A gauge whose value is unknown has no sample. */
const gauge = (name: string, help: string, value: number | undefined, labels: Labels = {}) =>
  metric('gauge', name, help, value === undefined ? [] : [[labels, value]]);

/** The buckets of Prometheus are cumulative. */
function histogram(
  name: string,
  help: string,
  distributions: readonly (readonly [labels: Labels, distribution: Distribution])[],
): string {
  const samples = distributions.flatMap(([labels, { bounds, counts, sum }]): Sample[] => {
    let below = 0;
    const buckets = [...counts].map((count, index): Sample => {
      below += count;
      return [{ ...labels, le: bounds[index] ?? '+Inf' }, below, '_bucket'];
    });
    return [...buckets, [labels, sum, '_sum'], [labels, below, '_count']];
  });
  return metric('histogram', `sign_in_relay_${name}_seconds`, help, samples);
}
