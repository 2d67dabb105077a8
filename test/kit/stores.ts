/**
 * Stores as the tests use them: in memory and over a real Redis, each with a time
 * that the test moves. The tests' names for the verbs are those of this file.
 */
import { expect } from 'bun:test';
import { randomBytes, randomUUID } from 'node:crypto';
import type { RateLimiter, RateLimitPolicy } from '../../src/relay/rate-limit.ts';
import { createMemoryRateLimiter } from '../../src/relay/rate-limit.ts';
import { createDrawSecrets, createUserCode, createVerifier } from '../../src/relay/secrets.ts';
import type { ErrorResult, SessionOutcome, SessionResult } from '../../src/relay/session.ts';
import type {
  ExchangeParameters,
  NewSession,
  Notice,
  SessionKey,
  SessionStore,
  Waiter,
} from '../../src/relay/store.ts';
import { type Clock, systemClock } from '../../src/relay/time.ts';
import type { Stores } from '../../src/service.ts';
import { createMemoryRefreshStore } from '../../src/stores/memory/refreshes.ts';
import { createMemoryStore } from '../../src/stores/memory/sessions.ts';
import { openRedis, type RedisOptions } from '../../src/stores/redis/open.ts';
import { parseRedisUrl } from '../../src/stores/redis/url.ts';
import { openSessionsFile } from '../../src/stores/sqlite/file.ts';
import { openSqliteStores } from '../../src/stores/sqlite/open.ts';
import type { Sql } from '../../src/stores/sqlite/rows.ts';
import { createFakeClock, type FakeClock } from './clock.ts';

export { StoreUnavailable } from '../../src/relay/store.ts';
export type { NewSession, Notice, RateLimitPolicy, SessionOutcome, SessionResult, Waiter };
export { systemClock };

export const NOW = 1_700_000_000_000;
export const LIFETIME_MS = 600_000;
export const TOKENS = { accessToken: 'access', refreshToken: 'refresh', expiresIn: 3_600 };
export const DENIED = { error: 'access_denied' } as const;
export const CLAIMED = { state: 'claimed', result: TOKENS } as const;
/** Of any session, however long it lives. */
export const PENDING = { state: 'pending', endsInMs: expect.any(Number) } as const;
export const GONE = { state: 'gone' } as const;

export const createCode = () => createUserCode(randomBytes);

interface NewSessionOptions extends Partial<NewSession> {
  /** One that is drawn with the other secrets. */
  readonly withUserCode?: boolean;
}

const drawSecrets = createDrawSecrets(randomBytes);

export function newSession(options: NewSessionOptions = {}): NewSession {
  const { withUserCode = false, ...overrides } = options;
  return {
    ...drawSecrets(withUserCode),
    service: 'mal',
    verifier: createVerifier(randomBytes),
    lifetimeMs: LIFETIME_MS,
    deviceName: undefined,
    repeatMs: undefined,
    keepsErrors: false,
    ...overrides,
  };
}

type Of = Pick<NewSession, 'browserState'> & Partial<Pick<NewSession, 'service'>>;

export function createWaiter(notify: (notice: Notice) => void): Waiter {
  return { registeredAs: '', notify };
}

/** A session store whose verbs return promises. One that is for the user's browser is given the session, or its state. */
function createTestStore(store: SessionStore) {
  return {
    register: async (session: NewSession) => store.register(session),
    async authorize({ service = 'mal', browserState }: Of) {
      return exchangeParametersOf(await store.authorize(service, browserState));
    },
    getSession: async (key: SessionKey) => store.getSession(key),
    fail: async ({ service = 'mal', browserState }: Of, error: ErrorResult = DENIED) =>
      store.fail(service, browserState, error),
    async lease({ service = 'mal', browserState }: Of) {
      const leased = await store.lease(service, browserState);
      return leased && { ...exchangeParametersOf(leased), deviceName: leased.deviceName };
    },
    complete: async ({ service = 'mal', browserState }: Of, result: SessionResult = TOKENS) =>
      store.complete(service, browserState, result),
    claim: async (pollSecret: string) => store.claim(pollSecret),
    acknowledge: async (pollSecret: string) => store.acknowledge(pollSecret),
    takeOpenedNotice: async (pollSecret: string) => store.takeOpenedNotice(pollSecret),
    cancel: async (pollSecret: string) => store.cancel(pollSecret),
    addWaiter: store.addWaiter,
    removeWaiter: store.removeWaiter,
    /** Adds a waiter; resolves when it is notified. */
    untilNotified: (pollSecret: string) =>
      new Promise<Notice>((notify) => store.addWaiter(pollSecret, createWaiter(notify))),
    /** The same for one that wants progress. */
    untilProgress: (pollSecret: string) =>
      new Promise<Notice>((notify) =>
        store.addWaiter(pollSecret, { ...createWaiter(notify), wantsProgress: true }),
      ),
    observe: store.observe,
    countLive: async () => store.countLive(),
    hasUndelivered: store.hasUndelivered,
    sweep: async () => store.sweep(),
  };
}

/** What the session has of it. A store may return more than it has to. */
function exchangeParametersOf(found: ExchangeParameters | undefined) {
  if (found === undefined) return undefined;
  const { verifier, challenge, authorizationUrl, details } = found;
  return {
    verifier,
    ...(challenge && { challenge }),
    ...(authorizationUrl && { authorizationUrl }),
    ...(details && { details }),
  };
}

export type TestStore = ReturnType<typeof createTestStore>;

export async function tryRegister(store: TestStore, overrides: NewSessionOptions = {}) {
  return store.register(newSession(overrides));
}

export async function register(store: TestStore, overrides: NewSessionOptions = {}) {
  const session = newSession(overrides);
  const outcome = await store.register(session);
  if (outcome !== 'registered') throw new Error(`not registered: ${outcome}`);
  return session;
}

export async function registerCompleted(store: TestStore, overrides: NewSessionOptions = {}) {
  const session = await register(store, overrides);
  await store.lease(session);
  await store.complete(session);
  return session;
}

export interface TestStores extends Omit<Stores, 'sessions' | 'createRateLimiter'> {
  readonly time: FakeClock;
  readonly store: TestStore;
  createRateLimiter(policy: RateLimitPolicy, name?: string): RateLimiter;
}

/** What is kept in the memory stores is counted by `sizes`. */
export function openMemory({ maxSessions = 5_000 } = {}) {
  const time = createFakeClock(NOW);
  const sessions = createMemoryStore(time, maxSessions);
  const refreshes = createMemoryRefreshStore(time);
  const limiters: { readonly size: number }[] = [];
  return {
    time,
    store: createTestStore(sessions),
    refreshes,
    createRateLimiter(policy) {
      const limiter = createMemoryRateLimiter(time, policy);
      limiters.push(limiter);
      return limiter;
    },
    sizes: () => ({
      sessions: sessions.size,
      outcomes: sessions.outcomes,
      refreshes: refreshes.size,
      buckets: limiters.map(({ size }) => size),
    }),
    close: () => {},
  } satisfies TestStores & { sizes(): unknown };
}

interface DurableOptions {
  readonly maxSessions?: number;
  readonly time?: FakeClock;
  readonly onWrite?: (untilMs: number) => void;
  readonly onProblem?: (problem: string | undefined) => void;
}

/** Those of a Durable Object. On the same SQLite once more: as after an eviction. */
export function openDurable(sql: Sql, options: DurableOptions = {}) {
  const { time = createFakeClock(NOW), ...others } = options;
  const stores = openSqliteStores({
    sql,
    clock: time,
    randomBytes,
    maxSessions: 5_000,
    onWrite: () => {},
    onProblem: () => {},
    ...others,
  });
  return {
    time,
    stores,
    store: createTestStore(stores.sessions),
    refreshes: stores.refreshes,
    createRateLimiter: (policy, name = 'test') => stores.createRateLimiter(name, policy),
    close: () => {},
  } satisfies TestStores & { stores: unknown };
}

/** A sessions file. On the same path once more, after `close`: as after a restart. */
export async function openFile(
  path: string,
  { maxSessions = 5_000, time = createFakeClock(NOW) } = {},
) {
  const onProblem = () => {};
  const stores = await openSessionsFile({ path, clock: time, randomBytes, maxSessions, onProblem });
  return {
    ...stores,
    time,
    stores,
    store: createTestStore(stores.sessions),
    createRateLimiter: (policy, name = 'test') => stores.createRateLimiter(name, policy),
  } satisfies TestStores & { stores: unknown };
}

/** Gives up earlier than a relay would: after a second at most. */
export const IMPATIENT: Clock = {
  ...systemClock,
  setTimer: (delayMs, run) => systemClock.setTimer(Math.min(delayMs, 1_000), run),
};

export interface TestRedisOptions
  extends Partial<
    Pick<RedisOptions, 'prefix' | 'maxSessions' | 'onEvent' | 'randomBytes' | 'waitMs'>
  > {
  /** For timers, where a test speeds them up. */
  readonly timers?: Clock;
  /** By the store's own clock, as in production. */
  readonly usesOwnTime?: boolean;
  /** Not given: one of its own. */
  readonly time?: FakeClock;
}

/** What the test does not say is as in production, apart from the time and a prefix of its own. */
export async function openTestRedis(url: string, options: TestRedisOptions = {}) {
  const { timers = systemClock, usesOwnTime = false, ...others } = options;
  const { time = createFakeClock(NOW), ...overrides } = others;
  const target = parseRedisUrl(url);
  if (target === undefined) throw new Error(`no address of a Redis: ${url}`);
  const stores: Stores = await openRedis({
    target,
    prefix: `test-${randomUUID()}:`,
    waitMs: 5_000,
    maxSessions: 5_000,
    clock: timers,
    randomBytes,
    onEvent: () => {},
    ...(!usesOwnTime && { testClock: time }),
    ...overrides,
  });
  return {
    time,
    /** As the service uses them. */
    stores,
    store: createTestStore(stores.sessions),
    refreshes: stores.refreshes,
    createRateLimiter: (policy, name = 'start') => stores.createRateLimiter(name, policy),
    close: stores.close,
  } satisfies TestStores & { stores: Stores };
}
