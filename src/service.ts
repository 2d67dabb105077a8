/**
 * Turns settings into a running relay that any runtime can mount: a fetch handler,
 * and how to drain and close it. Uses no API of a particular runtime.
 */
import { createApp, type HandleRequest } from './http/app.ts';
import { createCors } from './http/cors.ts';
import { basePathOf } from './http/request.ts';
import { createDisabledRoutes, createRoutes, type RateLimits } from './http/routes.ts';
import { createSignInLog } from './http/sign-in-log.ts';
import {
  CODE_LIMIT_OVERALL,
  CODE_LIMIT_PER_ADDRESS,
  DEVICE_POLL_LIMIT,
  DISCOVERY_RETRY_MS,
  QR_LIMIT_OVERALL,
  QR_LIMIT_PER_ADDRESS,
  REFRESH_LIMIT,
  SWEEP_INTERVAL_MS,
} from './limits.ts';
import { log, warnOnce } from './log.ts';
import { type Monitor, NO_MONITOR } from './monitor.ts';
import { discoverProvider, type ProviderToDiscover } from './providers/discovery.ts';
import {
  type BlindPolicy,
  createProvider,
  mayTakeChallenge,
  type Provider,
  type ProviderConfig,
  redirectUriOf,
} from './providers/provider.ts';
import { createTokenEndpoint, type Fetch } from './providers/token-endpoint.ts';
import type { RateLimiter, RateLimitPolicy } from './relay/rate-limit.ts';
import { createRefreshes, type RefreshStore } from './relay/refresh.ts';
import { createRelay } from './relay/relay.ts';
import type { RandomBytes } from './relay/secrets.ts';
import type { SessionStore } from './relay/store.ts';
import type { Clock } from './relay/time.ts';
import type { Settings } from './settings/index.ts';
import { createMemoryRateLimiter } from './stores/memory/rate-limits.ts';
import { createMemoryRefreshStore } from './stores/memory/refreshes.ts';
import { createMemoryStore } from './stores/memory/sessions.ts';
import type { RedisEvent } from './stores/redis/open.ts';

/** What the relay needs from outside. Tests pass fakes. */
export interface World {
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
  readonly fetch: Fetch;
  /** Absent: nobody counts. */
  readonly monitor?: Monitor;
  /** How many outgoing requests the runtime makes at once; more would wait. Absent: any number. */
  readonly fetchesAtOnce?: number;
}

export interface Stores {
  readonly sessions: SessionStore;
  readonly refreshes: RefreshStore;
  /** The name keeps the buckets of several limits apart. */
  createRateLimiter(name: string, policy: RateLimitPolicy): RateLimiter;
  /** Why sign-ins fail at the store now. Absent: they never do. */
  findProblem?(): string | undefined;
  close(): void;
}

export interface Service {
  readonly handle: HandleRequest;
  /** Provider name -> what the operator registers there. */
  redirectUris(): Record<string, string>;
  /**
   * Answers polls 204, stops all timers and closes the store. After that the service
   * does not keep the process running. Call `drain` first: whatever else is in progress
   * is lost.
   */
  close(): void;
  /**
   * Answers every parked poll 204 and refuses new sessions, then resolves once no
   * exchange or refresh is in progress and devices had time to claim their tokens.
   */
  drain(): Promise<void>;
  /** What the admin port shows of the present. */
  readPresent(): Promise<Present>;
  /** Resolves once no change to the store is in progress. To be called after the last request. */
  settled(): Promise<void>;
}

export interface Present {
  /** Undefined: the store does not answer. */
  readonly liveSessions: number | undefined;
  readonly parkedPolls: number;
  /** Why `/ready` answers 503. */
  readonly unreadiness: string | undefined;
}

type EnabledSettings = Settings & { readonly baseUrl: string };

/**
 * A service that is ready for requests: its store is open, and each issuer was asked
 * for its addresses once. Rejects when the store cannot be reached.
 */
export async function startService(settings: Settings, world: World): Promise<Service> {
  const { baseUrl } = settings;
  if (baseUrl === undefined) return createDisabledService();
  const stores = await openStores(settings, world);
  const service = createService({ ...settings, baseUrl }, world, stores);
  await service.discover();
  return service;
}

/** Rejects when the store that the settings name cannot be reached. */
async function openStores(settings: Settings, world: World): Promise<Stores> {
  const { redis, maxSessions, startBurst, startRatePerSecond } = settings;
  const { clock } = world;
  const startPolicy = { burst: startBurst, ratePerSecond: startRatePerSecond };
  if (redis === undefined) {
    return {
      sessions: createMemoryStore(clock, maxSessions, startPolicy),
      refreshes: createMemoryRefreshStore(clock),
      createRateLimiter: (_, policy) => createMemoryRateLimiter(clock, policy),
      close: () => {},
    };
  }
  // Loaded only where it is used: the client is larger than the rest of the relay.
  const { openRedis } = await import('./stores/redis/open.ts');
  const { monitor = NO_MONITOR } = world;
  const { onEvent, findProblem } = createStoreWatch();
  const stores = await openRedis({
    target: redis.target,
    prefix: redis.prefix,
    maxSessions,
    startPolicy,
    clock,
    randomBytes: world.randomBytes,
    monitor,
    onEvent,
  });
  return { ...stores, findProblem };
}

/** Logs what a store says of itself, and remembers what is wrong now. */
function createStoreWatch() {
  let isLost = false;
  const refusals = new Set<string>();
  return {
    onEvent(event: RedisEvent): void {
      logRedisEvent(event);
      if (event.type === 'store_lost') isLost = true;
      if (event.type === 'store_back') isLost = false;
      if (event.type === 'store_refuses') refusals.add(event.reason);
      if (event.type === 'store_accepts') refusals.delete(event.reason);
    },
    findProblem(): string | undefined {
      if (isLost) return 'store: Redis is unreachable';
      const [reason] = refusals;
      return reason === undefined ? undefined : `store: Redis refuses commands (${reason})`;
    },
  };
}

function logRedisEvent({ type, ...fields }: RedisEvent): void {
  log[GOOD_NEWS.has(type) ? 'info' : 'warning'](type, fields);
}

const GOOD_NEWS: ReadonlySet<string> = new Set([
  'store_back',
  'store_primary_back',
  'store_replicated',
  'store_accepts',
]);

export interface DiscoveringService extends Service {
  /** Asks each issuer for its addresses, within DISCOVERY_TIMEOUT_MS. Those that do not answer are asked again later. */
  discover(): Promise<void>;
}

const PROVIDERS_FULL_HINT =
  'the limit on requests to a provider is reached: callbacks and refreshes there are answered 503 until one ends';

export function createService(
  settings: EnabledSettings,
  world: World,
  stores: Stores,
): DiscoveringService {
  const { baseUrl } = settings;
  const { clock, monitor = NO_MONITOR } = world;
  const store = stores.sessions;
  const { rateLimits, limiters } = createRateLimits(stores, clock);
  const relay = createRelay({
    store,
    clock,
    randomBytes: world.randomBytes,
    sessionSeconds: settings.sessionSeconds,
  });
  const refreshes = createRefreshes(stores.refreshes, clock);
  const tokenEndpoint = createTokenEndpoint({
    fetch: world.fetch,
    clock,
    keepAlive: settings.providerKeepAlive,
    fetchesAtOnce: world.fetchesAtOnce ?? Number.POSITIVE_INFINITY,
    onFull: warnOnce('providers_full', PROVIDERS_FULL_HINT),
    monitor,
  });
  const providers = new Map<string, Provider | 'undiscovered'>();
  const signInLog = createSignInLog(providers, monitor);
  store.observe(signInLog.observer);
  let draining = false;
  let closed = false;

  function enable(config: ProviderConfig): void {
    providers.set(config.name, createProvider(config, baseUrl, tokenEndpoint));
  }

  /** Runs after `delayMs`, unless the service is closed by then. */
  function later(delayMs: number, run: () => void): void {
    clock.setTimer(delayMs, () => {
      if (!closed) run();
    });
  }

  function sweepLater(): void {
    later(SWEEP_INTERVAL_MS, () => {
      for (const limiter of limiters) limiter.sweep();
      // The next sweep tries again.
      Promise.resolve(store.sweep()).catch(() => {});
      sweepLater();
    });
  }

  /** If an issuer does not answer, only sign-ins at its provider fail. */
  async function discover(asked: ProviderToDiscover): Promise<void> {
    const outcome = await discoverProvider(asked, world.fetch);
    const problem = outcome.problem ?? findBlindProblem(outcome.provider, settings.blind);
    if (outcome.provider !== undefined && problem === undefined) return enable(outcome.provider);
    if (closed) return;
    log.warning('provider_not_discovered', { service: asked.name, problem });
    later(DISCOVERY_RETRY_MS, () => void discover(asked));
  }

  function findUnreadiness(): string | undefined {
    if (draining) return 'draining';
    const problem = stores.findProblem?.();
    if (problem !== undefined) return problem;
    const asked = [...providers].filter(([, provider]) => provider === 'undiscovered');
    // While others can be used, one whose issuer is down must not stop them.
    if (asked.length === 0 || asked.length < providers.size) return undefined;
    return `discovering: no issuer has answered yet (${asked.map(([name]) => name).join(', ')})`;
  }

  const offered = listInOrder(settings);
  for (const { name } of settings.discoveries) providers.set(name, 'undiscovered');
  settings.providers.forEach(enable);
  sweepLater();
  const parts = { relay, store, refreshes, providers, offered, rateLimits, clock };
  const providerNames = [...settings.providers, ...settings.discoveries].map(
    ({ displayName }) => displayName,
  );
  const routes = createRoutes(
    { ...settings, providerNames },
    { ...parts, monitor, signInLog, findUnreadiness, isDraining: () => draining },
  );

  return {
    handle: createApp(routes, {
      cors: createCors(settings.corsOrigins),
      basePath: basePathOf(baseUrl),
    }),
    redirectUris() {
      return Object.fromEntries(offered.map(({ name }) => [name, redirectUriOf(name, baseUrl)]));
    },
    async discover() {
      await Promise.all(settings.discoveries.map(discover));
    },
    close() {
      closed = true;
      relay.close();
      stores.close();
    },
    async drain() {
      draining = true;
      // The 204 makes devices poll again. So a device whose exchange is in progress is
      // parked again before the exchange ends, and gets its tokens here.
      relay.drain();
      refreshes.drain();
      await Promise.all([relay.delivered(), refreshes.settled()]);
      relay.close();
    },
    async readPresent() {
      // Removed first, or sessions in memory would count after they expired.
      await Promise.resolve(store.sweep()).catch(() => {});
      const liveSessions = await Promise.resolve(store.countLive()).catch(() => undefined);
      const unreadiness = findUnreadiness();
      return { liveSessions, parkedPolls: relay.countParked(), unreadiness };
    },
    async settled() {
      await store.settled();
    },
  };
}

/** Every enabled provider, in the order of `PROVIDERS`. */
export function listInOrder({ providers, discoveries, providerOrder }: Settings) {
  const placeOf = ({ name }: { readonly name: string }) => providerOrder.indexOf(name);
  return [...providers, ...discoveries].toSorted((a, b) => placeOf(a) - placeOf(b));
}

/** With BLIND=always such a provider could be used only by a relay that sees the tokens. */
function findBlindProblem(provider: ProviderConfig, blind: BlindPolicy): string | undefined {
  const isRefused = blind === 'always' && !mayTakeChallenge(provider);
  return isRefused ? 'BLIND is always, but its issuer does not offer PKCE with S256' : undefined;
}

/** Every rate limit but that on starts, which is the store's: those that hold over all instances, and those that protect this process alone. */
function createRateLimits(
  { createRateLimiter }: Stores,
  clock: Clock,
): { readonly rateLimits: RateLimits; readonly limiters: readonly RateLimiter[] } {
  const refreshLimiter = createRateLimiter('refresh', REFRESH_LIMIT);
  const codeLimits = {
    perAddress: createRateLimiter('code', CODE_LIMIT_PER_ADDRESS),
    overall: createRateLimiter('codes', CODE_LIMIT_OVERALL),
  };
  const pollLimiter = createMemoryRateLimiter(clock, DEVICE_POLL_LIMIT);
  const qrLimits = {
    perAddress: createMemoryRateLimiter(clock, QR_LIMIT_PER_ADDRESS),
    overall: createMemoryRateLimiter(clock, QR_LIMIT_OVERALL),
  };
  return {
    rateLimits: { refreshLimiter, codeLimits, pollLimiter, qrLimits },
    limiters: [
      ...[refreshLimiter, pollLimiter],
      ...Object.values(codeLimits),
      ...Object.values(qrLimits),
    ],
  };
}

/** Without a base URL the relay is disabled: it answers only that it is not configured. */
function createDisabledService(): Service {
  return {
    handle: createApp(createDisabledRoutes(), { cors: undefined, basePath: '' }),
    redirectUris: () => ({}),
    close: () => {},
    drain: async () => {},
    readPresent: async () => ({
      liveSessions: 0,
      parkedPolls: 0,
      unreadiness: 'not configured: OAUTH_BASE_URL is not set',
    }),
    settled: async () => {},
  };
}
