/**
 * Settings become a running relay that any runtime can mount: a fetch handler,
 * and what to do at the end. Knows no runtime.
 */
import { createAdmit, createWarnOnce } from './http/admission.ts';
import { createApp, type HandleRequest } from './http/app.ts';
import { createBeginSignIn } from './http/begin-sign-in.ts';
import { createFindClientAddress } from './http/client-address.ts';
import { DISCOVERY_RETRY_MS, SWEEP_INTERVAL_MS } from './limits.ts';
import { openStores, type Stores } from './open-stores.ts';
import { log } from './operate/log.ts';
import { discoverProvider } from './providers/discovery.ts';
import { type EnabledProvider, enableProvider, redirectUriOf } from './providers/enabled.ts';
import { exchangeCode } from './providers/exchange.ts';
import type { Provider } from './providers/provider.ts';
import { refreshTokens } from './providers/refresh.ts';
import { createRequestTokens, type Fetch } from './providers/token-endpoint.ts';
import { createUpstreamLimit } from './providers/upstream-limit.ts';
import { createRateLimiters } from './rate-limiters.ts';
import type { Clock } from './relay/clock.ts';
import { createRefreshAnswers, type RefreshAnswers } from './relay/refresh-answers.ts';
import { createRelay, type Relay } from './relay/relay.ts';
import type { RandomBytes } from './relay/secrets.ts';
import type { ProviderToDiscover, Settings } from './settings/index.ts';

/** What of the world the relay needs, so that a test can be the world. */
export interface World {
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
  readonly fetch: Fetch;
  /** How many requests the runtime makes at once; more would wait. Absent: any number. */
  readonly fetchesAtOnce?: number;
}

export interface Service {
  readonly handle: HandleRequest;
  /** Provider name -> what the operator registers there. */
  redirectUris(): Record<string, string>;
  /**
   * Ends all that the service does by itself, and closes its store; polls are
   * answered 204. Nothing of it keeps the process running after that. `drain`
   * first: whatever else is under way is lost.
   */
  close(): void;
  /**
   * Answers every parked poll 204 and refuses new sessions, then resolves once no
   * exchange or refresh is under way and devices had time to fetch what came of it.
   */
  drain(): Promise<void>;
  /** Resolves once no request to the store is under way that changes something. For after the last request came in. */
  settled(): Promise<void>;
}

/**
 * A service that is ready for requests: its store is open, and each issuer was
 * asked for its addresses once. Rejects when the store cannot be reached.
 */
export async function startService(settings: Settings, world: World): Promise<Service> {
  if (settings.baseUrl === undefined) return createDisabledService();
  const stores = await openStores(settings, world);
  const service = createService({ ...settings, baseUrl: settings.baseUrl }, world, stores);
  await service.discover();
  return service;
}

export interface DiscoveringService extends Service {
  /** Asks each issuer for its addresses, within DISCOVERY_TIMEOUT_MS; those that do not answer are asked again later. */
  discover(): Promise<void>;
}

export function createService(
  settings: Settings & { readonly baseUrl: string },
  world: World,
  stores: Stores,
): DiscoveringService {
  const { baseUrl } = settings;
  const { clock } = world;
  const { store, refreshAnswers } = stores;
  const relay = createRelay({ ...settings, ...world, store });
  const providers = new Map<string, EnabledProvider | 'undiscovered'>();
  const enable = (provider: Provider) => {
    providers.set(provider.name, enableProvider(provider, baseUrl));
  };
  for (const { name } of settings.discoveries) providers.set(name, 'undiscovered');
  settings.providers.forEach(enable);
  const refreshes = createRefreshAnswers(refreshAnswers, clock);
  const warnOfFull = createWarnOnce('providers_full', PROVIDERS_FULL_HINT);
  const requestTokens = createRequestTokens(world.fetch, clock, {
    keepAlive: settings.providerKeepAlive,
  });
  const { all: rateLimiters, ...limits } = createRateLimiters(settings, stores);

  let ready = true;
  let closed = false;

  /** Runs after `delayMs`, unless the service is closed by then. */
  function later(delayMs: number, run: () => void): void {
    clock.setTimer(delayMs, () => {
      if (!closed) run();
    });
  }

  function sweepLater(): void {
    later(SWEEP_INTERVAL_MS, () => {
      for (const kept of [store, ...rateLimiters]) kept.sweep(clock.now()).catch(() => {});
      sweepLater();
    });
  }
  sweepLater();

  /** An issuer that does not answer keeps nobody from signing in elsewhere. */
  async function discover(asked: ProviderToDiscover): Promise<void> {
    const outcome = await discoverProvider(asked, world.fetch);
    if (outcome.ok) return enable(outcome.provider);
    if (closed) return;
    log.warning('provider_not_discovered', { service: asked.name, problem: outcome.problem });
    later(DISCOVERY_RETRY_MS, () => void discover(asked).catch(() => {}));
  }

  return {
    handle: createApp({
      auth: {
        ...settings,
        baseUrl,
        relay,
        ...limits,
        clock,
        providers,
        admit: createAdmit(createFindClientAddress(settings.trustedProxyCidrs), clock),
        beginSignIn: createBeginSignIn(relay),
        exchange: (provider, grant) => exchangeCode(requestTokens, provider, grant),
        refresh: (provider, grant) => refreshTokens(requestTokens, provider, grant),
        refreshAnswers: refreshes,
        upstreamLimit: createUpstreamLimit(warnOfFull, world.fetchesAtOnce),
      },
      isReady: () => ready,
    }),
    redirectUris() {
      const names = [...settings.providers, ...settings.discoveries].map(({ name }) => name);
      return Object.fromEntries(names.map((name) => [name, redirectUriOf(name, baseUrl)]));
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
      ready = false;
      await drain(relay, refreshes);
    },
    settled: relay.settled,
  };
}

const PROVIDERS_FULL_HINT =
  'as many requests are under way at a provider as may be: callbacks and refreshes are answered 503 until one ends';

/**
 * The 204 tells devices to poll again, so those whose exchange is under way are
 * parked anew before it ends, and get its tokens here.
 */
async function drain(relay: Relay, refreshes: RefreshAnswers): Promise<void> {
  relay.drain();
  refreshes.drain();
  await Promise.all([relay.delivered(), refreshes.settled()]);
  relay.close();
}

/** `protocol.md` §1: without a base address there is nothing to relay, but a process that says so. */
function createDisabledService(): Service {
  return {
    handle: createApp({ isReady: () => true }),
    redirectUris: () => ({}),
    close: () => {},
    drain: async () => {},
    settled: async () => {},
  };
}
