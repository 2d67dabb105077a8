/**
 * Parts of the Redis store, each by itself: what no real Redis can be made to do at
 * the right moment. Real refusals and outages are in test/redis.
 */
import { describe, expect, test } from 'bun:test';
import { ErrorReply } from '@redis/client';
import { open, type Session } from '../../src/sign-ins/session.ts';
import { pause } from '../../src/sign-ins/time.ts';
import { createStoreClock, type RedisCommands } from '../../src/stores/redis/commands.ts';
import type { RedisClient } from '../../src/stores/redis/connect.ts';
import { reasonOf } from '../../src/stores/redis/failures.ts';
import { createStoreHealth } from '../../src/stores/redis/health.ts';
import { createNotices } from '../../src/stores/redis/notices.ts';
import scripts from '../../src/stores/redis/scripts.lua' with { type: 'text' };
import { createRecentRecords, REMEMBERED_CHARACTERS } from '../../src/stores/redis/store.ts';
import { advance, createFakeClock, isPending } from '../kit/clock.ts';
import { poll, start } from '../kit/device.ts';
import { STORE_LATEST_MS } from '../kit/limits.ts';
import { startRedis } from '../kit/redis/server.ts';
import { startRelayPair } from '../kit/relay-pair.ts';
import { createTestService } from '../kit/service.ts';
import { create, LIFETIME_MS, openTestRedis, StoreUnavailable } from '../kit/stores.ts';
import { startCuttingProxy } from '../kit/tcp-proxy.ts';
import { startWaiting } from '../kit/user.ts';
import { failureOf, pollUntil } from '../kit/wait.ts';

const redis = await startRedis();

test('commands have a deadline by the clock of the store, also after a suspension', async () => {
  const AHEAD_MS = 3_600_000;
  const clock = createFakeClock();
  let pause = () => {};
  const storeClock = createStoreClock(async () => {
    const storeMs = clock.now() + AHEAD_MS;
    pause();
    return storeMs;
  }, clock);
  const deadline = () => `until ${clock.now() + AHEAD_MS + STORE_LATEST_MS}`;
  expect(storeClock.deadline()).toBe('');
  await storeClock.probe();
  expect(storeClock.deadline()).toBe(deadline());
  // An answer that is read late does not falsify it.
  pause = () => clock.stall(7_000);
  await storeClock.probe();
  expect(storeClock.deadline()).toBe(deadline());
});

test('a script that arrives too late is refused, and does nothing', async () => {
  // It is refused before a script looks at its keys.
  const refusal = await redis.cli('EVAL', scripts, '0', 'create', 'until 1').catch(String);
  expect(refusal.split('\n')).toContain('LATE not carried out');
});

test('a change that reaches Redis after its session has expired is computed again', async () => {
  const { store, time } = await openTestRedis(redis.url);
  const { browserState } = await create(store);
  const opened = await store.store.update(
    { link: store.vault.link(browserState).id },
    (session, nowMs) => {
      time.advance(LIFETIME_MS + 1);
      return open(session, nowMs);
    },
  );
  expect(opened).toBeUndefined();
});

/** Relays of two versions share a Redis (docs/upgrading.md). A request then gets a 503, a poll a 204. */
test('a record of a newer version is refused by name, and stays as it is', async () => {
  const prefix = 'newer:';
  const events: unknown[] = [];
  const onEvent = (event: object) => events.push(event);
  const newer = await openTestRedis(redis.url, { prefix });
  const { store } = await openTestRedis(redis.url, { prefix, onEvent });
  const { pollSecret } = await create(newer.store);
  const [key = ''] = await redis.keys(`${prefix}sign-in:*`);
  const ofNewer = (await redis.cli('GET', key)).replace(' 1 ', ' 2 ');
  await redis.cli('SET', key, ofNewer);
  for (const ask of [store.poll, store.cancel]) {
    expect(await failureOf(ask(pollSecret))).toBeInstanceOf(StoreUnavailable);
  }
  const remedy = expect.stringContaining('docs/upgrading.md');
  expect(events).toContainEqual({ type: 'store_refuses', reason: 'NEWER', remedy });
  expect(await redis.cli('GET', key)).toBe(ofNewer);
});

test('recent records are limited by their size in all, and the latest stay', () => {
  for (const length of [400, 100_000]) {
    const recent = createRecentRecords();
    const most = REMEMBERED_CHARACTERS / length;
    const links = Array.from({ length: 2 * most }, (_, nth) => {
      const ids = { link: `link ${nth}`, poll: `poll ${nth}`, code: undefined };
      recent.set({ tokens: '', session: { ids } as Session, nowMs: 0 }, length);
      return ids.link;
    });
    const remembered = links.filter((link) => recent.get(link) !== undefined);
    expect(remembered).toEqual(links.slice(-remembered.length));
    expect(remembered.length).toBeWithin(most / 2 - 1, most + 1);
  }
});

test('after a connection was cut, polls recheck: they may have missed a notice', async () => {
  const { store } = await openTestRedis(redis.url);
  const notified = store.untilNotified((await create(store)).pollSecret);
  await redis.cli('CLIENT', 'KILL', 'TYPE', 'pubsub');
  expect(await notified).toBe('recheck');
});

test('a session expires by the clock of the store, whatever time its relay has', async () => {
  const { time, stores } = await openTestRedis(redis.url);
  const clock = createFakeClock();
  const service = createTestService({ stores, clock });
  const { session } = await start(service);
  time.advance(LIFETIME_MS - 5_000);
  const timersBefore = clock.timers;
  const polled = poll(service, session);
  // One for its hold, one for the expiry.
  await pollUntil('it waits', () => clock.timers > timersBefore + 1);
  time.advance(5_001);
  clock.advance(5_000);
  expect(await isPending(polled)).toBe(true);
  clock.advance(1);
  expect((await polled).status).toBe(410);
});

function createHealth(clock = createFakeClock()) {
  const events: unknown[] = [];
  const health = createStoreHealth({
    target: { type: 'single', addresses: [], tls: false },
    clock,
    onEvent: (event) => events.push(event),
    probe: async () => {},
    reconnect: () => {},
    signal: new AbortController().signal,
  });
  return { health, events };
}

test('a sign-in takes seven trips: limit, start, look, link, lease, result, poll', async () => {
  await using proxy = await startCuttingProxy(redis.port);
  await using pair = await startRelayPair(proxy.url);
  const [relay] = pair.relays;
  async function signIn(): Promise<void> {
    const device = await startWaiting(relay);
    await relay.ask(`/auth/mal?state=${device.state}`);
    await device.expectSignsIn();
  }
  // Redis learns the scripts.
  await signIn();
  proxy.forgetBytes();
  await signIn();
  // No heartbeat, which is a PUBLISH, and no TIME, which is sent with it or a GET.
  const trips = proxy
    .bytes()
    .toString('latin1')
    .match(/\*\d+\r\n\$\d+\r\n(EVALSHA|GET)\r\n/gi);
  expect(trips).toHaveLength(7);
});

test('a server that answers every command too late counts as lost while it does', async () => {
  const clock = createFakeClock();
  const { health, events } = createHealth(clock);
  let latencyMs = 0;
  let publish = (_: string) => {};
  const client = {
    async send([, , message = '']: string[]) {
      await pause(clock, latencyMs);
      publish(message);
    },
    subscribe: async (_: string, onMessage: typeof publish) => {
      publish = onMessage;
    },
  } as unknown as RedisClient;
  const commands = { within: (work: unknown) => work, probeClock() {} } as unknown as RedisCommands;
  const end = new AbortController();
  const { signal } = end;
  const parts = { client, commands, clock, channel: 'notices', instance: 'one', health, signal };
  const notices = createNotices(parts);
  const started = notices.start();
  await advance(clock, 0);
  await started;
  latencyMs = STORE_LATEST_MS;
  await advance(clock, 20_000);
  expect(events).toEqual([]);
  latencyMs = STORE_LATEST_MS + 100;
  await advance(clock, 20_000);
  const problem = 'the server takes longer than 1500 ms to answer';
  expect(events).toEqual([{ type: 'store_lost', problem }]);
  expect(health.findProblem()).toEqual({
    status: 'down',
    reason: `store: Redis is unreachable: ${problem}`,
  });
  latencyMs = 0;
  await advance(clock, 5_000);
  expect(events.at(-1)).toEqual({ type: 'store_back' });
  expect(health.findProblem()).toBeUndefined();
  end.abort();
});

describe('refusals', () => {
  const inRedis6 = (refusal: string) =>
    `ERR Error running script (call to f_1f): @user_script:9: @user_script: 9: -${refusal}`;

  test.each([
    // The errors of a command in a script, by Redis 6. Those of newer ones: test/redis/refusals.test.ts.
    [inRedis6("OOM command not allowed when used memory > 'maxmemory'."), 'OOM'],
    [inRedis6('NOPERM The user executing the script has no right'), 'NOPERM'],
    [inRedis6("READONLY You can't write against a read only replica."), 'READONLY'],
    ['ERR invalid password', 'WRONGPASS'],
    ['an unknown text', 'ERR'],
  ])('%s is %s', (message, reason) => {
    expect(reasonOf(new ErrorReply(message))).toBe(reason);
  });

  test.each(['LATE', 'TRYAGAIN', 'MOVED', 'ASK'])('%s is part of normal operation', (word) => {
    const { health, events } = createHealth();
    health.refused(new ErrorReply(word));
    expect(events).toEqual([]);
  });
});
