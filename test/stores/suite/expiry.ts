import { expect, test } from 'bun:test';
import { EXCHANGE_LEASE_MS } from '../../../src/limits.ts';
import {
  LIFETIME_MS,
  NOW,
  newSession,
  type OpenStore,
  register,
  registerCompleted,
  TOKENS,
} from './sessions.ts';

const LAST = NOW + LIFETIME_MS;
const GONE = LAST + 1;

export function testExpiry(openStore: OpenStore): void {
  test('a pending session is there to its last millisecond, then is unknown, swept or not', async () => {
    const store = await openStore();
    const { service, browserState, pollSecret } = await register(store);
    expect(await store.open(service, browserState, LAST)).toBeDefined();
    expect(await store.claim(pollSecret, LAST)).toEqual({ state: 'pending' });
    expect(await store.open(service, browserState, GONE)).toBeUndefined();
    expect(await store.lease(service, browserState, GONE)).toBeUndefined();
    expect(await store.fail(service, browserState, { error: 'missing_code' }, GONE)).toBe(false);
    expect(await store.claim(pollSecret, GONE)).toEqual({ state: 'gone' });
  });

  test('a result that nobody fetched expires with its session', async () => {
    const store = await openStore();
    const kept = await registerCompleted(store);
    const lost = await registerCompleted(store);
    expect(await store.claim(kept.pollSecret, LAST)).toMatchObject({ state: 'claimed' });
    expect(await store.claim(lost.pollSecret, GONE)).toEqual({ state: 'gone' });
  });

  test('an exchange that ends after its session expired is not taken', async () => {
    const store = await openStore();
    const { service, browserState } = await register(store);
    await store.lease(service, browserState, LAST);
    expect(await store.complete(service, browserState, TOKENS, GONE)).toBe(false);
  });

  test('a lease that ran out tells the device exchange_failed, and its holder is refused', async () => {
    const store = await openStore();
    const { service, browserState, pollSecret } = await register(store);
    await store.lease(service, browserState, NOW);
    const late = NOW + EXCHANGE_LEASE_MS + 1;
    expect(await store.claim(pollSecret, late - 1)).toEqual({ state: 'pending' });
    expect(await store.complete(service, browserState, TOKENS, late)).toBe(false);
    expect(await store.claim(pollSecret, late)).toEqual({
      state: 'claimed',
      result: { error: 'exchange_failed' },
    });
  });

  test('expired sessions do not count as live, swept or not', async () => {
    const store = await openStore({ maxSessions: 1 });
    await register(store);
    expect(await store.register(newSession(), LAST)).toBe('busy');
    expect(await store.register(newSession(), GONE)).toBe('registered');
  });

  test('an expired session gives its state and secret free', async () => {
    const store = await openStore();
    const { browserState, pollSecret } = await register(store);
    const again = newSession({ browserState, pollSecret });
    expect(await store.register(again, GONE)).toBe('registered');
    expect(await store.claim(pollSecret, GONE)).toEqual({ state: 'pending' });
  });

  test('a sweep takes the expired and leaves the living', async () => {
    const store = await openStore();
    const old = await register(store);
    const young = newSession();
    await store.register(young, NOW + 1);
    await store.sweep(GONE);
    expect(await store.claim(old.pollSecret, GONE)).toEqual({ state: 'gone' });
    expect(await store.claim(young.pollSecret, GONE)).toEqual({ state: 'pending' });
  });
}
