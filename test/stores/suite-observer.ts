/** What a store tells besides what its verbs return. */
import { expect, test } from 'bun:test';
import { signInIdOf } from '../../src/relay/secrets.ts';
import type { StoreObserver } from '../../src/relay/store.ts';
import { LIFETIME_MS, newSession, register, registerCompleted } from '../kit/stores.ts';
import type { OpenStores } from './suite.ts';

/** Each call, as its name and its arguments. */
function createRecord() {
  const told: unknown[][] = [];
  const observer: StoreObserver = {
    opened: (...args) => void told.push(['opened', ...args]),
    delivered: (...args) => void told.push(['delivered', ...args]),
    cancelled: (...args) => void told.push(['cancelled', ...args]),
    expired: (...args) => void told.push(['expired', ...args]),
  };
  return { told, observer };
}

export function testObserver(open: OpenStores): void {
  async function openObserved() {
    const { store, time } = await open();
    const { told, observer } = createRecord();
    store.observe(observer);
    return { store, time, told };
  }

  test('the first opening of a link is reported, and no other', async () => {
    const { store, told } = await openObserved();
    const session = await register(store);
    await store.authorize(session);
    await store.authorize(session);
    await store.getSession({ browserState: session.browserState });
    expect(told).toEqual([['opened', 'mal']]);
  });

  test('a delivery is reported with how long the result waited, and its repetitions are not', async () => {
    const { store, time, told } = await openObserved();
    const { pollSecret } = await registerCompleted(store, { repeatMs: 60_000 });
    time.advance(1_234);
    for (let count = 0; count < 3; count += 1) await store.claim(pollSecret);
    const { pollSecret: once } = await registerCompleted(store);
    await store.claim(once);
    await store.claim(once);
    expect(told).toEqual([
      ['delivered', 'mal', 1_234],
      ['delivered', 'mal', 0],
    ]);
  });

  test('a cancellation is reported once', async () => {
    const { store, told } = await openObserved();
    const { pollSecret } = await register(store);
    await store.cancel(pollSecret);
    await store.cancel(pollSecret);
    expect(told).toEqual([['cancelled', 'mal']]);
  });

  test('an expired session is reported once, with how far it came and its id', async () => {
    const { store, time, told } = await openObserved();
    const started = await register(store);
    const opened = await register(store, { service: 'anilist' });
    await store.authorize(opened);
    const leased = await register(store);
    await store.lease(leased);
    const completed = await registerCompleted(store);
    time.advance(LIFETIME_MS + 1);
    await store.sweep();
    await store.sweep();
    const expired = (stage: string, { browserState, service }: typeof started) => [
      'expired',
      { service, stage, signIn: signInIdOf(browserState) },
    ];
    expect(told.filter(([name]) => name === 'expired').toSorted(byId)).toEqual(
      [
        expired('started', started),
        expired('opened', opened),
        expired('called_back', leased),
        expired('called_back', completed),
      ].toSorted(byId),
    );
  });

  test('no session is reported as expired that was delivered or cancelled, or that keeps an error', async () => {
    const { store, time, told } = await openObserved();
    await store.claim((await registerCompleted(store)).pollSecret);
    await store.claim((await registerCompleted(store, { repeatMs: 1_000 })).pollSecret);
    await store.cancel((await register(store)).pollSecret);
    await store.fail(await register(store, { keepsErrors: true }));
    time.advance(LIFETIME_MS + 1);
    await store.sweep();
    expect(told.filter(([name]) => name === 'expired')).toEqual([]);
  });

  test('a registration that makes room does not keep a sweep from telling', async () => {
    const { store, time } = await open({ maxSessions: 1 });
    const { told, observer } = createRecord();
    store.observe(observer);
    await register(store);
    time.advance(LIFETIME_MS + 1);
    await register(store);
    await store.sweep();
    expect(told.map(([name]) => name)).toEqual(['expired']);
  });

  test('live sessions are counted without those that expired', async () => {
    const { store, time } = await openObserved();
    await register(store, { lifetimeMs: 1_000 });
    const { pollSecret } = await registerCompleted(store);
    expect(await store.countLive()).toBe(2);
    time.advance(1_001);
    await store.sweep();
    expect(await store.countLive()).toBe(1);
    await store.claim(pollSecret);
    expect(await store.countLive()).toBe(0);
    await store.register(newSession());
    expect(await store.countLive()).toBe(1);
  });
}

const byId = (one: unknown[], other: unknown[]) =>
  JSON.stringify(one) < JSON.stringify(other) ? -1 : 1;
