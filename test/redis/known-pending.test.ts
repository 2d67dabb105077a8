/** A poll whose session is known to be pending asks Redis nothing, and misses nothing (KNOWN_PENDING_MS). */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { createLocalPolls, type LocalPolls } from '../../src/stores/redis/local-polls.ts';
import { createFakeClock, isPending, runTurns } from '../kit/clock.ts';
import { poll, start } from '../kit/device.ts';
import { KNOWN_PENDING_MS } from '../kit/limits.ts';
import { startRedis } from '../kit/redis/server.ts';
import { startRelayPair } from '../kit/relay-pair.ts';
import { createTestService } from '../kit/service.ts';
import {
  CLAIMED,
  createWaiter,
  LIFETIME_MS,
  type NewSession,
  newSession,
  openTestRedis,
  PENDING,
  register,
  systemClock,
  type TestStore,
  type Waiter,
} from '../kit/stores.ts';
import { pollUntil } from '../kit/wait.ts';

setDefaultTimeout(30_000);

const redis = await startRedis();
const prefix = 'known:';
const [own, other] = await Promise.all([
  openTestRedis(redis.url, { prefix }),
  openTestRedis(redis.url, { prefix }),
]);
afterAll(() => {
  own.close();
  other.close();
  return redis.stop();
});

interface Waiters<Known> {
  addWaiter(pollSecret: string, waiter: Waiter): Known | undefined;
  removeWaiter(waiter: Waiter): void;
}

/** What a poll that is going to wait learns: undefined if the session is not known to be pending. */
function learn<Known>({ addWaiter, removeWaiter }: Waiters<Known>, pollSecret: string) {
  const waiter = createWaiter(() => {});
  const known = addWaiter(pollSecret, waiter);
  removeWaiter(waiter);
  return known;
}

const endsInMs = (localPolls: LocalPolls) => learn(localPolls, 'poll');
const isKnown = (store: TestStore, pollSecret: string) => learn(store, pollSecret) !== undefined;

test('after a registration it is known where it was registered, and a waiter there is notified', async () => {
  const session = await register(own.store);
  const { pollSecret } = session;
  expect(isKnown(own.store, pollSecret)).toBe(true);
  expect(isKnown(other.store, pollSecret)).toBe(false);
  expect(isKnown(own.store, newSession().pollSecret)).toBe(false);
  const notified = own.store.untilNotified(pollSecret);
  await other.store.lease(session);
  await other.store.complete(session);
  expect(await notified).toBe('completed');
  expect(isKnown(own.store, pollSecret)).toBe(false);
  expect(await own.store.claim(pollSecret)).toEqual(CLAIMED);
});

test.each([
  ['a result', (session: NewSession) => own.store.fail(session)],
  ['a cancellation', ({ pollSecret }: NewSession) => own.store.cancel(pollSecret)],
])(
  'after a claim that found it pending it is known where that was asked, until %s',
  async (_, end) => {
    const session = await register(own.store);
    const { pollSecret } = session;
    expect(await other.store.claim(pollSecret)).toEqual(PENDING);
    expect(isKnown(other.store, pollSecret)).toBe(true);
    const notified = other.store.untilNotified(pollSecret);
    await end(session);
    expect(await notified).toBe('completed');
    expect(isKnown(other.store, pollSecret)).toBe(false);
  },
);

test('a claim that was sent before a change proves nothing, even if its reply comes later', () => {
  const localPolls = createLocalPolls(systemClock);
  localPolls.add('poll', 'pointer');
  const whenAsked = localPolls.get('poll');
  localPolls.changed('poll');
  localPolls.foundPending('poll', whenAsked, LIFETIME_MS);
  expect(endsInMs(localPolls)).toBeUndefined();
  const whenAskedAgain = localPolls.get('poll');
  localPolls.foundPending('poll', whenAskedAgain, LIFETIME_MS);
  expect(endsInMs(localPolls)).toBeGreaterThan(0);
  localPolls.recheckAll();
  expect(endsInMs(localPolls)).toBeUndefined();
});

test('however many come, the last 20,000 are remembered, and at most twice as many', () => {
  const localPolls = createLocalPolls(systemClock);
  const ids = Array.from({ length: 70_000 }, (_, index) => `poll ${index}`);
  for (const id of ids) localPolls.add(id, `pointer of ${id}`);
  expect(ids.slice(-20_000).filter((id) => localPolls.get(id) === undefined)).toEqual([]);
  expect(ids.filter((id) => localPolls.get(id) !== undefined).length).toBeLessThanOrEqual(40_000);
});

test('it is forgotten after KNOWN_PENDING_MS, and after each claim known again', async () => {
  const { pollSecret } = await register(own.store);
  own.time.advance(KNOWN_PENDING_MS);
  expect(isKnown(own.store, pollSecret)).toBe(false);
  await own.store.claim(pollSecret);
  expect(isKnown(own.store, pollSecret)).toBe(true);
});

test('it is forgotten when its session expires, even if that is sooner', () => {
  const clock = createFakeClock();
  const localPolls = createLocalPolls(clock);
  localPolls.add('poll', 'pointer', 1_001);
  expect(endsInMs(localPolls)).toBe(1_001);
  clock.advance(1_000);
  expect(endsInMs(localPolls)).toBe(1);
  clock.advance(1);
  expect(endsInMs(localPolls)).toBeUndefined();
});

test('what may have been missed while the connection was cut is forgotten', async () => {
  const { pollSecret } = await register(own.store);
  await redis.cli('CLIENT', 'KILL', 'TYPE', 'pubsub');
  const waiter = own.store.untilNotified(pollSecret);
  expect(await waiter).toBe('recheck');
  await pollUntil('it is not known any more', () => !isKnown(own.store, pollSecret));
});

describe('a poll whose session expires while it is held', () => {
  test('gets a 410 then, although the relay did not look the session up when it came', async () => {
    await using pair = await startRelayPair(redis.url, { env: { SESSION_SECONDS: '2' } });
    const [one, two] = pair.relays;
    const { session } = await start(one);
    const answers = await Promise.all([poll(one, session), poll(two, session), poll(one, session)]);
    expect(answers.map(({ status }) => status)).toEqual([410, 410, 410]);
  });

  /** A relay, and a store whose clock is years ahead, 5 s before the session expires. */
  async function openApart() {
    const { time, store, stores, close } = await openTestRedis(redis.url);
    const clock = createFakeClock();
    const service = createTestService({}, { stores, sharing: { store: stores.sessions, clock } });
    const { session } = await start(service);
    time.advance(LIFETIME_MS - 5_000);
    const polled = poll(service, session);
    await pollUntil('its claim has been answered', () => isKnown(store, session));
    await runTurns();
    return { time, clock, polled, close };
  }

  test('gets a 410 from a relay whose clock differs from that of the store', async () => {
    const { time, clock, polled, close } = await openApart();
    time.advance(5_001);
    clock.advance(5_000);
    expect(await isPending(polled)).toBe(true);
    clock.advance(1);
    expect((await polled).status).toBe(410);
    close();
  });

  test("keeps waiting while the store's clock, which is slower, still has the session", async () => {
    const { time, clock, polled, close } = await openApart();
    time.advance(4_990);
    clock.advance(5_001);
    const timersBefore = clock.timers;
    await pollUntil('it waits for what is left', () => clock.timers > timersBefore);
    expect(await isPending(polled)).toBe(true);
    time.advance(11);
    clock.advance(11);
    expect((await polled).status).toBe(410);
    close();
  });
});
