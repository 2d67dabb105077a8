/** The store suite: a device is notified that its link was opened, and a device cancels. */
import { expect, test } from 'bun:test';
import { ACK_MS } from '../kit/limits.ts';
import {
  createCode,
  createWaiter,
  DENIED,
  GONE,
  LIFETIME_MS,
  newSession,
  register,
  registerCompleted,
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
