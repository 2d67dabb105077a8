/** A poll whose session is known to be pending asks Redis nothing, and misses nothing (KNOWN_PENDING_MS). */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import type { Pending } from '../../src/sign-ins/session.ts';
import {
  createSessionCache,
  type Found,
  OWN_COMMIT_MS,
} from '../../src/stores/redis/session-cache.ts';
import { createFakeClock, type FakeClock, isPending, runTurns } from '../kit/clock.ts';
import { poll, start } from '../kit/device.ts';
import { EXCHANGE_LEASE_MS, KNOWN_PENDING_MS } from '../kit/limits.ts';
import { startRedis } from '../kit/redis/server.ts';
import { createTestService } from '../kit/service.ts';
import {
  create,
  GONE,
  LIFETIME_MS,
  newSession,
  openTestRedis,
  PENDING,
  type TestStore,
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

function isKnown(store: TestStore, pollSecret: string): boolean {
  const { knownForMs, stop } = store.watch(pollSecret, () => {});
  stop();
  return knownForMs !== undefined;
}

test('it is known where it was started or found pending, until it changes', async () => {
  const session = await create(own.store);
  const { pollSecret } = session;
  expect(isKnown(own.store, pollSecret)).toBe(true);
  expect(isKnown(other.store, pollSecret)).toBe(false);
  expect(isKnown(own.store, newSession().pollSecret)).toBe(false);
  expect(await other.store.poll(pollSecret)).toEqual(PENDING);
  expect(isKnown(other.store, pollSecret)).toBe(true);
  const notified = [own, other].map(({ store }) => store.untilNotified(pollSecret));
  await other.store.cancel(pollSecret);
  expect(await Promise.all(notified)).toEqual(['completed', 'completed']);
  for (const { store } of [own, other]) expect(isKnown(store, pollSecret)).toBe(false);
  expect(await own.store.poll(pollSecret)).toEqual(GONE);
});

describe('what this process knows', () => {
  const LENGTH = 1_000;
  let sessions = 0;

  /** A pending session that was seen now, after these commits. */
  function found(clock: FakeClock, tokens: string, changes: Partial<Pending> = {}): Found {
    sessions += 1;
    const session = {
      ...{ state: 'pending', ids: { link: `link ${sessions}`, poll: `poll ${sessions}` } },
      ...{ startedAtMs: 0, expiresAtMs: clock.now() + LIFETIME_MS, opening: 'none' },
      ...changes,
    } as unknown as Pending;
    return { tokens, session, nowMs: clock.now() };
  }

  function open() {
    const clock = createFakeClock();
    return { clock, cache: createSessionCache(clock) };
  }

  test('what was asked for before a change proves nothing, even if its reply comes later', () => {
    const { clock, cache } = open();
    const one = found(clock, 'a');
    const { link, poll } = one.session.ids;
    const since = cache.changes();
    cache.changed(poll);
    cache.set(one, LENGTH, since);
    expect([cache.peek(link), cache.pendingForMs(poll, false)]).toEqual([undefined, undefined]);
    cache.set(one, LENGTH, cache.changes());
    expect(cache.peek(link)).toMatchObject(one);
    cache.recheckAll();
    expect([cache.peek(link), cache.pendingForMs(poll, false)]).toEqual([undefined, undefined]);
  });

  test('it is pending for KNOWN_PENDING_MS, not past its expiry or with news', () => {
    const { clock, cache } = open();
    const [one, short] = [found(clock, 'a'), found(clock, 'a', { expiresAtMs: clock.now() + 999 })];
    const opened = found(clock, 'a', { opening: 'unreported' });
    for (const each of [one, short, opened]) cache.set(each, LENGTH, cache.changes());
    const pollOf = ({ session }: Found) => session.ids.poll;
    expect(cache.pendingForMs(pollOf(one), true)).toBe(EXCHANGE_LEASE_MS);
    expect(cache.pendingForMs(pollOf(short), true)).toBe(1_000);
    expect(cache.pendingForMs(pollOf(opened), true)).toBeUndefined();
    expect(cache.pendingForMs(pollOf(opened), false)).toBe(EXCHANGE_LEASE_MS);
    clock.advance(KNOWN_PENDING_MS - 1);
    expect(cache.pendingForMs(pollOf(one), true)).toBeGreaterThan(0);
    clock.advance(1);
    expect(cache.pendingForMs(pollOf(one), true)).toBeUndefined();
  });

  test('what it wrote itself is lost where an ancestor of it is found, for a minute', () => {
    const { clock, cache } = open();
    const own = found(clock, 'c,b,a');
    const at = (tokens: string) => ({ ...own, tokens });
    cache.set(own, LENGTH, cache.changes(), true);
    // Seen again, it is still its own.
    cache.set(own, LENGTH, cache.changes());
    expect(['b,a', 'a'].map((tokens) => cache.findLost(at(tokens))?.tokens)).toEqual([
      ...['c,b,a', 'c,b,a'],
    ]);
    for (const tokens of ['c,b,a', 'd,c,b,a', 'x,a', 'c']) {
      expect([tokens, cache.findLost(at(tokens))]).toEqual([tokens, undefined]);
    }
    clock.advance(OWN_COMMIT_MS);
    expect(cache.findLost(at('a'))).toBeDefined();
    clock.advance(1);
    expect(cache.findLost(at('a'))).toBeUndefined();
  });

  test('however many come, and however large, little more than the latest are kept', () => {
    for (const [count, length, least, most] of [
      [70_000, 1, 20_000, 40_000],
      [2_000, 100_000, 120, 260],
    ] as const) {
      const { clock, cache } = open();
      const links = Array.from({ length: count }, () => {
        const each = found(clock, 'a');
        cache.set(each, length, cache.changes());
        return each.session.ids.link;
      });
      const kept = links.filter((link) => cache.peek(link) !== undefined);
      expect(kept).toEqual(links.slice(-kept.length));
      expect(kept.length).toBeWithin(least, most + 1);
    }
  });
});

test('what may have been missed while the connection was cut is looked at again', async () => {
  const { pollSecret } = await create(own.store);
  const notified = own.store.untilNotified(pollSecret);
  await redis.cli('CLIENT', 'KILL', 'TYPE', 'pubsub');
  expect(await notified).toBe('recheck');
  expect(isKnown(own.store, pollSecret)).toBe(false);
});

describe('a poll whose session expires while it is held', () => {
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
