/**
 * Parts of the Redis store, each by itself: what no real Redis can be made to do at
 * the right moment. Real refusals and outages are in test/redis.
 */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { ErrorReply } from '@redis/client';
import { NO_MONITOR } from '../../src/monitor.ts';
import { type Clock, systemClock } from '../../src/relay/time.ts';
import { createReplicationGate } from '../../src/stores/redis/claims.ts';
import {
  createRedisCommands,
  createStoreClock,
  type RedisCommands,
} from '../../src/stores/redis/commands.ts';
import { connectRedis, type RedisClient } from '../../src/stores/redis/connect.ts';
import { createRefusals, type RefusalEvent, reasonOf } from '../../src/stores/redis/failures.ts';
import {
  createKnownPolls,
  createOpenClaims,
  listenForWakeUps,
} from '../../src/stores/redis/pub-sub.ts';
import { createRedisKeys } from '../../src/stores/redis/records.ts';
import { createScript } from '../../src/stores/redis/scripts.ts';
import { createRedisStore } from '../../src/stores/redis/store.ts';
import { parseRedisUrl } from '../../src/stores/redis/url.ts';
import { createWaiters } from '../../src/stores/waiters.ts';
import { createFakeClock, runReady } from '../kit/clock.ts';
import {
  HEARTBEAT_MS,
  HEARTBEATS_TO_REBUILD,
  STORE_DEADLINE_MS,
  STORE_LATEST_MS,
  STORE_REFUSAL_QUIET_MS,
} from '../kit/limits.ts';
import { startCuttingProxy } from '../kit/redis/proxy.ts';
import { startRedis } from '../kit/redis/server.ts';
import {
  CLAIMED,
  createTestStore,
  createWaiter,
  GONE,
  NOW,
  openTestRedis,
  PENDING,
  registerCompleted,
} from '../kit/stores.ts';
import { pollUntil } from '../kit/wait.ts';

setDefaultTimeout(30_000);

const redis = await startRedis();
afterAll(() => redis.stop());

describe('REDIS_URL', () => {
  const at = (host: string, port: number) => ({ host, port });

  test.each([
    ['redis://localhost', { type: 'single', tls: false, addresses: [at('localhost', 6379)] }],
    ['redis://127.0.0.1:70/3', { type: 'single', database: 3, addresses: [at('127.0.0.1', 70)] }],
    ['rediss://[::1]:7000', { type: 'single', tls: true, addresses: [at('::1', 7000)] }],
    ['redis://:p%40ss@h', { password: 'p@ss' }],
    ['redis://user:p:a@ss@h', { username: 'user', password: 'p:a@ss' }],
    ['redis://a:1,b:2,c', { type: 'cluster', addresses: [at('a', 1), at('b', 2), at('c', 6379)] }],
    [
      'redis+sentinel://u:p@a,b:5/main',
      {
        ...{ type: 'sentinel', primaryName: 'main', username: 'u' },
        addresses: [at('a', 26_379), at('b', 5)],
      },
    ],
    ['rediss+sentinel://a/main', { type: 'sentinel', tls: true }],
  ])('%s is understood', (url, target) => {
    expect(parseRedisUrl(url)).toMatchObject(target);
  });

  test.each([
    ...['localhost:6379', 'http://localhost', 'redis://', 'redis://a:99999', 'redis://a:1,b:2/3'],
    ...['redis+sentinel://a', 'redis://a/x', 'redis://a b', 'redis://a,', 'redis://%zz:x@a'],
  ])('%s is refused', (url) => {
    expect(parseRedisUrl(url)).toBeUndefined();
  });
});

describe('the clock of the store, an hour ahead', () => {
  const AHEAD_MS = 3_600_000;

  /** Answers at once, unless `answering.now` lets time pass. */
  function createClock() {
    const clock = createFakeClock();
    const answering = { now: () => {} };
    const client: Pick<RedisClient, 'time'> = {
      async time() {
        const storeMs = clock.now() + AHEAD_MS;
        answering.now();
        return storeMs;
      },
    };
    const commands: Pick<RedisCommands, 'within'> = { within: (work) => work };
    const storeClock = createStoreClock(client as RedisClient, commands as RedisCommands, clock);
    const deadline = () => `until ${clock.now() + AHEAD_MS + STORE_LATEST_MS}`;
    return { clock, answering, storeClock, deadline };
  }

  test('a command carries its deadline by that clock', async () => {
    const { storeClock, deadline } = createClock();
    expect(storeClock.deadline()).toBe('');
    await storeClock.probe();
    expect(storeClock.deadline()).toBe(deadline());
  });

  test('an answer that was read after the process was suspended does not falsify it', async () => {
    const { clock, answering, storeClock, deadline } = createClock();
    await storeClock.probe();
    answering.now = () => clock.stall(7_000);
    await storeClock.probe();
    expect(storeClock.deadline()).toBe(deadline());
  });
});

describe('refusals', () => {
  const FULL = "OOM command not allowed when used memory > 'maxmemory'.";
  const inRedis6 = (refusal: string) =>
    `ERR Error running script (call to f_1f): @user_script:9: @user_script: 9: -${refusal}`;

  test.each([
    [FULL, 'OOM'],
    ["NOPERM this user has no permissions to run the 'evalsha' command", 'NOPERM'],
    // Of a command in a script: Redis 7, and Redis 6.
    [
      "ERR The user executing the script can't run this command script: 1f, on @user_script:9.",
      'NOPERM',
    ],
    [inRedis6(FULL), 'OOM'],
    [inRedis6("READONLY You can't write against a read only replica."), 'READONLY'],
    ['LATE not carried out', 'LATE'],
    ['an unknown text', 'ERR'],
  ])('%s is %s', (message, reason) => {
    expect(reasonOf(new ErrorReply(message))).toBe(reason);
  });

  const [writing, reading] = [createScript('return 1'), createScript('return 2')];

  function listen() {
    const clock = createFakeClock();
    const told: RefusalEvent[] = [];
    const refusals = createRefusals(clock, (event) => told.push(event));
    return { clock, refusals, events: () => told.map(({ type, reason }) => `${type} ${reason}`) };
  }

  test('each reason is reported once', () => {
    const { refusals, events } = listen();
    refusals.refused(writing, 'OOM');
    refusals.refused(writing, 'OOM');
    refusals.refused(reading, 'NOPERM');
    expect(events()).toEqual(['store_refuses OOM', 'store_refuses NOPERM']);
  });

  test('a refusal ends when the same script succeeds and there was none for a while', () => {
    const { clock, refusals, events } = listen();
    for (let count = 0; count < 10; count += 1) {
      refusals.refused(writing, 'READONLY');
      clock.advance(STORE_REFUSAL_QUIET_MS - 1);
      refusals.accepted(writing);
      refusals.accepted(reading);
    }
    clock.advance(1);
    refusals.accepted(reading);
    expect(events()).toEqual(['store_refuses READONLY']);
    refusals.accepted(writing);
    refusals.accepted(writing);
    expect(events()).toEqual(['store_refuses READONLY', 'store_accepts READONLY']);
    refusals.refused(writing, 'READONLY');
    expect(events()).toHaveLength(3);
  });

  test.each(['LATE', 'TRYAGAIN', 'MOVED', 'ASK'])('%s is part of normal operation', (reason) => {
    const { refusals, events } = listen();
    refusals.refused(writing, reason);
    expect(events()).toEqual([]);
  });
});

describe('the connection that listens for completions', () => {
  test('stays as it is as long as it receives its heartbeats, even under load', async () => {
    const HEARTBEATS = 1_000;
    const fast: Clock = {
      ...systemClock,
      setTimer: (delayMs, run) => systemClock.setTimer(delayMs === HEARTBEAT_MS ? 1 : delayMs, run),
    };
    const { createRateLimiter, close } = await openTestRedis(redis.url, { timers: fast });
    const limiter = createRateLimiter({ burst: 1, ratePerSecond: 1 });
    let isOver = false;
    // Answers are late then, and heartbeats arrive before them.
    async function work(): Promise<void> {
      while (!isOver) await limiter.take('192.0.2.1');
    }
    const findListener = async () =>
      /^id=\d+/.exec(await redis.cli('CLIENT', 'LIST', 'TYPE', 'pubsub'))?.[0];
    const listener = await findListener();
    expect(listener).toBeDefined();
    const workers = Array.from({ length: 50 }, work);
    await pollUntil(`${HEARTBEATS} heartbeats were sent`, async () => {
      const stats = await redis.cli('INFO', 'commandstats');
      return Number(/cmdstat_publish:calls=(\d+)/.exec(stats)?.[1]) >= HEARTBEATS;
    });
    isOver = true;
    await Promise.all(workers);
    expect(await findListener()).toBe(listener);
    close();
  });

  /** A server whose messages arrive when the test says so, or on the old connection when it is replaced. */
  function createSlowServer() {
    const underWay: (() => void)[] = [];
    const deliver = () => {
      for (const arrive of underWay.splice(0)) arrive();
    };
    let listener: ((message: string) => void) | undefined;
    let connections = 0;
    const client: Pick<RedisClient, 'publish' | 'subscribe'> = {
      async publish(_channel, message) {
        const listening = listener;
        underWay.push(() => listening?.(message));
        return 1;
      },
      async subscribe(_channel, onMessage) {
        connections += 1;
        deliver();
        listener = onMessage;
      },
    };
    return {
      client: client as RedisClient,
      deliver,
      lose: () => void underWay.splice(0),
      connections: () => connections,
    };
  }

  test('notifies every waiter after it was replaced, even if a heartbeat was only late', async () => {
    const server = createSlowServer();
    const clock = createFakeClock();
    const waiters = createWaiters();
    const within = <T>(work: Promise<T>) => work;
    const stop = await listenForWakeUps({
      ...{ client: server.client, commands: { within } as RedisCommands, clock, waiters },
      storeClock: { probe: async () => {}, deadline: () => '' },
      openClaims: createOpenClaims({ instance: 'instance', publish: async () => {}, clock }),
      knownPolls: createKnownPolls(clock),
      line: { wasCut: false },
      channel: 'instance',
      onLost: () => {},
      onBack: () => {},
    });
    server.deliver();
    for (let beat = 1; beat < HEARTBEATS_TO_REBUILD; beat += 1) {
      server.lose();
      clock.advance(HEARTBEAT_MS);
      await runReady();
    }
    clock.advance(HEARTBEAT_MS);
    await runReady();
    expect(server.connections()).toBe(2);
    const notices: string[] = [];
    waiters.add(
      'poll',
      createWaiter((notice) => notices.push(notice)),
    );
    clock.advance(HEARTBEAT_MS);
    await runReady();
    server.deliver();
    expect(notices).toEqual(['perhaps']);
    stop();
  });
});

describe('a claim with several attempts', async () => {
  const proxy = await startCuttingProxy(redis.port);
  afterAll(() => proxy.stop());
  const onCut = () => {};

  /** A store over a real Redis, of which the test says what its replicas know. */
  async function openStore(isReplicated: () => Promise<boolean>) {
    const target = parseRedisUrl(proxy.url);
    if (target === undefined) throw new Error('no address');
    const single = await connectRedis(target, onCut, new AbortController().signal);
    const client: RedisClient = {
      ...single,
      asClaimer: (_key, run) => run({ send: single.send, mayFailOver: true, isReplicated }),
    };
    const clock = systemClock;
    const refusals = createRefusals(clock, () => {});
    const commands = createRedisCommands({ client, clock, onCut, refusals, monitor: NO_MONITOR });
    const instance = 'instance';
    const publish = async () => {};
    const knownPolls = createKnownPolls(clock);
    const store = createRedisStore({
      ...{ client, commands, clock, randomBytes, instance, maxSessions: 10 },
      keys: createRedisKeys('late-undo:', false),
      waiters: createWaiters(),
      openClaims: createOpenClaims({ instance, publish, clock }),
      knownPolls,
      gate: createReplicationGate({
        ...{ clock, isReplicating: async () => true, onHeld: () => {}, onReleased: () => {} },
      }),
      timeOf: () => NOW,
      createId: () => randomBytes(12).toString('base64url'),
    });
    return { store: createTestStore(store), knownPolls, close: () => client.close() };
  }

  test('an attempt that found no replica is undone late: what a later attempt delivered is not delivered again', async () => {
    const first = Promise.withResolvers<boolean>();
    let asked = 0;
    const { store, close } = await openStore(() => {
      asked += 1;
      return asked === 1 ? first.promise : Promise.resolve(true);
    });
    const { pollSecret } = await registerCompleted(store);
    // Redis knows the script from here on.
    await store.claim('A'.repeat(24));
    // The answer to the first attempt takes half of the deadline, so that the attempt outlives it.
    proxy.stall('replies');
    const claim = store.claim(pollSecret);
    await Bun.sleep(STORE_DEADLINE_MS / 2);
    proxy.stall(false);
    expect(await claim).toEqual(CLAIMED);
    first.resolve(false);
    // After the undoing, on the same connection.
    expect(await store.claim(pollSecret)).toEqual(GONE);
    expect(asked).toBeGreaterThan(1);
    close();
  });

  test('a result that is held back for want of a replica is not taken to be pending', async () => {
    const { store, knownPolls, close } = await openStore(async () => false);
    const { pollSecret } = await registerCompleted(store);
    // As if the completion had been heard.
    knownPolls.clear();
    for (let claims = 0; claims < 2; claims += 1) {
      expect(await store.claim(pollSecret)).toEqual(PENDING);
      const waiter = createWaiter(() => {});
      expect(store.addWaiter(pollSecret, waiter)).toBeUndefined();
      store.removeWaiter(waiter);
    }
    close();
  });
});
