/**
 * The metrics, by the conventions of Prometheus: base units, `_total` for counters.
 * docs/operating.md lists each; deploy/alerts.yaml and deploy/grafana.json use them.
 * @see https://prometheus.io/docs/practices/naming/
 */
import { cpuUsage, memoryUsage } from 'node:process';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import packageJson from '../../package.json' with { type: 'json' };
import { readFileDescriptors } from '../file-descriptors.ts';
import type { Monitor } from '../monitor.ts';
import type { Present } from '../service.ts';

export interface MetricsOptions {
  readonly services: readonly string[];
  readonly maxSessions: number;
  readonly readPresent: () => Promise<Present>;
}

export type Metrics = ReturnType<typeof createMetrics>;

/** From what memory takes to when a device gives up. */
const DELIVERY_BUCKETS = [0.001, 0.005, 0.025, 0.1, 0.5, 1, 5, 15, 60];
/** Up to EXCHANGE_TIMEOUT_MS. */
const UPSTREAM_BUCKETS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15];
/** Up to STORE_DEADLINE_MS. */
const STORE_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1, 2];

export function createMetrics({ services, maxSessions, readPresent }: MetricsOptions) {
  const registers = [new Registry()];
  const [registry = new Registry()] = registers;

  /** Zero from the start, or the first event of a provider would be no increase. */
  function byProvider(step: string, help: string) {
    const name = `sign_in_relay_sign_ins_${step}_total`;
    const counter = new Counter({ name, help, labelNames: ['provider'], registers });
    for (const provider of services) counter.inc({ provider }, 0);
    return counter;
  }

  const started = byProvider('started', 'Sign-ins that devices started.');
  const opened = byProvider('opened', 'Sign-ins whose link led a user to the provider.');
  const calledBack = byProvider('called_back', 'Sign-ins whose user came back from the provider.');
  const exchanged = byProvider('exchanged', 'Sign-ins whose code the provider exchanged.');
  const delivered = byProvider('delivered', 'Sign-ins whose result a device fetched.');
  const expired = new Counter({
    name: 'sign_in_relay_sign_ins_expired_total',
    help: 'Sign-ins that expired, by how far they came: started, opened or called_back.',
    labelNames: ['provider', 'stage'],
    registers,
  });
  const ended = new Counter({
    name: 'sign_in_relay_sign_ins_ended_total',
    help: 'Sign-ins that came to an end, by outcome as in the log, or cancelled, or expired.',
    labelNames: ['provider', 'outcome'],
    registers,
  });
  const deliveryWait = new Histogram({
    name: 'sign_in_relay_delivery_wait_seconds',
    help: 'From the result in the store to its delivery.',
    labelNames: ['provider'],
    buckets: DELIVERY_BUCKETS,
    registers,
  });
  const upstreamRequests = new Counter({
    name: 'sign_in_relay_upstream_requests_total',
    help: 'Requests to token endpoints, by grant (exchange or refresh), outcome, and status (0: no answer).',
    labelNames: ['provider', 'grant', 'outcome', 'status'],
    registers,
  });
  const upstreamDuration = new Histogram({
    name: 'sign_in_relay_upstream_request_duration_seconds',
    help: 'Requests to token endpoints, to the last byte of the answer.',
    labelNames: ['provider', 'grant'],
    buckets: UPSTREAM_BUCKETS,
    registers,
  });
  const rateLimited = new Counter({
    name: 'sign_in_relay_rate_limited_total',
    help: 'Requests that a rate limit refused, by kind.',
    labelNames: ['kind'],
    registers,
  });
  for (const kind of ['start', 'refresh', 'code', 'qr', 'poll']) rateLimited.inc({ kind }, 0);
  const storeDuration = new Histogram({
    name: 'sign_in_relay_store_command_duration_seconds',
    help: 'Scripts that Redis carried out.',
    buckets: STORE_BUCKETS,
    registers,
  });
  const storeErrors = new Counter({
    name: 'sign_in_relay_store_errors_total',
    help: 'Scripts that Redis refused, or did not answer (unreachable).',
    labelNames: ['reason'],
    registers,
  });
  for (const reason of ['refused', 'unreachable']) storeErrors.inc({ reason }, 0);

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
  const process = createProcessMetrics(registers);

  function gauge(name: string, help: string) {
    return new Gauge({ name: `sign_in_relay_${name}`, help, registers });
  }

  const monitor: Omit<Monitor, 'failed'> = {
    started: (provider) => started.inc({ provider }),
    opened: (provider) => opened.inc({ provider }),
    calledBack: (provider) => calledBack.inc({ provider }),
    answered({ service: provider, grant, outcome, status = 0, tookMs }) {
      if (grant === 'exchange' && outcome === 'granted') exchanged.inc({ provider });
      upstreamRequests.inc({ provider, grant, outcome, status });
      upstreamDuration.observe({ provider, grant }, tookMs / 1_000);
    },
    delivered(provider, waitedMs) {
      delivered.inc({ provider });
      deliveryWait.observe({ provider }, waitedMs / 1_000);
    },
    ended: (provider, outcome) => ended.inc({ provider, outcome }),
    expired: (provider, stage) => expired.inc({ provider, stage }),
    rateLimited: (kind) => rateLimited.inc({ kind }),
    storeAnswered: (tookMs) => storeDuration.observe(tookMs / 1_000),
    storeFailed: (reason) => storeErrors.inc({ reason }),
  };

  return {
    monitor,
    contentType: registry.contentType,
    /** For the page. */
    ...{ started, opened, calledBack, exchanged, delivered, expired },
    ...{ deliveryWait, upstreamDuration, storeDuration },
    async write(): Promise<string> {
      const present = await readPresent();
      // A gauge that is not known is left out: its last value would be taken for the present one.
      if (present.liveSessions === undefined) liveSessions.remove();
      else liveSessions.set(present.liveSessions);
      parkedPolls.set(present.parkedPolls);
      ready.set(present.unreadiness === undefined ? 1 : 0);
      process.read();
      return registry.metrics();
    },
  };
}

/** By the names that every client library uses. prom-client's own are those of Node, of which Bun has no values. */
function createProcessMetrics(registers: Registry[]) {
  const cpu = new Counter({
    name: 'process_cpu_seconds_total',
    help: 'Processor time, of user and system.',
    registers,
  });
  const memory = new Gauge({
    name: 'process_resident_memory_bytes',
    help: 'Resident memory.',
    registers,
  });
  const openFiles = new Gauge({
    name: 'process_open_fds',
    help: 'Open file descriptors, which includes connections.',
    registers,
  });
  const maxFiles = new Gauge({
    name: 'process_max_fds',
    help: 'File descriptors that the process may open.',
    registers,
  });
  new Gauge({
    name: 'process_start_time_seconds',
    help: 'When the process started, in seconds since 1970.',
    registers,
  }).set(Math.round(performance.timeOrigin / 1_000));
  return {
    read(): void {
      const { user, system } = cpuUsage();
      cpu.reset();
      cpu.inc((user + system) / 1e6);
      memory.set(memoryUsage().rss);
      const { open, max } = readFileDescriptors();
      if (open !== undefined) openFiles.set(open);
      if (max !== undefined) maxFiles.set(max);
    },
  };
}
