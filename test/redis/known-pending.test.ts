/** A poll whose session is known to be pending asks Redis nothing, and misses nothing (KNOWN_PENDING_MS). */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test';
import { createKnownPolls } from '../../src/stores/redis/pub-sub.ts';
import { KNOWN_PENDING_MS } from '../kit/limits.ts';
import { startRedis } from '../kit/redis/server.ts';
import {
  CLAIMED,
  createWaiter,
  newSession,
  openTestRedis,
  PENDING,
  register,
  systemClock,
  type TestStore,
} from '../kit/stores.ts';
import { pollUntil } from '../kit/wait.ts';

setDefaultTimeout(30_000);

const redis = await startRedis();
let aheadMs = 0;
const timers = { ...systemClock, now: () => systemClock.now() + aheadMs };
const prefix = 'known:';
const [own, other] = await Promise.all([
  openTestRedis(redis.url, { prefix, timers }),
  openTestRedis(redis.url, { prefix }),
]);
afterAll(() => {
  own.close();
  other.close();
  return redis.stop();
});

function isKnown(store: TestStore, pollSecret: string): boolean {
  const waiter = createWaiter(() => {});
  const known = store.addWaiter(pollSecret, waiter);
  store.removeWaiter(waiter);
  return known;
}

test('after a registration it is known where it was registered, and a waiter there is notified', async () => {
  const session = await register(own.store);
  const { pollSecret } = session;
  expect(isKnown(own.store, pollSecret)).toBe(true);
  expect(isKnown(other.store, pollSecret)).toBe(false);
  const notified = own.store.untilNotified(pollSecret);
  await other.store.lease(session);
  await other.store.complete(session);
  expect(await notified).toBe('completed');
  expect(isKnown(own.store, pollSecret)).toBe(false);
  expect(await own.store.claim(pollSecret)).toEqual(CLAIMED);
});

test('after a claim that found it pending it is known where that was asked', async () => {
  const session = await register(own.store);
  const { pollSecret } = session;
  expect(await other.store.claim(pollSecret)).toEqual(PENDING);
  expect(isKnown(other.store, pollSecret)).toBe(true);
  const notified = other.store.untilNotified(pollSecret);
  await own.store.fail(session);
  expect(await notified).toBe('completed');
  expect(isKnown(other.store, pollSecret)).toBe(false);
});

test('what a claim found before something was heard says nothing, even if its reply comes later', () => {
  const knownPolls = createKnownPolls(systemClock);
  knownPolls.add('poll', 'pointer');
  const whenAsked = knownPolls.get('poll');
  knownPolls.heard('poll');
  knownPolls.found('poll', whenAsked);
  expect(knownPolls.isPending('poll')).toBe(false);
  const whenAskedAgain = knownPolls.get('poll');
  knownPolls.found('poll', whenAskedAgain);
  expect(knownPolls.isPending('poll')).toBe(true);
  knownPolls.clear();
  expect(knownPolls.isPending('poll')).toBe(false);
});

test('however many come, the last 20,000 are remembered, and at most twice as many', () => {
  const knownPolls = createKnownPolls(systemClock);
  const ids = Array.from({ length: 70_000 }, (_, index) => `poll ${index}`);
  for (const id of ids) knownPolls.add(id, `pointer of ${id}`);
  expect(ids.slice(-20_000).filter((id) => knownPolls.get(id) === undefined)).toEqual([]);
  expect(ids.filter((id) => knownPolls.get(id) !== undefined).length).toBeLessThanOrEqual(40_000);
});

test('it is forgotten after KNOWN_PENDING_MS, and after each claim known again', async () => {
  const { pollSecret } = await register(own.store);
  aheadMs += KNOWN_PENDING_MS;
  expect(isKnown(own.store, pollSecret)).toBe(false);
  await own.store.claim(pollSecret);
  expect(isKnown(own.store, pollSecret)).toBe(true);
});

test('a device that cancels is told so by its next poll', async () => {
  const { pollSecret } = await register(own.store);
  const notified = own.store.untilNotified(pollSecret);
  await own.store.cancel(pollSecret);
  await notified;
  expect(isKnown(own.store, pollSecret)).toBe(false);
});

test('what may have been missed while the connection was cut is forgotten', async () => {
  const { pollSecret } = await register(own.store);
  await redis.cli('CLIENT', 'KILL', 'TYPE', 'pubsub');
  const waiter = own.store.untilNotified(pollSecret);
  expect(await waiter).toBe('perhaps');
  await pollUntil('it is not known any more', () => !isKnown(own.store, pollSecret));
});

test('a session that was never registered is not known', () => {
  expect(isKnown(own.store, newSession().pollSecret)).toBe(false);
});
