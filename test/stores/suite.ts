/**
 * The contract of a store (src/sign-ins/store.ts), for every store: a new store's test is a
 * factory and a call of `runStoreSuite`, and a world of test/model, which has every order of
 * events. What events do is tested once, in test/sign-ins.
 */
import { afterEach, describe, expect, test } from 'bun:test';
import { signInIdOf } from '../../src/sign-ins/secrets.ts';
import type { Delivery, SessionResult } from '../../src/sign-ins/session.ts';
import { REDELIVERY_MS } from '../kit/limits.ts';
import {
  create,
  createCode,
  createCompleted,
  DELIVERED,
  GONE,
  LIFETIME_MS,
  newSession,
  type OpenStores,
  PENDING,
  type TestStores,
  TOKENS,
} from '../kit/stores.ts';
import { testRateLimiter, testRefreshes } from './suite-limits.ts';

/** Without `hasBuckets` rate limits are those of memory. */
export function runStoreSuite(name: string, openStores: OpenStores, hasBuckets = true): void {
  const opened: TestStores[] = [];
  const open: OpenStores = async (options) => {
    const stores = await openStores(options);
    opened.push(stores);
    return stores;
  };
  describe(`${name}:`, () => {
    afterEach(() => {
      for (const stores of opened.splice(0)) stores.close?.();
    });
    describe('sessions:', () => testSessions(open));
    describe('time:', () => testTime(open));
    if (hasBuckets) describe('rate limiter:', () => testRateLimiter(open));
    describe('refreshes:', () => testRefreshes(open));
  });
}

const CHALLENGE = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM';
const AUTHORIZATION_URL = `https://provider.test/authorize?state=${'a'.repeat(1_900)}`;
const REDIRECT_URI = 'https://relay.test/auth/mal/callback';

/** What each kind of sign-in needs, and what it delivers. */
const KINDS: [Delivery, SessionResult][] = [
  [{ kind: 'tokens' }, { ...TOKENS, idToken: '📺', scope: 'a b', tokenType: 'x', details: true }],
  [{ kind: 'tokens', verifier: 'v'.repeat(64), details: true }, TOKENS],
  [
    { kind: 'code', challenge: CHALLENGE },
    { code: 'c', tokenUrl: 'https://mal.test', clientId: 'id', redirectUri: REDIRECT_URI },
  ],
  [
    { kind: 'callback', authorizationUrl: AUTHORIZATION_URL },
    { callback: { code: 'c', state: 's', __proto__: 'x' }, redirectUri: REDIRECT_URI },
  ],
];

const race = <T>(run: () => Promise<T>) => Promise.all(Array.from({ length: 25 }, run));

function testSessions(open: OpenStores): void {
  test('every member of a session survives each step, with a user code and without', async () => {
    const { store } = await open();
    for (const [delivery, result] of KINDS) {
      for (const userCode of [undefined, createCode()]) {
        const asked = { delivery, userCode, deviceName: 'Fernseher 📺', service: 'any' };
        const session = await create(store, asked);
        const { browserState, pollSecret, deviceName, service } = session;
        const shown = { service, browserState, deviceName, delivery };
        expect(await store.find({ browserState })).toEqual(shown);
        if (userCode) expect(await store.find({ userCode })).toEqual(shown);
        expect(await store.open(session)).toEqual(delivery);
        expect(await store.learnsOpening(pollSecret)).toBe(true);
        expect(await store.lease(session)).toEqual({ delivery, deviceName });
        expect(await store.poll(pollSecret)).toEqual(PENDING);
        expect(await store.complete(session, result)).toBe(true);
        expect(await store.poll(pollSecret)).toEqual({ state: 'delivered', result });
        expect(await store.poll(pollSecret)).toEqual(GONE);
        expect(await store.find({ browserState })).toBe('signed_in');
        if (userCode) expect(await store.find({ userCode })).toBe('signed_in');
      }
    }
  });

  test.each(['browserState', 'pollSecret', 'userCode'] as const)(
    'a %s of a live session is refused, and nothing is left of the other',
    async (taken) => {
      const { store } = await open();
      const session = await create(store, { withUserCode: true });
      const refused = newSession({ withUserCode: true, [taken]: session[taken] });
      expect(await store.create(refused)).toBe('collision');
      expect(await store.countLive()).toBe(1);
      if (taken !== 'browserState') expect(await store.open(refused)).toBeUndefined();
      if (taken !== 'pollSecret') expect(await store.poll(refused.pollSecret)).toEqual(GONE);
      expect(await store.open(session)).toEqual(session.delivery);
    },
  );

  test('the limit counts live sessions; a delivery makes room, at its end if repeatable', async () => {
    const { store, time } = await open({ maxSessions: 2 });
    const once = await createCompleted(store);
    const again = await createCompleted(store, { redeliveryMs: REDELIVERY_MS });
    expect([await store.create(newSession()), await store.countLive()]).toEqual(['full', 2]);
    expect(await store.poll(once.pollSecret)).toEqual(DELIVERED);
    expect(await store.poll(again.pollSecret)).toEqual(DELIVERED);
    expect([await store.countLive(), await store.create(newSession())]).toEqual([1, 'created']);
    expect(await store.create(newSession())).toBe('full');
    time.advance(REDELIVERY_MS + 1);
    expect([await store.countLive(), await store.create(newSession())]).toEqual([1, 'created']);
  });

  test('starts at once never exceed the limit, and of one state one succeeds', async () => {
    const { store } = await open({ maxSessions: 10 });
    const { browserState } = newSession();
    const same = await race(() => store.create(newSession({ browserState })));
    expect(same.filter((outcome) => outcome === 'created')).toHaveLength(1);
    const outcomes = await race(() => store.create(newSession()));
    expect(outcomes.filter((outcome) => outcome === 'created')).toHaveLength(9);
    expect(outcomes.filter((outcome) => outcome === 'full')).toHaveLength(16);
  });

  test('of 25 events at once one wins, 40 times', async () => {
    const { store } = await open();
    for (let round = 0; round < 40; round += 1) {
      const session = await create(store);
      const leased = await race(() => store.lease(session));
      expect(leased.filter(Boolean)).toHaveLength(1);
      await store.complete(session);
      const polled = await race(() => store.poll(session.pollSecret));
      expect(polled.filter(({ state }) => state === 'delivered')).toHaveLength(1);
    }
  });

  test('an opening and an end notify the polls of their session, once each', async () => {
    const { store } = await open();
    const [session, other] = [await create(store), await create(store)];
    const seen: string[] = [];
    const ids = [session, other].map(({ pollSecret }) => store.vault.poll(pollSecret).id);
    store.store.listen({
      notify: (pollId, notice) => seen.push(`${ids.indexOf(pollId)} ${notice}`),
      recheckAll: () => seen.push('recheck'),
    });
    const opened = store.untilNotified(session.pollSecret);
    await store.open(session);
    expect(await opened).toBe('opened');
    await store.open(session);
    const completed = store.untilNotified(session.pollSecret);
    await store.fail(session);
    expect(await completed).toBe('completed');
    expect(seen).toEqual(['0 opened', '0 completed']);
  });
}

function testTime(open: OpenStores): void {
  test('a session lives and counts to its last millisecond, swept or not', async () => {
    const { store, time } = await open({ maxSessions: 1 });
    const session = await create(store, { withUserCode: true });
    const { browserState, pollSecret, userCode = '' } = session;
    time.advance(LIFETIME_MS);
    expect(await store.find({ userCode })).toMatchObject({ browserState });
    expect(await store.create(newSession())).toBe('full');
    time.advance(1);
    expect(await store.find({ userCode })).toBeUndefined();
    expect(await store.open(session)).toBeUndefined();
    expect(await store.fail(session)).toBe(false);
    expect(await store.poll(pollSecret)).toEqual(GONE);
    expect(await store.countLive()).toBe(0);
    // Its code may be drawn again, though nothing was swept.
    const next = await create(store, { userCode });
    expect(await store.find({ userCode })).toMatchObject({ browserState: next.browserState });
  });

  test('a code that is drawn again stays with the new session', async () => {
    const { store, time } = await open();
    const old = await createCompleted(store, { redeliveryMs: REDELIVERY_MS, withUserCode: true });
    const { pollSecret, userCode = '' } = old;
    time.advance(LIFETIME_MS);
    await store.poll(pollSecret);
    time.advance(1);
    const { browserState } = await create(store, { userCode });
    time.advance(REDELIVERY_MS);
    await store.sweep();
    expect(await store.find({ userCode })).toMatchObject({ browserState });
  });

  test('a sweep returns each expired session once, and frees nothing that is needed', async () => {
    const { store, time } = await open();
    const started = await create(store);
    const opened = await create(store);
    await store.open(opened);
    const leased = await create(store);
    await store.lease(leased);
    const completed = await createCompleted(store);
    await store.poll((await createCompleted(store)).pollSecret);
    const again = await createCompleted(store, { redeliveryMs: REDELIVERY_MS });
    await store.poll(again.pollSecret);
    time.advance(REDELIVERY_MS + 1);
    expect((await store.sweep()).map(([, stage]) => stage)).toEqual([undefined]);
    expect(await store.find(again)).toBe('signed_in');
    time.advance(LIFETIME_MS - REDELIVERY_MS);
    // One more start may need the room.
    await create(store);
    const expected = [
      [started, 'started'],
      [opened, 'opened'],
      [leased, 'called_back'],
      [completed, 'called_back'],
    ] as const;
    expect((await store.sweep()).toSorted()).toEqual(
      expected.map(([each, stage]) => [signInIdOf(each.browserState), stage] as const).toSorted(),
    );
    expect(await store.sweep()).toEqual([]);
  });
}
