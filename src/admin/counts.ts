/**
 * The numbers behind metrics and page. Counting allocates nothing, because every sign-in
 * does it: the counters of prom-client made a sign-in 8 % more expensive.
 */
import {
  type Monitor,
  RATE_LIMIT_KINDS,
  REQUEST_KINDS,
  SIGN_IN_OUTCOMES,
  STAGES,
  STORE_FAILURES,
  UPSTREAM_OUTCOMES,
  type UpstreamOutcome,
} from '../monitor.ts';
import type { Clock } from '../sign-ins/time.ts';
import type { Recent } from './recent.ts';

/** What does not change while the process runs. */
export interface Facts {
  readonly clock: Clock;
  /** Every enabled provider, with the name that users see. */
  readonly services: readonly { readonly name: string; readonly displayName: string }[];
  readonly maxSessions: number;
  readonly runtime: string;
  /** True if several relays share the sessions. Each counts only what it does. */
  readonly isShared: boolean;
  readonly startedAtMs: number;
}

/** From a delivery within one process to a device that gives up. */
const DELIVERY_BOUNDS = [0.001, 0.005, 0.025, 0.1, 0.5, 1, 5, 15, 60];
/** Up to EXCHANGE_TIMEOUT_MS. */
const UPSTREAM_BOUNDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15];
/** Up to STORE_DEADLINE_MS. */
const STORE_BOUNDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1, 2];

export class Distribution {
  readonly counts: Float64Array;
  sum = 0;

  /** Seconds, ascending. Values above the last one are counted too. */
  constructor(readonly bounds: readonly number[]) {
    this.counts = new Float64Array(bounds.length + 1);
  }

  add(tookMs: number): void {
    const seconds = tookMs / 1_000;
    let at = 0;
    while (at < this.bounds.length && seconds > (this.bounds[at] ?? 0)) at += 1;
    this.counts[at] = (this.counts[at] ?? 0) + 1;
    this.sum += seconds;
  }
}

/** `impossible`: the outcome that no request of this grant has. */
const grantCounts = (impossible: UpstreamOutcome) => ({
  duration: new Distribution(UPSTREAM_BOUNDS),
  outcomes: zeros(UPSTREAM_OUTCOMES.filter((outcome) => outcome !== impossible)),
});

export class ProviderCounts {
  started = 0;
  opened = 0;
  calledBack = 0;
  delivered = 0;
  readonly expired = zeros(STAGES);
  readonly ended = zeros(SIGN_IN_OUTCOMES);
  readonly exchange = grantCounts('revoked');
  readonly refresh = grantCounts('revoked');
  readonly revoke = grantCounts('granted');
  readonly wait = new Distribution(DELIVERY_BOUNDS);

  get exchanged(): number {
    return this.exchange.outcomes.get('granted') ?? 0;
  }
}

/** Stands for every provider that no setting names. Such names come from records in Redis, and anyone who can write there could invent any number of them. */
const OTHER = 'other';

/** Stands for the unknown provider of a refused start. No provider has this name. */
const NO_PROVIDER = '';

export type Counts = ReturnType<typeof createCounts>;

/** Counts the relay's events, since the start and in the last hour. */
export function createCounts(services: readonly string[], recent: Recent) {
  const providers = new Map(services.map((name) => [name, new ProviderCounts()]));
  const rateLimited = zeros(RATE_LIMIT_KINDS);
  const failedRequests = zeros(REQUEST_KINDS);
  const store = { failures: zeros(STORE_FAILURES), duration: new Distribution(STORE_BOUNDS) };

  /** The name under which a provider is counted. */
  const nameOf = (service: string) => (services.includes(service) ? service : OTHER);

  function countsFor(service: string): ProviderCounts {
    const name = nameOf(service);
    const counts = providers.get(name) ?? new ProviderCounts();
    providers.set(name, counts);
    return counts;
  }

  const monitor: Monitor = {
    started(service) {
      countsFor(service).started += 1;
    },
    opened(service) {
      countsFor(service).opened += 1;
      recent.count(nameOf(service), 'opened');
    },
    calledBack(service) {
      countsFor(service).calledBack += 1;
    },
    providerResponded(service, grant, outcome, tookMs) {
      const { outcomes, duration } = countsFor(service)[grant];
      increase(outcomes, outcome);
      duration.add(tookMs);
    },
    delivered(service, waitedMs, isError) {
      const counts = countsFor(service);
      counts.delivered += 1;
      counts.wait.add(waitedMs);
      if (!isError) recent.count(nameOf(service), 'got_tokens');
    },
    ended(service, outcome) {
      increase(countsFor(service).ended, outcome);
      recent.count(nameOf(service), outcome);
    },
    expired(service, stage) {
      increase(countsFor(service).expired, stage);
      if (stage === 'opened') recent.count(nameOf(service), 'not_back');
    },
    rateLimited(kind) {
      increase(rateLimited, kind);
      if (kind === 'start' || kind === 'open') recent.count(NO_PROVIDER, 'start_refused');
    },
    requestFailed(kind) {
      increase(failedRequests, kind);
      if (kind === 'start') recent.count(NO_PROVIDER, 'start_refused');
    },
    storeAnswered: (tookMs) => store.duration.add(tookMs),
    storeFailed: (reason) => increase(store.failures, reason),
    failed: recent.failed,
    recovered: recent.recovered,
  };
  return { monitor, providers, rateLimited, failedRequests, store };
}

function zeros<Name extends string>(names: readonly Name[]): Map<Name, number> {
  return new Map(names.map((name) => [name, 0]));
}

function increase<Name extends string>(counts: Map<Name, number>, name: Name): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}
