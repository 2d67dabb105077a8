/** The store suite: a session from its registration to its claim, its expiry, and all of it at once. */
import { expect, test } from 'bun:test';
import { EXCHANGE_LEASE_MS } from '../kit/limits.ts';
import {
  CLAIMED,
  createWaiter,
  GONE,
  LIFETIME_MS,
  newSession,
  PENDING,
  register,
  registerCompleted,
  TOKENS,
  tryRegister,
} from '../kit/stores.ts';
import type { OpenStores } from './suite.ts';

export function testContract(open: OpenStores): void {
  test('a sign-in goes from register to claim, after which the session is gone', async () => {
    const { store } = await open();
    const session = await register(store, { deviceName: 'Küche 📺' });
    const verifier = { verifier: String(session.verifier) };
    expect(await store.authorize(session)).toEqual(verifier);
    expect(await store.claim(session.pollSecret)).toEqual(PENDING);
    expect(await store.lease(session)).toEqual({ ...verifier, deviceName: 'Küche 📺' });
    expect(await store.claim(session.pollSecret)).toEqual(PENDING);
    expect(await store.complete(session)).toBe(true);
    expect(await store.claim(session.pollSecret)).toEqual(CLAIMED);
    expect(await store.claim(session.pollSecret)).toEqual(GONE);
    expect(await store.authorize(session)).toBeUndefined();
  });

  test('nothing is found by a state or a secret that no session has', async () => {
    const { store } = await open();
    await register(store);
    const unknown = newSession();
    expect(await store.authorize(unknown)).toBeUndefined();
    expect(await store.lease(unknown)).toBeUndefined();
    expect(await store.fail(unknown)).toBe(false);
    expect(await store.complete(unknown)).toBe(false);
    expect(await store.claim(unknown.pollSecret)).toEqual(GONE);
    expect(await store.claim('')).toEqual(GONE);
  });

  test('neither capability works instead of the other', async () => {
    const { store } = await open();
    const { browserState, pollSecret } = await registerCompleted(store);
    expect(await store.claim(browserState)).toEqual(GONE);
    expect(await store.authorize({ browserState: pollSecret })).toBeUndefined();
  });

  test('a session is found under its own service only', async () => {
    const { store } = await open();
    const { browserState, pollSecret } = await register(store, { service: 'mal' });
    const other = { service: 'anilist', browserState };
    expect(await store.authorize(other)).toBeUndefined();
    expect(await store.lease(other)).toBeUndefined();
    expect(await store.fail(other)).toBe(false);
    expect(await store.complete(other)).toBe(false);
    expect(await store.claim(pollSecret)).toEqual(PENDING);
  });

  test('a live browser state or poll secret is refused, and nothing is left of the refused session', async () => {
    const { store } = await open();
    const { browserState, pollSecret } = await register(store);
    const refused = newSession({ pollSecret });
    expect(await store.register(newSession({ browserState }))).toBe('collision');
    expect(await store.register(refused)).toBe('collision');
    expect(await store.authorize(refused)).toBeUndefined();
    expect(await store.claim(pollSecret)).toEqual(PENDING);
  });

  test('the limit counts live sessions, and a claim makes room', async () => {
    const { store } = await open({ maxSessions: 2 });
    await register(store);
    const { pollSecret } = await registerCompleted(store);
    expect(await tryRegister(store)).toBe('busy');
    await store.claim(pollSecret);
    expect(await tryRegister(store)).toBe('registered');
    expect(await tryRegister(store)).toBe('busy');
  });

  test('a session is not completed without a lease', async () => {
    const { store } = await open();
    const session = await register(store);
    expect(await store.complete(session)).toBe(false);
    expect(await store.claim(session.pollSecret)).toEqual(PENDING);
  });

  test('every waiter of a session is notified when it completes, and no other', async () => {
    const { store } = await open();
    const session = await register(store);
    const { pollSecret } = session;
    const other = await register(store);
    const notified = [store.untilNotified(pollSecret), store.untilNotified(pollSecret)];
    const removed = createWaiter(() => expect.unreachable());
    store.addWaiter(
      other.pollSecret,
      createWaiter(() => expect.unreachable()),
    );
    store.addWaiter(pollSecret, removed);
    store.removeWaiter(removed);
    expect(await store.claim(pollSecret)).toEqual(PENDING);
    expect(await store.claim(other.pollSecret)).toEqual(PENDING);
    await store.fail(session);
    await Promise.all(notified);
  });
}

export function testExpiry(open: OpenStores): void {
  test('a pending session lives to its last millisecond, then it is unknown, swept or not', async () => {
    const { store, time } = await open();
    const session = await register(store);
    time.advance(LIFETIME_MS);
    expect(await store.authorize(session)).toBeDefined();
    expect(await store.claim(session.pollSecret)).toEqual(PENDING);
    time.advance(1);
    expect(await store.authorize(session)).toBeUndefined();
    expect(await store.lease(session)).toBeUndefined();
    expect(await store.fail(session)).toBe(false);
    expect(await store.claim(session.pollSecret)).toEqual(GONE);
  });

  test('a claim that finds it pending tells how long it is until it changes by itself', async () => {
    const { store, time } = await open();
    const session = await register(store);
    const pendingFor = (endsInMs: number) => ({ state: 'pending', endsInMs }) as const;
    expect(await store.claim(session.pollSecret)).toEqual(PENDING);
    const exchanging = await register(store);
    await store.lease(exchanging);
    time.advance(1_000);
    const { pollSecret } = exchanging;
    expect(await store.claim(pollSecret)).toEqual(pendingFor(EXCHANGE_LEASE_MS - 999));
    time.advance(LIFETIME_MS - 2_000);
    expect(await store.claim(session.pollSecret)).toEqual(pendingFor(1_001));
    // A lease that would end later changes nothing.
    await store.lease(session);
    time.advance(1_000);
    expect(await store.claim(session.pollSecret)).toEqual(pendingFor(1));
    time.advance(1);
    expect(await store.claim(session.pollSecret)).toEqual(GONE);
  });

  test('an expired session does not count as live, and its state and secret can be used again', async () => {
    const { store, time } = await open({ maxSessions: 1 });
    const { browserState, pollSecret } = await register(store);
    const again = newSession({ browserState, pollSecret });
    time.advance(LIFETIME_MS);
    expect(await tryRegister(store)).toBe('busy');
    time.advance(1);
    expect(await store.register(again)).toBe('registered');
    expect(await store.claim(pollSecret)).toEqual(PENDING);
  });
}

const RACERS = 25;
const ROUNDS = 40;

function race<T>(run: (racer: number) => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: RACERS }, (_, racer) => run(racer)));
}

export function testRaces(open: OpenStores): void {
  test(`of ${RACERS} claims at once one gets the result, ${ROUNDS} times`, async () => {
    const { store } = await open();
    for (let round = 0; round < ROUNDS; round += 1) {
      const { pollSecret } = await registerCompleted(store);
      const claims = await race(() => store.claim(pollSecret));
      expect(claims.filter(({ state }) => state === 'claimed')).toHaveLength(1);
      expect(claims.filter(({ state }) => state === 'gone')).toHaveLength(RACERS - 1);
    }
  });

  test(`of ${RACERS} leases at once one is given, ${ROUNDS} times`, async () => {
    const { store } = await open();
    for (let round = 0; round < ROUNDS; round += 1) {
      const session = await register(store);
      const leases = await race(() => store.lease(session));
      expect(leases.filter((lease) => lease !== undefined)).toHaveLength(1);
    }
  });

  test('of denials and codes at once one wins', async () => {
    const { store } = await open();
    for (let round = 0; round < ROUNDS; round += 1) {
      const session = await register(store);
      const won = await race(async (racer) =>
        racer % 2 === 0 ? (await store.lease(session)) !== undefined : store.fail(session),
      );
      expect(won.filter(Boolean)).toHaveLength(1);
    }
  });

  test('registrations at once never exceed the limit', async () => {
    const { store } = await open({ maxSessions: 10 });
    const outcomes = await race(() => tryRegister(store));
    expect(outcomes.filter((outcome) => outcome === 'registered')).toHaveLength(10);
    expect(outcomes.filter((outcome) => outcome === 'busy')).toHaveLength(RACERS - 10);
  });

  test('of registrations of one state at once one succeeds', async () => {
    const { store } = await open();
    const { browserState } = newSession();
    const outcomes = await race(() => store.register(newSession({ browserState })));
    expect(outcomes.filter((outcome) => outcome === 'registered')).toHaveLength(1);
  });

  test('a completion between registering a waiter and claiming is never missed', async () => {
    const { store } = await open();
    for (let round = 0; round < ROUNDS; round += 1) {
      const session = await register(store);
      await store.lease(session);
      const completed = store.complete(session, TOKENS);
      const notified = store.untilNotified(session.pollSecret);
      const first = await store.claim(session.pollSecret);
      if (first.state === 'pending') await notified;
      const claim = first.state === 'pending' ? await store.claim(session.pollSecret) : first;
      expect(claim).toEqual(CLAIMED);
      expect(await completed).toBe(true);
    }
  });
}
