/**
 * Stores for tests, in memory, on SQLite and over a real Redis, each with a clock that the test
 * moves; and the operations on them, one function for each.
 */
import type { Database } from 'bun:sqlite';
import { expect } from 'bun:test';
import { randomBytes, randomUUID } from 'node:crypto';
import type { Stores } from '../../src/service.ts';
import {
  createCapability,
  createUserCode,
  type SessionSecrets,
  signInIdOf,
} from '../../src/sign-ins/secrets.ts';
import * as machine from '../../src/sign-ins/session.ts';
import { createSignIns } from '../../src/sign-ins/sign-ins.ts';
import type { Store } from '../../src/sign-ins/store.ts';
import { type Clock, systemClock } from '../../src/sign-ins/time.ts';
import type { Vault } from '../../src/sign-ins/vault.ts';
import { openRedis, type RedisOptions } from '../../src/stores/redis/open.ts';
import { parseRedisUrl } from '../../src/stores/redis/url.ts';
import { openSessionsFile } from '../../src/stores/sqlite/file.ts';
import { openSqliteStores, type Sql } from '../../src/stores/sqlite/open.ts';
import { endWithFile } from './cleanup.ts';
import { createFakeClock, type FakeClock } from './clock.ts';
import { createMemoryStores } from './service.ts';

export { StoreUnavailable } from '../../src/sign-ins/store.ts';
export { systemClock };

export const NOW = 1_700_000_000_000;
export const LIFETIME_MS = 600_000;
export const TOKENS = { accessToken: 'access', refreshToken: 'refresh', expiresIn: 3_600 };
export const DELIVERED = { state: 'delivered', result: TOKENS } as const;
/** What a poll of a pending session returns, however long it lives. */
export const PENDING = {
  state: 'pending',
  isOpened: false,
  unchangedForMs: expect.any(Number),
} as const;
export const GONE = { state: 'gone' } as const;

export const createCode = () => createUserCode(randomBytes);

/** A session as its device and its user know it. */
export interface TestSession extends SessionSecrets {
  readonly service: string;
  readonly lifetimeMs: number;
  readonly delivery: machine.Delivery;
  readonly deviceName: string | undefined;
  readonly redeliveryMs: number | undefined;
}

interface TestSessionOptions extends Partial<TestSession> {
  /** One that is drawn with the other secrets. */
  readonly withUserCode?: boolean;
}

export function newSession(options: TestSessionOptions = {}): TestSession {
  const { withUserCode = false, ...overrides } = options;
  return {
    browserState: createCapability(randomBytes),
    pollSecret: createCapability(randomBytes),
    userCode: withUserCode ? createCode() : undefined,
    service: 'mal',
    delivery: { kind: 'tokens', verifier: randomBytes(48).toString('base64url') },
    lifetimeMs: LIFETIME_MS,
    deviceName: undefined,
    redeliveryMs: undefined,
    ...overrides,
  };
}

type SessionLink = Pick<TestSession, 'browserState'> & Partial<Pick<TestSession, 'service'>>;

/** The operations of sign-ins on a store. Lease and completion are separate here, and a poll fails if the store does. */
function createTestStore(store: Store, vault: Vault) {
  const signIns = createSignIns({
    store,
    vault,
    observer: { opened() {}, delivered() {}, resultLost() {}, cancelled() {}, expired() {} },
    clock: systemClock,
    randomBytes,
    sessionSeconds: LIFETIME_MS / 1_000,
  });

  async function poll(pollSecret: string, wantsProgress = false) {
    const { id, resultOf } = vault.poll(pollSecret);
    const polled = await store.update({ poll: id }, machine.poll(wantsProgress));
    if (polled?.state !== 'delivered') return polled ?? GONE;
    return { state: 'delivered', result: resultOf(polled.session) } as const;
  }

  return {
    store,
    vault,
    signIns,
    async create(session: TestSession) {
      const { service, redeliveryMs, lifetimeMs } = session;
      const signIn = signInIdOf(session.browserState);
      const kept = { ...vault.protect(session), service, signIn, redeliveryMs };
      return store.create(kept, lifetimeMs);
    },
    /** The delivery of a pending session; otherwise how the sign-in ended. */
    open: async ({ service = 'mal', browserState }: SessionLink) =>
      signIns.open(service, browserState),
    /** What a page shows of a pending session; otherwise how the sign-in ended. */
    async find(by: { readonly browserState: string } | { readonly userCode: string }) {
      const key = 'browserState' in by ? { browserState: by.browserState } : by;
      const found = await signIns.find(key);
      if (found === undefined) return undefined;
      if ('outcome' in found) return found.outcome;
      const { ageMs: _, ...shown } = found;
      return shown;
    },
    async fail({ service = 'mal', browserState }: SessionLink) {
      const { outcome } = await signIns.fail(service, browserState, 'access_denied');
      return outcome === 'access_denied';
    },
    /** What the holder of the lease needs. Undefined if another caller has the lease. */
    async lease({ browserState }: SessionLink) {
      const link = vault.link(browserState);
      const leased = await store.update({ link: link.id }, machine.lease);
      if (typeof leased !== 'object') return undefined;
      return { delivery: link.deliveryOf(leased), deviceName: link.deviceNameOf(leased) };
    },
    /** Acts as the holder of the lease. */
    async complete({ browserState }: SessionLink, result: machine.SessionResult = TOKENS) {
      const link = vault.link(browserState);
      const session = await store.update({ link: link.id }, (found) => ({ reply: found }));
      if (session === undefined) return false;
      const outcome = 'error' in result ? 'failed' : 'signed_in';
      const event = machine.complete(outcome, link.protectResult(session, result));
      return (await store.update({ link: link.id }, event, 'until lease ends')) === true;
    },
    poll,
    acknowledge: signIns.acknowledge,
    cancel: signIns.cancel,
    /** Whether the device learns now that its link was opened. */
    async learnsOpening(pollSecret: string) {
      const polled = await poll(pollSecret, true);
      return polled.state === 'pending' && polled.isOpened;
    },
    /** Resolves when a poll would be notified. */
    untilNotified: (pollSecret: string) =>
      new Promise<machine.Notice | 'recheck'>((resolve) => {
        const { id } = vault.poll(pollSecret);
        store.listen({
          notify: (pollId, notice) => pollId === id && resolve(notice),
          recheckAll: () => resolve('recheck'),
        });
      }),
    countLive: async () => store.countLive(),
    /** The sign-in ids of those whose time has ended, and their stages. */
    sweep: async () =>
      (await store.sweep()).map((session) => [session.signIn, machine.stageOf(session)] as const),
  };
}

export type TestStore = ReturnType<typeof createTestStore>;

export async function create(store: TestStore, overrides: TestSessionOptions = {}) {
  const session = newSession(overrides);
  const outcome = await store.create(session);
  if (outcome !== 'created') throw new Error(`not created: ${outcome}`);
  return session;
}

export async function createCompleted(store: TestStore, overrides: TestSessionOptions = {}) {
  const session = await create(store, overrides);
  await store.lease(session);
  await store.complete(session);
  return session;
}

export interface TestStores extends Pick<Stores, 'refreshes' | 'createRateLimiter' | 'close'> {
  readonly time: FakeClock;
  readonly store: TestStore;
}

/** Opens empty stores for one test. */
export type OpenStores = (options?: { readonly maxSessions: number }) => Promise<TestStores>;

/** `stores`: as the service uses them. */
function openedAt<Opened extends Pick<Stores, 'sessions' | 'vault'>>(
  time: FakeClock,
  stores: Opened,
) {
  const store = createTestStore(stores.sessions, stores.vault);
  return { close() {}, ...stores, time, stores, store };
}

interface Options {
  readonly maxSessions?: number;
  readonly time?: FakeClock;
}

export function openMemory({ maxSessions = 5_000, time = createFakeClock(NOW) }: Options = {}) {
  return openedAt(time, createMemoryStores(time, maxSessions));
}

interface DurableOptions extends Options {
  readonly onProblem?: (problem: string, hasEnded: boolean) => void;
}

/** SQLite as a Durable Object has it. */
export const sqlOf = (database: Database) => ({
  exec: (statement: string, ...values: (string | number)[]) =>
    database.query(statement).all(...values) as Record<string, unknown>[],
});

/** Those of a Durable Object. On the same SQLite once more: as after an eviction. */
export function openDurable(sql: Sql, options: DurableOptions = {}) {
  const { time = createFakeClock(NOW), maxSessions = 5_000, onProblem = () => {} } = options;
  const parts = { sql, clock: time, randomBytes, maxSessions, onWrite() {}, onProblem };
  return openedAt(time, openSqliteStores(parts));
}

/** A sessions file. On the same path once more, after `close`: as after a restart. */
export async function openFile(path: string, options: Options = {}) {
  const { time = createFakeClock(NOW), maxSessions = 5_000 } = options;
  const parts = { path, clock: time, randomBytes, maxSessions, onEvent() {} };
  return openedAt(time, await openSessionsFile(parts));
}

/** Gives up earlier than a relay would: after a second at most. */
export const IMPATIENT: Clock = {
  ...systemClock,
  setTimer: (delayMs, run) => systemClock.setTimer(Math.min(delayMs, 1_000), run),
};

interface TestRedisOptions
  extends Partial<Pick<RedisOptions, 'prefix' | 'maxSessions' | 'onEvent' | 'waitMs'>> {
  /** The clock of timers, for a test that speeds them up. */
  readonly timers?: Clock;
  /** True if the store's own clock counts, as in production. */
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
  const stores = await openRedis({
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
  endWithFile(stores.close);
  return openedAt(time, stores);
}
