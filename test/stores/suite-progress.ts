/** The store suite: a device is notified that its link was opened, and a device cancels. */
import { expect, test } from 'bun:test';
import { ACK_MS } from '../kit/limits.ts';
import {
  CLAIMED,
  createCode,
  createWaiter,
  DENIED,
  GONE,
  LIFETIME_MS,
  newSession,
  PENDING,
  register,
  registerCompleted,
  tryRegister,
} from '../kit/stores.ts';
import type { OpenStores } from './suite.ts';

const CALLERS = 20;

export function testProgress(open: OpenStores): void {
  test('that the user was redirected is reported once, however often a device asks and the link is opened', async () => {
    const { store } = await open();
    const session = await register(store);
    const { pollSecret } = session;
    expect(await store.takeOpenedNotice(pollSecret)).toBe(false);
    await store.authorize(session);
    const told = await Promise.all(
      Array.from({ length: CALLERS }, () => store.takeOpenedNotice(pollSecret)),
    );
    expect(told.filter(Boolean)).toHaveLength(1);
    await store.authorize(session);
    expect(await store.takeOpenedNotice(pollSecret)).toBe(false);
  });

  test('looking at a session, by link or code, is no opening; nor is a link of another service', async () => {
    const { store } = await open();
    const userCode = createCode();
    const { browserState, pollSecret } = await register(store, { userCode });
    await store.getSession({ browserState });
    await store.getSession({ userCode });
    await store.authorize({ service: 'anilist', browserState });
    expect(await store.takeOpenedNotice(pollSecret)).toBe(false);
  });

  test('it is reported after a lease too, and not after a result', async () => {
    const { store } = await open();
    const leased = await register(store);
    await store.authorize(leased);
    await store.lease(leased);
    expect(await store.takeOpenedNotice(leased.pollSecret)).toBe(true);
    const completed = await register(store);
    await store.authorize(completed);
    await store.fail(completed);
    expect(await store.takeOpenedNotice(completed.pollSecret)).toBe(false);
    expect(await store.claim(completed.pollSecret)).toEqual({ state: 'claimed', result: DENIED });
  });

  test('asking takes nothing: reported or not, the sign-in continues and is claimed once', async () => {
    const { store } = await open();
    const session = await register(store);
    const { pollSecret } = session;
    await store.takeOpenedNotice(pollSecret);
    const verifier = { verifier: String(session.verifier) };
    expect(await store.authorize(session)).toEqual(verifier);
    expect(await store.takeOpenedNotice(pollSecret)).toBe(true);
    expect(await store.claim(pollSecret)).toEqual(PENDING);
    expect(await store.lease(session)).toEqual({ ...verifier, deviceName: session.deviceName });
    expect(await store.complete(session)).toBe(true);
    expect(await store.claim(pollSecret)).toEqual(CLAIMED);
    expect(await store.takeOpenedNotice(pollSecret)).toBe(false);
  });

  test('nothing is reported for a session that is unknown or has expired, or by its browser state', async () => {
    const { store, time } = await open();
    const session = await register(store);
    await store.authorize(session);
    expect(await store.takeOpenedNotice(newSession().pollSecret)).toBe(false);
    expect(await store.takeOpenedNotice(session.browserState)).toBe(false);
    time.advance(LIFETIME_MS + 1);
    expect(await store.takeOpenedNotice(session.pollSecret)).toBe(false);
  });

  test('a waiter that wants progress is notified of the first opening, then of the completion; no other is', async () => {
    const { store } = await open();
    const session = await register(store);
    const { pollSecret } = session;
    const seen: string[] = [];
    let resolve: () => void = () => {};
    const next = () =>
      new Promise<void>((notified) => {
        resolve = notified;
      });
    const note = (who: string) => (notice: string) => {
      seen.push(`${who}: ${notice}`);
      resolve();
    };
    const plain = store.untilNotified(pollSecret).then(note('plain'));
    store.addWaiter(pollSecret, { ...createWaiter(note('progress')), wantsProgress: true });
    await store.claim(pollSecret);
    await store.takeOpenedNotice(pollSecret);
    const opened = next();
    await store.authorize(session);
    await opened;
    await store.authorize(session);
    expect(seen).toEqual(['progress: opened']);
    await store.fail(session);
    await plain;
    expect(seen.toSorted()).toEqual([
      'plain: completed',
      'progress: completed',
      'progress: opened',
    ]);
  });

  test('an opening between asking and waiting is never missed', async () => {
    const { store } = await open();
    for (let round = 0; round < CALLERS; round += 1) {
      const session = await register(store);
      const opening = store.authorize(session);
      const notified = store.untilProgress(session.pollSecret);
      await store.claim(session.pollSecret);
      if (!(await store.takeOpenedNotice(session.pollSecret))) {
        expect(await notified).toBe('opened');
        expect(await store.takeOpenedNotice(session.pollSecret)).toBe(true);
      }
      await opening;
    }
  });
}

export function testCancellations(open: OpenStores): void {
  test('a cancelled session refuses every verb, and is found as cancelled by link and code until it expires', async () => {
    const { store, time } = await open();
    const userCode = createCode();
    const session = await register(store, { userCode });
    const { browserState, pollSecret } = session;
    expect(await store.cancel(pollSecret)).toBe('cancelled');
    expect(await store.authorize(session)).toBeUndefined();
    expect(await store.lease(session)).toBeUndefined();
    expect(await store.fail(session)).toBe(false);
    expect(await store.complete(session)).toBe(false);
    expect(await store.claim(pollSecret)).toEqual(GONE);
    expect(await store.acknowledge(pollSecret)).toBe('gone');
    expect(await store.takeOpenedNotice(pollSecret)).toBe(false);
    time.advance(LIFETIME_MS);
    for (const key of [{ browserState }, { userCode }]) {
      expect(await store.getSession(key)).toBe('cancelled');
    }
    expect(await store.cancel(pollSecret)).toBe('cancelled');
    time.advance(1);
    for (const key of [{ browserState }, { userCode }]) {
      expect(await store.getSession(key)).toBeUndefined();
    }
    expect(await store.cancel(pollSecret)).toBe('gone');
  });

  test('what is unknown cannot be cancelled, nor can a browser state, and a pending session is not cancelled', async () => {
    const { store } = await open();
    const userCode = createCode();
    const session = await register(store, { userCode });
    expect(await store.cancel(newSession().pollSecret)).toBe('gone');
    expect(await store.cancel(session.browserState)).toBe('gone');
    expect(await store.getSession({ userCode })).toMatchObject({ service: 'mal' });
    expect(await store.authorize(session)).toBeDefined();
  });

  test('during an exchange: its result is refused, whether or not the exchange is repeated', async () => {
    const { store } = await open();
    const userCode = createCode();
    const session = await register(store, { userCode });
    await store.lease(session);
    expect(await store.cancel(session.pollSecret)).toBe('cancelled');
    for (const _ of [1, 2]) expect(await store.complete(session)).toBe(false);
    expect(await store.claim(session.pollSecret)).toEqual(GONE);
    expect(await store.getSession({ userCode })).toBe('cancelled');
  });

  test('tokens and errors that were not delivered are dropped, and link and code say so', async () => {
    const { store } = await open();
    for (const options of [{}, { repeatMs: ACK_MS }, { keepsErrors: true }]) {
      const completed = await registerCompleted(store, { withUserCode: true, ...options });
      const failed = await register(store, { withUserCode: true, ...options });
      await store.fail(failed);
      for (const { browserState, pollSecret, userCode = '' } of [completed, failed]) {
        expect(await store.cancel(pollSecret)).toBe('cancelled');
        for (const key of [{ browserState }, { userCode }]) {
          expect(await store.getSession(key)).toBe('cancelled');
        }
        expect(await store.claim(pollSecret)).toEqual(GONE);
        expect(await store.cancel(pollSecret)).toBe('cancelled');
      }
    }
  });

  test('a result that was delivered is not cancelled, and stays for its device', async () => {
    const { store } = await open();
    const once = await registerCompleted(store);
    await store.claim(once.pollSecret);
    expect(await store.cancel(once.pollSecret)).toBe('gone');
    const { browserState } = once;
    expect(await store.getSession({ browserState })).toBe('signed_in');
    const kept = await registerCompleted(store, { repeatMs: ACK_MS });
    await store.claim(kept.pollSecret);
    expect(await store.cancel(kept.pollSecret)).toBe('gone');
    expect(await store.claim(kept.pollSecret)).toEqual(CLAIMED);
    expect(await store.acknowledge(kept.pollSecret)).toBe('acknowledged');
  });

  test('every waiter is notified', async () => {
    const { store } = await open();
    const { pollSecret } = await register(store);
    const notified = [store.untilNotified(pollSecret), store.untilProgress(pollSecret)];
    await store.claim(pollSecret);
    await store.cancel(pollSecret);
    expect(await Promise.all(notified)).toEqual(['completed', 'completed']);
  });

  test('until it expires it counts as open, and its keys are taken', async () => {
    const { store, time } = await open({ maxSessions: 2 });
    const session = await register(store);
    await store.cancel(session.pollSecret);
    expect(await store.register(session)).toBe('collision');
    expect(await tryRegister(store)).toBe('registered');
    expect(await tryRegister(store)).toBe('busy');
    time.advance(LIFETIME_MS + 1);
    expect(await tryRegister(store)).toBe('registered');
  });

  test('races: a cancellation and a completion: either the result is dropped or it is never stored', async () => {
    const { store } = await open();
    for (let round = 0; round < CALLERS; round += 1) {
      const session = await register(store);
      const { browserState, pollSecret } = session;
      await store.lease(session);
      await Promise.all([store.complete(session), store.cancel(pollSecret)]);
      expect(await store.claim(pollSecret)).toEqual(GONE);
      expect(await store.getSession({ browserState })).toBe('cancelled');
    }
  });
}
