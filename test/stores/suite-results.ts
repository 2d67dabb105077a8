/** The store suite: user codes, and results that a device may fetch again or leaves behind. */
import { expect, test } from 'bun:test';
import { ACK_MS, EXCHANGE_LEASE_MS } from '../kit/limits.ts';
import {
  CLAIMED,
  DENIED,
  type ErrorResult,
  GONE,
  LIFETIME_MS,
  type NewSession,
  NOW,
  newSession,
  PENDING,
  register,
  registerCompleted,
  type TestStore,
  type TestStores,
  tryRegister,
} from '../kit/stores.ts';
import type { OpenStores } from './suite.ts';

const CODE = 'BCDFGHJK';

export function testUserCodes(open: OpenStores): void {
  test('a session is found by its link and by its code, with what the user is shown', async () => {
    const { store, time } = await open();
    const session = { userCode: CODE, deviceName: 'Fernseher 📺' };
    const { browserState } = await register(store, session);
    time.advance(1_000);
    const found = { service: 'mal', browserState, deviceName: 'Fernseher 📺', startedAtMs: NOW };
    for (const by of [{ userCode: CODE }, { browserState }, { userCode: CODE }]) {
      expect(await store.getSession(by)).toEqual(found);
    }
  });

  test('a session without a code or a name is found by its link', async () => {
    const { store } = await open();
    const { browserState } = await register(store);
    const found = { service: 'mal', browserState, deviceName: undefined, startedAtMs: NOW };
    expect(await store.getSession({ browserState })).toEqual(found);
    expect(await store.getSession({ userCode: CODE })).toBeUndefined();
    expect(await store.useCode(CODE)).toBeUndefined();
  });

  test('a code is used once, by one of many; the link goes on working, and the sign-in ends like any other', async () => {
    const { store } = await open();
    const session = await register(store, { userCode: CODE });
    const { browserState, pollSecret, verifier } = session;
    const uses = await Promise.all(Array.from({ length: 20 }, () => store.useCode(CODE)));
    expect(uses.filter(Boolean)).toMatchObject([{ service: 'mal', browserState }]);
    expect(await store.getSession({ userCode: CODE })).toBeUndefined();
    expect(await store.getSession({ browserState })).toMatchObject({ browserState });
    expect(await store.getAuthorization(session)).toEqual({ verifier: String(verifier) });
    await store.lease(session);
    expect(await store.complete(session)).toBe(true);
    expect(await store.claim(pollSecret)).toEqual(CLAIMED);
    expect(await store.claim(pollSecret)).toEqual(GONE);
  });

  test('a live code is refused, and nothing is left of the refused session', async () => {
    const { store } = await open();
    await register(store, { userCode: CODE });
    const refused = newSession({ userCode: CODE });
    expect(await store.register(refused)).toBe('collision');
    expect(await store.getSession({ browserState: refused.browserState })).toBeUndefined();
    expect(await store.claim(refused.pollSecret)).toEqual(GONE);
  });

  test('a code can be registered again once it was used or its session has expired', async () => {
    const { store, time } = await open();
    await register(store, { userCode: CODE });
    await store.useCode(CODE);
    await register(store, { userCode: CODE });
    time.advance(LIFETIME_MS + 1);
    expect(await store.getSession({ userCode: CODE })).toBeUndefined();
    await register(store, { userCode: CODE });
  });

  test('neither code nor link finds a session that no longer waits for its user', async () => {
    const { store } = await open();
    const leased = await register(store, { userCode: CODE });
    await store.lease(leased);
    const failed = await register(store, { userCode: 'XXXXXXXX' });
    await store.fail(failed);
    for (const { browserState, userCode = '' } of [leased, failed]) {
      expect(await store.getSession({ userCode })).toBeUndefined();
      expect(await store.useCode(userCode)).toBeUndefined();
      expect(await store.getSession({ browserState })).toBeUndefined();
    }
  });
}

export function testAcknowledgements(open: OpenStores): void {
  async function openDelivered(afterMs = 0) {
    const { store, time } = await open({ maxSessions: 1 });
    const session = await register(store, { repeatMs: ACK_MS });
    time.advance(afterMs);
    await store.lease(session);
    await store.complete(session);
    expect(await store.claim(session.pollSecret)).toEqual(CLAIMED);
    return { store, time, session, secret: session.pollSecret };
  }

  test('a result to be acknowledged is delivered again until it is', async () => {
    const { store, time, secret } = await openDelivered();
    time.advance(ACK_MS);
    expect(await store.claim(secret)).toEqual(CLAIMED);
    expect(await store.acknowledge(secret)).toBe('acknowledged');
    expect(await store.claim(secret)).toEqual(GONE);
    expect(await store.acknowledge(secret)).toBe('gone');
  });

  test('it is kept for its time from the first delivery, and no longer', async () => {
    const { store, time, secret } = await openDelivered();
    time.advance(ACK_MS / 2);
    await store.claim(secret);
    time.advance(ACK_MS / 2 + 1);
    expect(await store.claim(secret)).toEqual(GONE);
    expect(await store.acknowledge(secret)).toBe('gone');
  });

  test('it is kept for that time even beyond the expiry of the session', async () => {
    const { store, time, secret } = await openDelivered(LIFETIME_MS);
    time.advance(ACK_MS);
    expect(await store.claim(secret)).toEqual(CLAIMED);
    time.advance(1);
    expect(await store.claim(secret)).toEqual(GONE);
  });

  test.each([0, LIFETIME_MS])(
    'until then it counts as live: delivered after %d ms',
    async (afterMs) => {
      const { store, time } = await openDelivered(afterMs);
      time.advance(ACK_MS);
      expect(await tryRegister(store)).toBe('busy');
      time.advance(1);
      expect(await tryRegister(store)).toBe('registered');
    },
  );

  test('nothing can be acknowledged before it was delivered', async () => {
    const { store } = await open();
    const session = await register(store, { repeatMs: ACK_MS });
    expect(await store.acknowledge(session.pollSecret)).toBe('early');
    await store.fail(session);
    expect(await store.acknowledge(session.pollSecret)).toBe('early');
    expect(await store.claim(session.pollSecret)).toEqual({ state: 'claimed', result: DENIED });
    expect(await store.acknowledge('')).toBe('gone');
  });

  test('a delivered session has no link any more, and acknowledging it makes room', async () => {
    const { store, session, secret } = await openDelivered();
    const { browserState } = session;
    expect(await store.getSession({ browserState })).toBeUndefined();
    expect(await store.lease(session)).toBeUndefined();
    await store.acknowledge(secret);
    expect(await tryRegister(store)).toBe('registered');
  });
}

/** Ways in which a sign-in fails, and what its device is told. */
const FAILURES: [
  string,
  fail: (stores: TestStores, session: NewSession) => Promise<unknown>,
  ErrorResult,
][] = [
  ['the user declined', ({ store }, session) => store.fail(session), DENIED],
  [
    'the exchange failed',
    async ({ store }, session) => {
      await store.lease(session);
      await store.complete(session, { error: 'exchange_failed' });
    },
    { error: 'exchange_failed' },
  ],
  [
    'the lease ran out',
    async ({ store, time }, session) => {
      await store.lease(session);
      time.advance(EXCHANGE_LEASE_MS + 1);
    },
    { error: 'exchange_failed' },
  ],
];

/** For the device grant: tokens are kept for a while, errors as long as the session lives. */
export function testRepeats(open: OpenStores): void {
  test.each(FAILURES)(
    'an error that is kept is told until the session expires: %s',
    async (_, fail, result) => {
      const stores = await open({ maxSessions: 1 });
      const { store, time } = stores;
      const session = await register(store, { keepsErrors: true, withUserCode: true });
      const { pollSecret, browserState } = session;
      await fail(stores, session);
      for (const untilMs of [0, 0, LIFETIME_MS]) {
        time.advance(Math.max(0, NOW + untilMs - time.now()));
        expect(await store.claim(pollSecret)).toEqual({ state: 'claimed', result });
        expect(await store.acknowledge(pollSecret)).toBe('early');
        expect(await store.getSession({ browserState })).toBeUndefined();
        expect(await store.lease(session)).toBeUndefined();
        expect(await store.complete(session)).toBe(false);
        await store.sweep();
        expect(await tryRegister(store)).toBe('busy');
      }
      time.advance(1);
      expect(await store.claim(pollSecret)).toEqual(GONE);
      expect(await tryRegister(store)).toBe('registered');
    },
  );

  test.each([
    ['once, if only errors are kept', undefined],
    ['again for their own time, if they are kept too', 5_000],
  ])('where errors are kept, tokens are delivered %s', async (_, repeatMs) => {
    const { store, time } = await open();
    const { pollSecret } = await registerCompleted(store, { keepsErrors: true, repeatMs });
    expect(await store.claim(pollSecret)).toEqual(CLAIMED);
    if (repeatMs !== undefined) {
      expect(await store.claim(pollSecret)).toEqual(CLAIMED);
      time.advance(repeatMs);
      expect(await store.claim(pollSecret)).toEqual(CLAIMED);
      time.advance(1);
    }
    expect(await store.claim(pollSecret)).toEqual(GONE);
  });

  test('results that are kept for different times count and expire each by its own', async () => {
    const { store, time } = await open({ maxSessions: 2 });
    const long = await registerCompleted(store, { repeatMs: ACK_MS });
    const short = await registerCompleted(store, { repeatMs: 1_000 });
    for (const { pollSecret } of [long, short]) {
      expect(await store.claim(pollSecret)).toEqual(CLAIMED);
    }
    time.advance(1_000);
    expect(await tryRegister(store)).toBe('busy');
    time.advance(1);
    expect(await store.claim(short.pollSecret)).toEqual(GONE);
    expect(await tryRegister(store)).toBe('registered');
    expect(await tryRegister(store)).toBe('busy');
    time.advance(ACK_MS - 1_001);
    expect(await store.claim(long.pollSecret)).toEqual(CLAIMED);
    time.advance(1);
    expect(await tryRegister(store)).toBe('registered');
  });

  test('polls at the same time all get a result that is kept', async () => {
    const { store } = await open();
    const { pollSecret } = await registerCompleted(store, { repeatMs: 1_000 });
    const claims = await Promise.all(Array.from({ length: 10 }, () => store.claim(pollSecret)));
    expect(claims).toEqual(Array.from({ length: 10 }, () => CLAIMED));
  });
}

/** Claims whose device leaves before the store has answered. A store in memory answers at once. */
export function testUndoneClaims(open: OpenStores): void {
  /** The store has been asked, and cannot have answered yet. */
  async function claimAndLeave(store: TestStore, { pollSecret }: NewSession): Promise<void> {
    const device = new AbortController();
    const claim = store.claim(pollSecret, device.signal);
    device.abort();
    expect(await claim).toEqual(PENDING);
  }

  /** Completed while a poll waited: undoing a claim notifies it once more. */
  async function registerAwaited(store: TestStore, overrides: Partial<NewSession> = {}) {
    const session = await register(store, overrides);
    const notified = store.untilNotified(session.pollSecret);
    expect(await store.claim(session.pollSecret)).toEqual(PENDING);
    await store.lease(session);
    await store.complete(session);
    await notified;
    return session;
  }

  test('the session is as it was: as live, for as long, and its waiters are notified', async () => {
    const { store, time } = await open({ maxSessions: 1 });
    const session = await registerAwaited(store);
    const notified = store.untilNotified(session.pollSecret);
    await claimAndLeave(store, session);
    await notified;
    expect(await tryRegister(store)).toBe('busy');
    time.advance(LIFETIME_MS);
    expect(await store.claim(session.pollSecret)).toEqual(CLAIMED);
    expect(await store.claim(session.pollSecret)).toEqual(GONE);
    expect(await tryRegister(store)).toBe('registered');
  });

  test('the time of a result that is kept starts when a device has received it', async () => {
    const { store, time } = await open({ maxSessions: 1 });
    const session = await registerAwaited(store, { repeatMs: ACK_MS });
    const notified = store.untilNotified(session.pollSecret);
    await claimAndLeave(store, session);
    await notified;
    time.advance(ACK_MS + 1);
    expect(await tryRegister(store)).toBe('busy');
    expect(await store.claim(session.pollSecret)).toEqual(CLAIMED);
    time.advance(ACK_MS);
    expect(await store.claim(session.pollSecret)).toEqual(CLAIMED);
    time.advance(1);
    expect(await store.claim(session.pollSecret)).toEqual(GONE);
  });

  test.each([undefined, ACK_MS])(
    'another poll at the same time gets the result (repeatMs %p)',
    async (repeatMs) => {
      const { store, time } = await open();
      const session = await registerCompleted(store, { repeatMs });
      const left = claimAndLeave(store, session);
      expect(await store.claim(session.pollSecret)).toEqual(CLAIMED);
      await left;
      if (repeatMs !== undefined) {
        time.advance(repeatMs);
        expect(await store.claim(session.pollSecret)).toEqual(CLAIMED);
        time.advance(1);
      }
      expect(await store.claim(session.pollSecret)).toEqual(GONE);
    },
  );

  test('of many devices that leave at once none keeps it', async () => {
    const { store } = await open();
    const session = await registerCompleted(store);
    await Promise.all(Array.from({ length: 10 }, () => claimAndLeave(store, session)));
    expect(await store.claim(session.pollSecret)).toEqual(CLAIMED);
  });
}
