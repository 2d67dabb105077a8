/** The whole service behind its fetch handler, in this process, with a fake clock and a fake provider. */
import { randomBytes } from 'node:crypto';
import template from '../../src/http/endpoints/openapi.json' with { type: 'json' };
import { startLog } from '../../src/log.ts';
import type { Monitor } from '../../src/monitor.ts';
import type { Fetch, ProviderConfig } from '../../src/providers/config.ts';
import { createMemoryRateLimiter, type MemoryRateLimiter } from '../../src/relay/rate-limit.ts';
import type { SessionStore } from '../../src/relay/store.ts';
import { createService, type Stores } from '../../src/service.ts';
import type { Settings } from '../../src/settings/index.ts';
import { maintain } from '../../src/start-service.ts';
import { createMemoryRefreshStore } from '../../src/stores/memory/refreshes.ts';
import { createMemoryStore } from '../../src/stores/memory/sessions.ts';
import { createApiCheck } from './api-document.ts';
import { createFakeClock, type FakeClock } from './clock.ts';
import { createEventLog } from './relay.ts';

export { StoreUnavailable } from '../../src/relay/store.ts';
export type { Fetch };

export const BASE_URL = 'https://relay.test';

const MAL: ProviderConfig = {
  name: 'mal',
  displayName: 'MyAnimeList',
  authorizeUrl: 'https://mal.test/authorize',
  tokenUrl: 'https://mal.test/token',
  clientId: 'mal-client',
  clientAuth: 'post',
  pkce: 'plain',
  authorizeParams: {},
};

const ANILIST: ProviderConfig = {
  ...MAL,
  name: 'anilist',
  displayName: 'AniList',
  authorizeUrl: 'https://anilist.test/authorize',
  tokenUrl: 'https://anilist.test/token',
  clientId: 'anilist-client',
  clientSecret: 'anilist-client-secret',
  pkce: 'none',
};

export const SETTINGS: Settings & { baseUrl: string } = {
  baseUrl: BASE_URL,
  port: 0,
  adminHost: '127.0.0.1',
  adminNames: [],
  trustedProxyCidrs: [],
  providers: [MAL, ANILIST],
  discoveries: [],
  providerOrder: ['mal', 'anilist'],
  sessionSeconds: 600,
  pollSeconds: 50,
  maxSessions: 5_000,
  startBurst: 3,
  startRatePerSecond: 1,
  confirm: 'code',
  blind: 'allow',
  branding: {},
  corsOrigins: [],
  logLevel: 'info',
  logFormat: 'json',
};

const VERBS = [
  'register',
  'authorize',
  'getSession',
  'fail',
  'lease',
  'complete',
  'claim',
  'acknowledge',
  'takeOpenedNotice',
  'cancel',
  'sweep',
] as const satisfies readonly (keyof SessionStore)[];

export type Verb = (typeof VERBS)[number];

export interface TestServiceOptions {
  /** The provider's token endpoint. Not given: it grants whatever it is asked for. */
  readonly fetch?: Fetch;
  /** Called before each verb of the store: it may count, wait, throw, or do something first. */
  readonly beforeVerb?: (verb: Verb, ...args: readonly unknown[]) => unknown;
  /** Another service whose store and clock this one shares, like a second instance. */
  readonly sharing?: { readonly store: SessionStore; readonly clock: FakeClock };
  /** Stores other than memory, and their clock. */
  readonly stores?: Stores;
  readonly clock?: FakeClock;
  readonly refreshes?: Stores['refreshes'];
  readonly createRateLimiter?: Stores['createRateLimiter'];
  readonly randomBytes?: (length: number) => Buffer;
  readonly fetchesAtOnce?: number;
  readonly maxParkedPolls?: number;
  readonly monitor?: Monitor;
}

export type TestService = ReturnType<typeof createTestService>;

const grantTokens: Fetch = async () =>
  Response.json({ access_token: 'granted', expires_in: 3_600 });

export function createTestService(
  overrides: Partial<typeof SETTINGS> = {},
  options: TestServiceOptions = {},
) {
  const { fetch = grantTokens, beforeVerb, sharing } = options;
  const settings = { ...SETTINGS, ...overrides };
  const clock: FakeClock = options.clock ?? sharing?.clock ?? createFakeClock();
  /** The forms that reached the provider. */
  const exchanges: URLSearchParams[] = [];
  const memory = createMemoryStore(clock, settings.maxSessions);
  const limiters = new Map<string, MemoryRateLimiter>();
  const createMemoryLimiter: Stores['createRateLimiter'] = (name, policy) => {
    const limiter = createMemoryRateLimiter(clock, policy);
    limiters.set(name, limiter);
    return limiter;
  };
  const refreshes = createMemoryRefreshStore(clock);
  let waiters = 0;
  const shared = options.stores?.sessions ?? sharing?.store ?? memory;
  const store: SessionStore = {
    ...shared,
    addWaiter(...added) {
      waiters += 1;
      return shared.addWaiter(...added);
    },
    removeWaiter(waiter) {
      waiters -= 1;
      shared.removeWaiter(waiter);
    },
  };
  const manual = createService(
    settings,
    {
      clock,
      randomBytes: options.randomBytes ?? randomBytes,
      ...(options.fetchesAtOnce !== undefined && { fetchesAtOnce: options.fetchesAtOnce }),
      ...(options.maxParkedPolls !== undefined && { maxParkedPolls: options.maxParkedPolls }),
      ...(options.monitor !== undefined && { monitor: options.monitor }),
      fetch: (url, init) => {
        exchanges.push(new URLSearchParams(String(init.body)));
        return fetch(url, init);
      },
    },
    {
      refreshes: options.refreshes ?? refreshes,
      createRateLimiter: options.createRateLimiter ?? createMemoryLimiter,
      close: () => {},
      ...options.stores,
      sessions: beforeVerb ? withHook(store, beforeVerb) : store,
    },
  );
  const service = maintain(manual, clock);

  /** Every answer must be one that the API document describes. Without a peer: by a client that was not seen before. */
  async function ask(path: string, init: RequestInit = {}, peer: string = nextPeer()) {
    const request = new Request(new URL(path, BASE_URL), init);
    const response = await service.handle(request, { requestIP: () => ({ address: peer }) });
    await apiCheckOf(settings.baseUrl)(request, response);
    return response;
  }

  return {
    ...service,
    ask,
    clock,
    store,
    exchanges,
    /** How many polls are registered with the store, to be notified. */
    waiters: () => waiters,
    /** What is kept in memory, expired or not. */
    kept: () => ({
      sessions: memory.size,
      startBuckets: limiters.get('start')?.size ?? 0,
      refreshes: refreshes.size,
    }),
  };
}

/** From now on what the services of this process log. */
export function captureLog(level: Settings['logLevel'] = 'info') {
  const { take, events } = createEventLog();
  startLog({ level, format: 'json', write: take });
  return {
    events,
    named: (name: string) => events.filter(({ event }) => event === name),
  };
}

let clients = 0;

function nextPeer(): string {
  clients += 1;
  return `10.${(clients >> 16) & 255}.${(clients >> 8) & 255}.${clients & 255}`;
}

type AnyVerb = (...args: unknown[]) => unknown;

function withHook(store: SessionStore, before: (verb: Verb, ...args: unknown[]) => unknown) {
  const hooked = VERBS.map((verb) => {
    const run = store[verb] as AnyVerb;
    const hookedVerb: AnyVerb = async (...args) => {
      await before(verb, ...args);
      return run(...args);
    };
    return [verb, hookedVerb];
  });
  return { ...store, ...Object.fromEntries(hooked) } as SessionStore;
}

/** The API document of a relay at this address. */
export function describeApi(baseUrl: string): Record<string, unknown> {
  const { origin, pathname } = new URL(baseUrl);
  const filled = JSON.stringify(template)
    .replaceAll('{{BASE_URL}}', baseUrl)
    .replaceAll('{{ORIGIN}}', origin)
    .replaceAll('{{BASE_PATH}}', pathname.replace(/\/$/, ''));
  return JSON.parse(filled);
}

/** Compiling the schemas takes a while, and there are more services in the tests than documents. */
const apiChecks = new Map<string, ReturnType<typeof createApiCheck>>();

function apiCheckOf(baseUrl: string) {
  const check = apiChecks.get(baseUrl) ?? createApiCheck(describeApi(baseUrl));
  apiChecks.set(baseUrl, check);
  return check;
}
