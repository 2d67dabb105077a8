/**
 * Turns settings and stores into a relay: a fetch handler for any runtime, and functions to
 * drain and close it. Uses no API of a particular runtime, and repeats nothing by itself: its
 * host calls `sweep` and `discover` periodically.
 */
import { createAdmission, type RateLimits } from './http/admission.ts';
import { createApp, type HandleRequest } from './http/app.ts';
import { createContinueCookies } from './http/continue-cookies.ts';
import type { Dependencies } from './http/dependencies.ts';
import {
  createDisabledRoutes,
  createHealthRoutes,
  DRAINING,
  NOT_CONFIGURED,
  type Readiness,
} from './http/health.ts';
import { basePathOf } from './http/request.ts';
import { createPageResponses } from './http/responses.ts';
import { createRoutes, findRequestKind } from './http/routes.ts';
import { SignInLog } from './http/sign-in-log.ts';
import { CODE_LIMIT_PER_ADDRESS } from './limits.ts';
import { log, warnOnce } from './log.ts';
import { type Monitor, NO_MONITOR } from './monitor.ts';
import { createPages } from './pages/pages.ts';
import {
  type BlindPolicy,
  type Fetch,
  mayTakeChallenge,
  type ProviderConfig,
} from './providers/config.ts';
import { discoverProvider, mustDiscover, type ProviderToDiscover } from './providers/discovery.ts';
import { createProvider, createProviders, redirectUriOf } from './providers/provider.ts';
import { createRefreshes } from './providers/refreshes.ts';
import { createRevocations } from './providers/revocations.ts';
import { TokenEndpoint } from './providers/token-endpoint.ts';
import type { EnabledSettings } from './settings/index.ts';
import type { RateLimiter, RateLimitPolicy } from './sign-ins/rate-limits.ts';
import type { RandomBytes } from './sign-ins/secrets.ts';
import { createSignIns } from './sign-ins/sign-ins.ts';
import type { RefreshStore, Store, StoreProblem } from './sign-ins/store.ts';
import type { Clock } from './sign-ins/time.ts';
import type { Vault } from './sign-ins/vault.ts';
import { createMemoryRateLimiter } from './stores/memory.ts';

/** What the service uses of its process. Tests pass fakes. */
export interface ServiceDependencies {
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
  readonly fetch: Fetch;
  /** Default: no metrics. */
  readonly monitor?: Monitor;
  /** How many outgoing requests the runtime sends at once; further ones wait. Default: no limit. */
  readonly fetchesAtOnce?: number;
  /** How many polls there is memory for. Default: MAX_PARKED_POLLS. */
  readonly maxParkedPolls?: number;
}

export interface Stores {
  readonly sessions: Store;
  readonly vault: Vault;
  readonly refreshes: RefreshStore;
  /** Limits of different names have separate buckets. If absent, the buckets are in memory. */
  createRateLimiter?(name: string, policy: RateLimitPolicy): RateLimiter;
  /** Absent if this store cannot fail. */
  findProblem?(): StoreProblem | undefined;
  /** Absent if there is nothing to close. */
  close?(): void;
}

export interface Service {
  readonly handle: HandleRequest;
  /** Provider name -> what the operator registers there. */
  redirectUris(): Record<string, string>;
  /**
   * Answers polls with 204, stops all timers and closes the store. After that the
   * process can exit. Call `drain` first: any exchange in progress is lost.
   */
  close(): void;
  /**
   * Answers every parked poll with 204 and refuses new sessions, then resolves once no
   * exchange, refresh or revocation is in progress and devices have had time to fetch their tokens.
   */
  drain(): Promise<void>;
  /** The current state, for the admin port. */
  readState(): Promise<ServiceState>;
  /** Resolves once no change to the store is in progress. Call it after the last request. */
  settled(): Promise<void>;
  /** Tries discovery at each issuer that has not answered, within DISCOVERY_TIMEOUT_MS. `startService` does so periodically. */
  discover(): Promise<void>;
  /** Removes expired entries, as `startService` does. This frees memory only: lookups check expiry themselves. */
  sweep(): Promise<void>;
}

export interface ServiceState {
  /** Undefined if the store does not answer. */
  readonly liveSessions: number | undefined;
  readonly parkedPolls: number;
  readonly readiness: Readiness;
}

const PROVIDERS_FULL_HINT =
  'the limit on requests to a provider is reached: callbacks, refreshes and revocations there get a 503 until one ends';

export function createService(
  settings: EnabledSettings,
  dependencies: ServiceDependencies,
  stores: Stores,
): Service {
  const { baseUrl } = settings;
  const { clock, randomBytes, monitor = NO_MONITOR } = dependencies;
  const rateLimits = createRateLimits(stores, clock, settings);
  const refreshes = createRefreshes(stores.refreshes, stores.vault, clock);
  const revocations = createRevocations(refreshes);
  const tokenEndpoint = new TokenEndpoint({
    fetch: dependencies.fetch,
    clock,
    fetchesAtOnce: dependencies.fetchesAtOnce,
    onFull: warnOnce('providers_full', PROVIDERS_FULL_HINT),
    monitor,
  });
  const names = settings.providers.map(({ name }) => name);
  const providers = createProviders(settings.providers);
  const signInLog = new SignInLog(providers, monitor);
  const signIns = createSignIns({
    store: stores.sessions,
    vault: stores.vault,
    observer: signInLog.observer(),
    clock,
    randomBytes,
    sessionSeconds: settings.sessionSeconds,
    maxParkedPolls: dependencies.maxParkedPolls,
  });
  /** The last problem of each provider that is not discovered. */
  const problems = new Map<string, string | undefined>();
  let draining = false;
  let closed = false;

  function enable(provider: ProviderConfig): void {
    providers.add(createProvider(provider, baseUrl, tokenEndpoint, randomBytes));
  }

  /** If an issuer does not answer, only sign-ins at its provider fail. */
  async function discover(provider: ProviderToDiscover): Promise<void> {
    const outcome = await discoverProvider(provider, dependencies.fetch);
    const problem = outcome.problem ?? findBlindProblem(outcome.provider, settings.blind);
    if (outcome.provider !== undefined && problem === undefined) {
      if (problems.has(provider.name)) log.info('provider_discovered', { service: provider.name });
      return enable(outcome.provider);
    }
    // Each problem is logged once, and not at every try.
    if (closed || problems.get(provider.name) === problem) return;
    problems.set(provider.name, problem);
    log.warning('provider_not_discovered', { service: provider.name, problem });
  }

  function readiness(): Readiness {
    if (draining) return { status: 'down', reason: DRAINING };
    const problem = stores.findProblem?.();
    if (problem?.status === 'down') return problem;
    const missing = names.filter((name) => !providers.find(name).ok);
    // An issuer that is down must not take the other providers out of service.
    if (names.length > 0 && missing.length === names.length) {
      const reason = `discovering: no issuer has answered yet (${names.join(', ')})`;
      return { status: 'down', reason };
    }
    // A load balancer must not take callbacks and polls away because starts are refused.
    if (problem !== undefined || missing.length === 0) return problem ?? { status: 'ready' };
    const reason = `discovering: issuers that cannot be used yet (${missing.join(', ')}): the log says why (provider_not_discovered)`;
    return { status: 'degraded', reason };
  }

  /** Undefined if the store does not answer. */
  async function countLive(): Promise<number | undefined> {
    try {
      // Expire sessions first, so that the count is current.
      await signIns.sweep();
      return await signIns.countLive();
    } catch {
      return undefined;
    }
  }

  for (const provider of settings.providers) if (!mustDiscover(provider)) enable(provider);
  const { branding, corsOrigins, sessionSeconds, pollSeconds, confirm, blind } = settings;
  const { origin, host } = new URL(baseUrl);
  const basePath = basePathOf(baseUrl);
  const shownNames = settings.providers.map(({ displayName }) => displayName);
  const endpoints: Dependencies = {
    signIns,
    refreshes,
    revocations,
    providers,
    admission: createAdmission(
      settings.trustedProxyCidrs,
      [origin, ...corsOrigins],
      rateLimits,
      monitor,
    ),
    cookies: createContinueCookies(baseUrl, sessionSeconds),
    pages: createPageResponses(createPages(branding, host, basePath, shownNames)),
    clock,
    signInLog,
    baseUrl,
    basePath,
    sessionSeconds,
    pollSeconds,
    confirm,
    openEndpoints: settings.openEndpoints,
    maxSessions: settings.maxSessions,
    blind,
  };
  const routes = [...createRoutes(endpoints, branding), ...createHealthRoutes(readiness)];

  return {
    handle: createApp(routes, {
      corsOrigins,
      basePath,
      onFailure(route) {
        const kind = findRequestKind(route);
        if (kind !== undefined) monitor.requestFailed(kind);
      },
    }),
    redirectUris: () =>
      Object.fromEntries(names.map((name) => [name, redirectUriOf(name, baseUrl)])),
    async discover() {
      const issuers = settings.providers.filter(mustDiscover);
      await Promise.all(issuers.filter(({ name }) => !providers.find(name).ok).map(discover));
    },
    async sweep() {
      for (const limiter of Object.values(rateLimits)) limiter.sweep();
      await signIns.sweep();
    },
    close() {
      closed = true;
      signIns.close();
      stores.close?.();
    },
    async drain() {
      draining = true;
      // After the 204 devices poll again, so a device whose exchange is in progress is
      // parked again when the exchange ends, and gets its tokens here.
      signIns.drain();
      refreshes.drain();
      await Promise.all([signIns.drained(), refreshes.settled()]);
      signIns.close();
    },
    readState: async () => ({
      liveSessions: await countLive(),
      parkedPolls: signIns.countParked(),
      readiness: readiness(),
    }),
    settled: async () => signIns.settled(),
  };
}

/** Refuses a provider that takes no challenge if BLIND=always, because the relay would see its tokens. */
function findBlindProblem(provider: ProviderConfig, blind: BlindPolicy): string | undefined {
  const isRefused = blind === 'always' && !mayTakeChallenge(provider);
  return isRefused ? 'BLIND is always, but its issuer does not offer PKCE with S256' : undefined;
}

/**
 * Polls of one device code: three in 5 s, because some clients send each poll twice to
 * find out how to authenticate, and some clocks run a third too fast.
 */
const DEVICE_POLL_LIMIT = { burst: 4, ratePerSecond: 0.6 };

/** Refreshes from one address: all devices of a household at once, then one in two seconds. */
export const REFRESH_LIMIT = { burst: 10, ratePerSecond: 0.5 };

/** Revocations from one address: the same rate in a separate bucket, so that refreshes don't block signing out. */
const REVOKE_LIMIT = { burst: 10, ratePerSecond: 0.5 };

/** Wrong user codes from all addresses together. */
export const CODE_LIMIT_OVERALL = { burst: 50, ratePerSecond: 5 };

/** QR codes for one address: all devices of a household at once, then two a second. One takes 1 to 7 ms. */
const QR_LIMIT_PER_ADDRESS = { burst: 20, ratePerSecond: 2 };

/**
 * QR codes for all addresses together, in each process: three times what
 * 5,000 sign-ins need. At 7 ms each they take a sixth of one core.
 */
export const QR_LIMIT_OVERALL = { burst: 50, ratePerSecond: 25 };

/** The rate limits. Those that protect only this process are always in memory. */
function createRateLimits(
  stores: Stores,
  clock: Clock,
  { startBurst: burst, startRatePerSecond: ratePerSecond }: EnabledSettings,
): RateLimits {
  const local = (policy: RateLimitPolicy) => createMemoryRateLimiter(clock, policy);
  const { createRateLimiter = (_, policy) => local(policy) } = stores;
  return {
    start: createRateLimiter('start', { burst, ratePerSecond }),
    open: createRateLimiter('open', { burst, ratePerSecond }),
    refresh: createRateLimiter('refresh', REFRESH_LIMIT),
    revoke: createRateLimiter('revoke', REVOKE_LIMIT),
    code: createRateLimiter('code', CODE_LIMIT_PER_ADDRESS),
    codes: createRateLimiter('codes', CODE_LIMIT_OVERALL),
    poll: local(DEVICE_POLL_LIMIT),
    qr: local(QR_LIMIT_PER_ADDRESS),
    qrs: local(QR_LIMIT_OVERALL),
  };
}

/** The relay is disabled if it has no base URL. A Worker with wrong settings is disabled too, because it cannot refuse to start. */
export function createDisabledService(reason = NOT_CONFIGURED, basePath = ''): Service {
  return {
    handle: createApp(createDisabledRoutes(reason), { basePath }),
    redirectUris: () => ({}),
    close: () => {},
    drain: async () => {},
    readState: async () => ({
      liveSessions: 0,
      parkedPolls: 0,
      readiness: { status: 'down', reason },
    }),
    settled: async () => {},
    discover: async () => {},
    sweep: async () => {},
  };
}
