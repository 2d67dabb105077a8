/** Claims whose device leaves before the store has answered. For stores that answer later; one in memory answers at once. */
import { expect, test } from 'bun:test';
import { ACK_MS } from '../../../src/limits.ts';
import type { NewSession, SessionStore } from '../../../src/relay/store.ts';
import {
  LIFETIME_MS,
  NOW,
  newSession,
  type OpenStore,
  register,
  registerCompleted,
  TOKENS,
} from './sessions.ts';

const CLAIMED = { state: 'claimed', result: TOKENS } as const;

/** The store has been asked, and cannot have answered yet. */
async function claimAndLeave(store: SessionStore, { pollSecret }: NewSession): Promise<void> {
  const device = new AbortController();
  const claim = store.claim(pollSecret, NOW, device.signal);
  device.abort();
  expect(await claim).toEqual({ state: 'pending' });
}

const untilWoken = (store: SessionStore, { pollSecret }: NewSession) =>
  new Promise((wake) => store.watch(pollSecret, wake));

/** Completed while a poll waited; undoing a claim wakes it once more. */
async function registerWaitedFor(store: SessionStore, overrides: Partial<NewSession> = {}) {
  const session = await register(store, overrides);
  const woken = untilWoken(store, session);
  expect(await store.claim(session.pollSecret, NOW)).toEqual({ state: 'pending' });
  await store.lease(session.service, session.browserState, NOW);
  await store.complete(session.service, session.browserState, TOKENS, NOW);
  await woken;
  return session;
}

export function testUndoneClaims(openStore: OpenStore): void {
  test('a device that leaves leaves its session as it was: as alive, for as long, and whoever waits is woken', async () => {
    const store = await openStore({ maxSessions: 1 });
    const session = await registerWaitedFor(store);
    const woken = untilWoken(store, session);
    await claimAndLeave(store, session);
    await woken;
    expect(await store.register(newSession(), NOW)).toBe('busy');
    expect(await store.claim(session.pollSecret, NOW + LIFETIME_MS)).toEqual(CLAIMED);
    expect(await store.claim(session.pollSecret, NOW + LIFETIME_MS)).toEqual({ state: 'gone' });
    expect(await store.register(newSession(), NOW)).toBe('registered');
  });

  test('the time of a result that is kept begins when a device has it', async () => {
    const store = await openStore({ maxSessions: 1 });
    const session = await registerWaitedFor(store, { repeatMs: ACK_MS });
    const woken = untilWoken(store, session);
    await claimAndLeave(store, session);
    await woken;
    const laterMs = NOW + ACK_MS + 1;
    expect(await store.register(newSession(), laterMs)).toBe('busy');
    expect(await store.claim(session.pollSecret, laterMs)).toEqual(CLAIMED);
    expect(await store.claim(session.pollSecret, laterMs + ACK_MS)).toEqual(CLAIMED);
    expect(await store.claim(session.pollSecret, laterMs + ACK_MS + 1)).toEqual({ state: 'gone' });
  });

  test('a kept result that another poll received as well is not undone', async () => {
    const store = await openStore();
    const session = await registerCompleted(store, { repeatMs: ACK_MS });
    const left = claimAndLeave(store, session);
    expect(await store.claim(session.pollSecret, NOW)).toEqual(CLAIMED);
    await left;
    expect(await store.claim(session.pollSecret, NOW + ACK_MS)).toEqual(CLAIMED);
    expect(await store.claim(session.pollSecret, NOW + ACK_MS + 1)).toEqual({ state: 'gone' });
  });

  test('a second poll at the same time is not refused: it gets what the first one left', async () => {
    const store = await openStore();
    const session = await registerCompleted(store);
    const left = claimAndLeave(store, session);
    expect(await store.claim(session.pollSecret, NOW)).toEqual(CLAIMED);
    await left;
  });

  test('of many at once whose devices leave none keeps it', async () => {
    const store = await openStore();
    const session = await registerCompleted(store);
    await Promise.all(Array.from({ length: 10 }, () => claimAndLeave(store, session)));
    expect(await store.claim(session.pollSecret, NOW)).toEqual(CLAIMED);
  });
}
