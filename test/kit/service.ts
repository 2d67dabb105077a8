/** The whole service behind its fetch handler, in this process, with a fake clock and a fake provider. */
import { randomBytes } from 'node:crypto';
import { describeApi } from '../../src/http/openapi/document.ts';
import { startLog } from '../../src/log.ts';
import type { Fetch, ProviderConfig } from '../../src/providers/config.ts';
import { createService, type Stores } from '../../src/service.ts';
import type { EnabledSettings, Settings } from '../../src/settings/index.ts';
import type { RateLimitPolicy } from '../../src/sign-ins/rate-limits.ts';
import type { Event, Pending } from '../../src/sign-ins/session.ts';
import type { Awaitable, SessionKey, Store } from '../../src/sign-ins/store.ts';
import type { Clock } from '../../src/sign-ins/time.ts';
import { startBackgroundTasks } from '../../src/start-service.ts';
import {
  createMemoryRateLimiter,
  createMemoryRefreshStore,
  createMemoryStore,
  plainVault,
} from '../../src/stores/memory.ts';
import { createApiCheck } from './api-document.ts';
import { createFakeClock, type FakeClock } from './clock.ts';
import { createEventLog } from './relay.ts';
import { createGate } from './wait.ts';

export { StoreUnavailable } from '../../src/sign-ins/store.ts';
export type { Fetch };

export const BASE_URL = 'https://relay.test';

export const MAL: ProviderConfig = {
  name: 'mal',
  displayName: 'MyAnimeList',
  authorizeUrl: 'https://mal.test/authorize',
  tokenUrl: 'https://mal.test/token',
  clientId: 'mal-client',
  clientAuth: 'post',
  pkce: 'plain',
  authorizeParams: {},
};

export const ANILIST: ProviderConfig = {
  ...MAL,
  name: 'anilist',
  displayName: 'AniList',
  authorizeUrl: 'https://anilist.test/authorize',
  tokenUrl: 'https://anilist.test/token',
  clientId: 'anilist-client',
  clientSecret: 'anilist-client-secret',
  pkce: 'none',
};

/** Another provider, which takes a challenge. */
export const ACME: ProviderConfig = {
  ...MAL,
  name: 'acme',
  displayName: 'Acme',
  authorizeUrl: 'https://acme.test/authorize',
  tokenUrl: 'https://acme.test/token',
  clientId: 'acme-client',
  pkce: 'S256',
};

/** The same provider, configured by its issuer. */
export const acmeAt = (issuer: string) => {
  const { name, displayName, clientId, authorizeParams } = ACME;
  return { name, displayName, clientId, authorizeParams, issuer };
};

export const SETTINGS: EnabledSettings & { providers: readonly ProviderConfig[] } = {
  baseUrl: BASE_URL,
  port: 0,
  adminHost: '127.0.0.1',
  adminNames: [],
  trustedProxyCidrs: [],
  providers: [MAL, ANILIST],
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

/** What a service asks of its store: the event of an update is recognized by what it would do. */
export type Asked =
  | 'create'
  | 'find'
  | 'open'
  | 'fail'
  | 'lease'
  | 'complete'
  | 'poll'
  | 'acknowledge'
  | 'cancel'
  | 'sweep';

/** Called before the store is asked: it may count, wait, throw, or do something first. `ask`: the same, at once. */
type BeforeStore = (asked: Asked, ask: () => unknown, key?: SessionKey) => unknown;

type Parts = Parameters<typeof createService>[1];

/** Settings, and what the service is made of. */
export interface TestServiceOptions
  extends Partial<EnabledSettings>,
    Partial<Omit<Parts, 'clock' | 'fetch'>> {
  /** The provider's token endpoint. Not given: it grants whatever it is asked for. */
  readonly fetch?: Fetch;
  readonly beforeStore?: BeforeStore;
  /** Another service whose store and clock this one shares, like a second instance. */
  readonly sharing?: { readonly store: Store; readonly clock: FakeClock };
  /** Those that are not in memory, and their clock. */
  readonly stores?: Partial<Stores>;
  readonly clock?: FakeClock;
}

export type TestService = ReturnType<typeof createTestService>;

const grantTokens: Fetch = async () =>
  Response.json({ access_token: 'granted', expires_in: 3_600 });

/** What a provider was asked. */
export interface Sent {
  readonly url: string;
  readonly method: string | undefined;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  /** The fields of the form, or the members of the JSON. */
  readonly fields: Readonly<Record<string, string>>;
}

function readSent(url: string, { method, headers, body }: RequestInit): Sent {
  const all = Object.fromEntries(new Headers(headers));
  const text = body as string | undefined;
  const isJson = all['content-type'] === 'application/json';
  const fields = isJson ? JSON.parse(String(text)) : Object.fromEntries(new URLSearchParams(text));
  return { url, method, headers: all, body: text, fields };
}

export function createTestService(options: TestServiceOptions = {}) {
  const { fetch = grantTokens, beforeStore, sharing, ...given } = options;
  const settings = { ...SETTINGS, ...given };
  const clock: FakeClock = options.clock ?? sharing?.clock ?? createFakeClock();
  const sent: Sent[] = [];
  const gate = createGate();
  const memory = createMemoryStores(clock, settings.maxSessions);
  const shared = sharing && { sessions: sharing.store };
  const stores: Stores = { ...memory, ...shared, ...options.stores };
  const { sessions: store } = stores;
  const manual = createService(
    settings,
    {
      randomBytes,
      ...given,
      clock,
      async fetch(url, init) {
        sent.push(readSent(url, init));
        await gate.pass();
        return fetch(url, init);
      },
    },
    { ...stores, sessions: beforeStore ? withHook(store, beforeStore) : store },
  );
  const service = startBackgroundTasks(manual, clock);

  /** Every answer must be one that the API document describes. If there is no `peer`: by a client that was not seen before. */
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
    /** The requests to providers. */
    sent,
    /** While it is closed, it holds every request to a provider. */
    gate,
    countParked: async () => (await service.readState()).parkedPolls,
    /** What is kept in memory, expired or not. */
    kept: memory.sizes,
  };
}

/** `sizes` counts what is kept in them. */
export function createMemoryStores(clock: Clock, maxSessions: number) {
  const sessions = createMemoryStore(clock, maxSessions);
  const refreshes = createMemoryRefreshStore(clock);
  const limiters = new Map<string, ReturnType<typeof createMemoryRateLimiter>>();
  return {
    sessions,
    vault: plainVault,
    refreshes,
    createRateLimiter(name: string, policy: RateLimitPolicy) {
      const limiter = createMemoryRateLimiter(clock, policy);
      limiters.set(name, limiter);
      return limiter;
    },
    close() {},
    sizes: () => ({
      sessions: sessions.size,
      startBuckets: limiters.get('start')?.size ?? 0,
      refreshes: refreshes.size,
    }),
  };
}

/** From now on what the services of this process log. */
export function captureLog(level: Settings['logLevel'] = 'info') {
  const { take, events, named } = createEventLog();
  startLog({ level, format: 'json', write: take });
  return { events, named };
}

let clients = 0;

function nextPeer(): string {
  clients += 1;
  return `10.${(clients >> 16) & 255}.${(clients >> 8) & 255}.${clients & 255}`;
}

function withHook(store: Store, before: BeforeStore): Store {
  async function hook<Reply>(
    asked: Asked,
    ask: () => Awaitable<Reply>,
    key?: SessionKey,
  ): Promise<Reply> {
    await before(asked, ask, key);
    return ask();
  }
  return {
    ...store,
    create: (...args) => hook('create', () => store.create(...args)),
    async update<Reply>(key: SessionKey, change: Event<Reply>, until?: 'until lease ends') {
      const found = await store.update(key, (session) => ({ reply: session.service }));
      return hook(nameOf(key, change, found ?? ''), () => store.update(key, change, until), key);
    },
    sweep: () => hook('sweep', () => store.sweep()),
  };
}

const SAMPLE: Omit<Pending, 'service'> = {
  state: 'pending',
  ids: { link: '', poll: '', code: undefined },
  signIn: '',
  startedAtMs: 0,
  expiresAtMs: 1,
  redeliveryMs: undefined,
  opening: 'none',
  keyMaterial: undefined,
  delivery: {} as Pending['delivery'],
  deviceName: undefined,
};

/** What an update is. `service`: that of the session, for an event of the browser. */
export function nameOf(key: SessionKey, change: Event<unknown>, service = ''): Asked {
  const { reply, next } = change({ ...SAMPLE, service }, 0);
  if ('poll' in key) {
    if (next?.state === 'cancelled') return 'cancel';
    return reply === 'early' ? 'acknowledge' : 'poll';
  }
  const exchanging = { ...SAMPLE, service, state: 'exchanging', leaseEndsAtMs: 1 } as const;
  if (change(exchanging, 0).next !== undefined) return 'complete';
  if (next?.state === 'exchanging') return 'lease';
  if (next?.state === 'completed') return 'fail';
  return next === undefined ? 'find' : 'open';
}

/** Compiling the schemas takes a while, and there are more services in the tests than documents. */
const apiChecks = new Map<string, ReturnType<typeof createApiCheck>>();

function apiCheckOf(baseUrl: string) {
  const check = apiChecks.get(baseUrl) ?? createApiCheck(describeApi(baseUrl));
  apiChecks.set(baseUrl, check);
  return check;
}
