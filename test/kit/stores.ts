/**
 * Stores as the tests use them: in memory and over a real Redis, each with a time
 * that the test moves. The tests' names for the verbs are those of this file.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { type Clock, systemClock } from '../../src/relay/clock.ts';
import type { RateLimiter, RateLimitPolicy } from '../../src/relay/rate-limit.ts';
import type { RefreshAnswerStore } from '../../src/relay/refresh-answers.ts';
import { createCapability, createUserCode, createVerifier } from '../../src/relay/secrets.ts';
import type { ErrorResult, SessionResult } from '../../src/relay/session.ts';
import type { FindBy, NewSession, News, SessionStore } from '../../src/relay/store.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { createMemoryRateLimiter } from '../../src/stores/memory-rate-limiter.ts';
import { createMemoryRefreshAnswers } from '../../src/stores/memory-refresh-answers.ts';
import { openRedis, type RedisOptions, type RedisStores } from '../../src/stores/open-redis.ts';
import { parseRedisUrl } from '../../src/stores/redis-url.ts';
import { createFakeClock, type FakeClock } from './clock.ts';

export { StoreUnavailable } from '../../src/relay/store.ts';
export type { ErrorResult, NewSession, News, RateLimitPolicy, SessionResult };
export { parseRedisUrl, systemClock };

export const NOW = 1_700_000_000_000;
export const LIFETIME_MS = 600_000;
export const TOKENS = { accessToken: 'access', refreshToken: 'refresh', expiresIn: 3_600 };
export const DENIED = { error: 'access_denied' } as const;
export const CLAIMED = { state: 'claimed', result: TOKENS } as const;
export const PENDING = { state: 'pending' } as const;
export const GONE = { state: 'gone' } as const;

export const createState = () => createCapability(randomBytes);
export const createCode = () => createUserCode(randomBytes);

export function newSession(overrides: Partial<NewSession> = {}): NewSession {
  return {
    browserState: createState(),
    pollSecret: createState(),
    service: 'mal',
    verifier: createVerifier(randomBytes),
    lifetimeMs: LIFETIME_MS,
    ...overrides,
  };
}

type Of = Pick<NewSession, 'browserState'> & Partial<Pick<NewSession, 'service'>>;

/** A session store by the test's time. A verb that is for the user's browser is given the session, or its state. */
export function createTestStore(store: SessionStore, time: { now(): number }) {
  return {
    register: (session: NewSession) => store.register(session, time.now()),
    getAuthorization: ({ service = 'mal', browserState }: Of) =>
      store.open(service, browserState, time.now()),
    getSession: (by: FindBy) => store.find(by, time.now()),
    useCode: (userCode = '') => store.useCode(userCode, time.now()),
    fail: ({ service = 'mal', browserState }: Of, result: ErrorResult = DENIED) =>
      store.fail(service, browserState, result, time.now()),
    lease: ({ service = 'mal', browserState }: Of) =>
      store.lease(service, browserState, time.now()),
    complete: ({ service = 'mal', browserState }: Of, result: SessionResult = TOKENS) =>
      store.complete(service, browserState, result, time.now()),
    claim: (pollSecret: string, signal?: AbortSignal) =>
      store.claim(pollSecret, time.now(), signal),
    acknowledge: (pollSecret: string) => store.acknowledge(pollSecret, time.now()),
    watch: (pollSecret: string, wake: (news: News) => void) => store.watch(pollSecret, wake),
    /** Resolves with the next news of that session. */
    untilWoken: (pollSecret: string) =>
      new Promise<News>((wake) => {
        store.watch(pollSecret, wake);
      }),
    sweep: () => store.sweep(time.now()),
  };
}

export type TestStore = ReturnType<typeof createTestStore>;

export async function register(store: TestStore, overrides: Partial<NewSession> = {}) {
  const session = newSession(overrides);
  const outcome = await store.register(session);
  if (outcome !== 'registered') throw new Error(`not registered: ${outcome}`);
  return session;
}

export async function registerCompleted(store: TestStore, overrides: Partial<NewSession> = {}) {
  const session = await register(store, overrides);
  await store.lease(session);
  await store.complete(session);
  return session;
}

export function createTestLimiter(limiter: RateLimiter, time: { now(): number }) {
  return {
    take: (address: string) => limiter.take(address, time.now()),
    refund: (address: string) => limiter.giveBack(address, time.now()),
    sweep: () => limiter.sweep(time.now()),
  };
}

export type TestLimiter = ReturnType<typeof createTestLimiter>;

export function createTestRefreshes(refreshes: RefreshAnswerStore, time: { now(): number }) {
  return {
    begin: (key: string) => refreshes.begin(key, time.now()),
    settle: (key: string, answer: string | undefined) => refreshes.settle(key, answer, time.now()),
  };
}

export type TestRefreshes = ReturnType<typeof createTestRefreshes>;

export interface TestStores {
  readonly time: FakeClock;
  readonly store: TestStore;
  readonly refreshes: TestRefreshes;
  createLimiter(policy: RateLimitPolicy, name?: string): TestLimiter;
  close(): void;
}

/** What is kept in the memory stores is counted by `sizes`. */
export function openMemory({ maxSessions = 5_000 } = {}) {
  const time = createFakeClock(NOW);
  const store = createMemoryStore({ maxSessions });
  const refreshes = createMemoryRefreshAnswers(time);
  const limiters: { size: number }[] = [];
  return {
    time,
    store: createTestStore(store, time),
    refreshes: createTestRefreshes(refreshes, time),
    createLimiter(policy: RateLimitPolicy) {
      const limiter = createMemoryRateLimiter(policy);
      limiters.push(limiter);
      return createTestLimiter(limiter, time);
    },
    sizes: () => ({
      sessions: store.size,
      refreshes: refreshes.size,
      buckets: limiters.map(({ size }) => size),
    }),
    close: () => {},
  } satisfies TestStores & { sizes(): unknown };
}

/** Gives up earlier than a relay would: after a second at most. */
export const IMPATIENT: Clock = {
  ...systemClock,
  setTimer: (delayMs, run) => systemClock.setTimer(Math.min(delayMs, 1_000), run),
};

export interface TestRedisOptions
  extends Partial<Pick<RedisOptions, 'prefix' | 'maxSessions' | 'onEvent' | 'randomBytes'>> {
  /** For timers, where a test speeds them up. */
  readonly timers?: Clock;
  /** By the store's own clock, as in production. */
  readonly usesOwnTime?: boolean;
}

/** What the test does not say is as in production, apart from the time and a prefix of its own. */
export async function openTestRedis(url: string, options: TestRedisOptions = {}) {
  const { timers = systemClock, usesOwnTime = false, ...overrides } = options;
  const target = parseRedisUrl(url);
  if (target === undefined) throw new Error(`no address of a Redis: ${url}`);
  const time = createFakeClock(NOW);
  const stores: RedisStores = await openRedis({
    target,
    prefix: `test-${randomUUID()}:`,
    maxSessions: 5_000,
    clock: timers,
    randomBytes,
    onEvent: () => {},
    clockOf: () => (usesOwnTime ? '' : time.now()),
    ...overrides,
  });
  return {
    time,
    /** As the service uses them. */
    stores,
    store: createTestStore(stores.store, time),
    refreshes: createTestRefreshes(stores.refreshAnswers, time),
    createLimiter: (policy: RateLimitPolicy, name = 'start') =>
      createTestLimiter(stores.createRateLimiter(name, policy), time),
    close: () => stores.close(),
  } satisfies TestStores & { stores: RedisStores };
}
