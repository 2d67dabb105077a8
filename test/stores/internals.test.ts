/**
 * Parts of the Redis store, each by itself: what no real Redis can be made to do at
 * the right moment. Real refusals and outages are in test/redis.
 */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { ErrorReply } from '@redis/client';
import { type Clock, systemClock } from '../../src/relay/time.ts';
import { createStoreClock, type RedisCommands } from '../../src/stores/redis/commands.ts';
import type { RedisClient } from '../../src/stores/redis/connect.ts';
import { createRefusals, type RefusalEvent, reasonOf } from '../../src/stores/redis/failures.ts';
import { createLocalPolls, createOpenClaims } from '../../src/stores/redis/local-polls.ts';
import {
  createOwnLeases,
  MAX_OWN_LEASES,
  OWN_LEASE_MS,
} from '../../src/stores/redis/own-leases.ts';
import { listen } from '../../src/stores/redis/pub-sub.ts';
import { CHECK_MS, watchReplication } from '../../src/stores/redis/replication.ts';
import { createScript } from '../../src/stores/redis/scripts.ts';
import { parseRedisUrl } from '../../src/stores/redis/url.ts';
import { createFakeClock, runReady } from '../kit/clock.ts';
import {
  HEARTBEAT_MS,
  HEARTBEATS_TO_REBUILD,
  STORE_LATEST_MS,
  STORE_REFUSAL_QUIET_MS,
} from '../kit/limits.ts';
import { startRedis } from '../kit/redis/server.ts';
import { createWaiter, openTestRedis } from '../kit/stores.ts';
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
    async function askTime() {
      const storeMs = clock.now() + AHEAD_MS;
      answering.now();
      return storeMs;
    }
    const storeClock = createStoreClock(askTime, clock);
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

  function collectRefusals() {
    const clock = createFakeClock();
    const told: RefusalEvent[] = [];
    const refusals = createRefusals(clock, (event) => told.push(event));
    const events = () => told.map(({ type, reason }) => `${type} ${reason}`);
    return { clock, refusals, told, events };
  }

  test('a refusal ends when the same script succeeds and there was none for a while', () => {
    const { clock, refusals, events } = collectRefusals();
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
    const { refusals, events } = collectRefusals();
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
    const localPolls = createLocalPolls(clock);
    const within = <T>(work: Promise<T>) => work;
    const stop = await listen({
      client: server.client,
      commands: { within, probeClock: async () => {} } as RedisCommands,
      clock,
      localPolls,
      openClaims: createOpenClaims({ instance: 'instance', send: () => {}, clock }),
      line: { wasCut: false },
      channel: 'instance',
      onEvent: () => {},
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
    localPolls.addWaiter(
      'poll',
      createWaiter((notice) => notices.push(notice)),
    );
    clock.advance(HEARTBEAT_MS);
    await runReady();
    server.deliver();
    expect(notices).toEqual(['recheck']);
    stop();
  });
});

describe('a primary without a replica that keeps up', () => {
  const NONE = 'role:master\r\nconnected_slaves:0\r\n';
  const replica = (state: string, lag: number) =>
    `slave0:ip=127.0.0.1,port=1,state=${state},offset=42,lag=${lag}\r\n`;
  const KEEPS_UP = `role:master\r\nconnected_slaves:1\r\n${replica('online', 1)}`;
  const FROZEN = `role:master\r\nconnected_slaves:1\r\n${replica('online', 40)}`;
  const LOADS = `role:master\r\nconnected_slaves:1\r\n${replica('send_bulk', 0)}`;
  const ONE_OF_TWO = `${FROZEN}${replica('online', 0)}`;

  /** What is logged while the primaries say this, one check after the other. `undefined`: no answer. */
  async function watch(isCluster: boolean, checks: readonly (readonly string[] | undefined)[]) {
    const clock = createFakeClock();
    const events: string[] = [];
    let answer: readonly string[] | undefined;
    const stop = watchReplication({
      client: {
        isCluster,
        async describeReplication() {
          if (answer === undefined) throw new ErrorReply('LOADING');
          return [...answer];
        },
      } as RedisClient,
      commands: { within: (work: Promise<unknown>) => work } as RedisCommands,
      clock,
      onEvent: ({ type }) => events.push(type === 'store_replicated' ? 'caught up' : 'behind'),
    });
    for (answer of checks) {
      clock.advance(CHECK_MS);
      await runReady();
      events.push('-');
    }
    stop();
    expect(clock.timers).toBe(0);
    return events.join(' ');
  }

  test.each<[string, boolean, (readonly string[] | undefined)[], string]>([
    ['its replica keeps up', false, [[KEEPS_UP], [KEEPS_UP]], '- -'],
    ['one of two replicas keeps up', false, [[ONE_OF_TWO]], '-'],
    ['it never had one, under Sentinel', false, [[NONE], [NONE]], 'behind - -'],
    ['it is frozen', false, [[KEEPS_UP], [FROZEN], [FROZEN]], '- behind - -'],
    ['it loads its copy, and then is there', false, [[LOADS], [KEEPS_UP]], 'behind - caught up -'],
    ['the primary does not answer', false, [[NONE], undefined, [NONE]], 'behind - - -'],
    [
      'a Cluster without replicas',
      true,
      [
        [NONE, NONE],
        [NONE, NONE],
      ],
      '- -',
    ],
    ['one master of a Cluster lost its own', true, [[KEEPS_UP, NONE]], 'behind -'],
    ['a Cluster lost all', true, [[KEEPS_UP], [NONE], [KEEPS_UP]], '- behind - caught up -'],
  ])('is logged once: %s', async (_, isCluster, checks, expected) => {
    expect(await watch(isCluster, checks)).toBe(expected);
  });
});

describe('the leases that a process took', () => {
  const KEY = 'sealed device key';

  test('are remembered for a minute at least, by service and session', () => {
    const clock = createFakeClock();
    const leases = createOwnLeases(clock);
    leases.add('mal', 'early', KEY);
    clock.advance(OWN_LEASE_MS);
    leases.add('mal', 'late', KEY);
    leases.sweep();
    expect(leases.get('mal', 'early')?.sealedDeviceKey).toBe(KEY);
    expect(leases.get('anilist', 'early')).toBeUndefined();
    clock.advance(1);
    leases.sweep();
    expect(leases.get('mal', 'early')).toBeUndefined();
    expect(leases.get('mal', 'late')?.sealedDeviceKey).toBe(KEY);
  });

  test(`are ${MAX_OWN_LEASES} at most: the oldest is forgotten`, () => {
    const leases = createOwnLeases(createFakeClock());
    for (let nth = 0; nth <= MAX_OWN_LEASES; nth += 1) leases.add('mal', `${nth}`, KEY);
    expect(leases.get('mal', '0')).toBeUndefined();
    expect(leases.get('mal', '1')).toBeDefined();
    expect(leases.get('mal', `${MAX_OWN_LEASES}`)).toBeDefined();
  });
});
