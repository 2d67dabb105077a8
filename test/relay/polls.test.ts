/** Nothing is kept of a poll that is over, however it ended. */
import { describe, expect, test } from 'bun:test';
import { MAX_POLLS_PER_SESSION, STORE_RETRY_MAX_MS, STORE_RETRY_MS } from '../../src/limits.ts';
import { createPolls } from '../../src/relay/polls.ts';
import { type SessionStore, StoreUnavailable } from '../../src/relay/store.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { createFakeClock, runReady } from '../support/fake-clock.ts';

const HOLD_SECONDS = 50;
const HOLD_MS = HOLD_SECONDS * 1_000;
const STATE = 'browser state';
const SECRET = 'poll secret';

/** Polls on a store with one session, and how many watch it. */
async function createWatched(changes: Partial<SessionStore> = {}) {
  const clock = createFakeClock();
  const store = createMemoryStore({ maxSessions: 1 });
  const session = { browserState: STATE, pollSecret: SECRET, service: 'mal', lifetimeMs: 600_000 };
  await store.register(session, clock.now());
  let watching = 0;
  const watched: SessionStore = {
    ...store,
    ...changes,
    watch(pollSecret, wake) {
      const stop = store.watch(pollSecret, wake);
      watching += 1;
      return () => {
        watching -= 1;
        stop();
      };
    },
  };
  const polls = createPolls(watched, clock, HOLD_SECONDS);
  return { clock, store, polls, watching: () => watching };
}

test('a device that leaves is let go of at once, and nobody watches for it any more', async () => {
  const { polls, watching } = await createWatched();
  const device = new AbortController();
  const waited = polls.wait(SECRET, device.signal);
  await runReady();
  expect(watching()).toBe(1);
  device.abort();
  expect(await waited).toEqual({ state: 'pending' });
  expect(watching()).toBe(0);
});

test('a device that has left already is not waited for', async () => {
  const { polls, watching } = await createWatched();
  expect(await polls.wait(SECRET, AbortSignal.abort())).toEqual({ state: 'pending' });
  expect(watching()).toBe(0);
});

test('its hold is called off: when it would have ended no timer is left', async () => {
  const { polls, clock } = await createWatched();
  for (let count = 0; count < 2; count += 1) {
    const device = new AbortController();
    const waited = polls.wait(SECRET, device.signal);
    clock.advance(10);
    device.abort();
    await waited;
  }
  clock.advance(HOLD_MS - 20);
  expect(clock.timers).toBe(0);
});

describe('nobody watches for a poll that', () => {
  type Watched = Awaited<ReturnType<typeof createWatched>>;
  const result = { error: 'access_denied' } as const;

  test.each<[string, (watched: Watched) => unknown]>([
    ['was answered', ({ store, clock }) => store.fail('mal', STATE, result, clock.now())],
    ['was held to its end', ({ clock }) => clock.advance(HOLD_MS)],
    ['was released', ({ polls }) => polls.release()],
    ['was parked when the relay closed', ({ polls }) => polls.close()],
  ])('%s', async (_, end) => {
    const watched = await createWatched();
    const waited = watched.polls.wait(SECRET, new AbortController().signal);
    await runReady();
    expect(watched.watching()).toBe(1);
    await end(watched);
    await waited;
    expect(watched.watching()).toBe(0);
  });

  test('came for a session that is gone', async () => {
    const { polls, watching } = await createWatched();
    expect(await polls.wait('another', new AbortController().signal)).toEqual({ state: 'gone' });
    expect(watching()).toBe(0);
  });

  test('met a store that fails', async () => {
    const { polls, watching } = await createWatched({
      claim: () => Promise.reject(new TypeError('a bug in the store')),
    });
    const waited = polls.wait(SECRET, new AbortController().signal);
    expect(await waited.catch((error: unknown) => error)).toBeInstanceOf(TypeError);
    expect(watching()).toBe(0);
  });
});

describe('a claim that is refused, or whose outcome is unknown, registers no waiter', () => {
  const DENIED = { error: 'access_denied' } as const;

  /** The store refuses the claims that `refuses` says, counted from 1. */
  async function createRefusing(refuses: (claim: number) => boolean) {
    let claims = 0;
    const inner: { store?: SessionStore } = {};
    const watched = await createWatched({
      async claim(...asked) {
        claims += 1;
        if (refuses(claims)) throw new StoreUnavailable();
        return inner.store?.claim(...asked) ?? { state: 'gone' };
      },
    });
    inner.store = watched.store;
    return { ...watched, claims: () => claims };
  }

  test('the poll looks again by itself, and is then woken as any other', async () => {
    const { polls, clock, store, claims } = await createRefusing((claim) => claim <= 2);
    const waited = polls.wait(SECRET, new AbortController().signal);
    await runReady();
    clock.advance(STORE_RETRY_MS);
    await runReady();
    expect(claims()).toBe(2);
    clock.advance(2 * STORE_RETRY_MS);
    await runReady();
    expect(claims()).toBe(3);
    await store.fail('mal', STATE, DENIED, clock.now());
    expect(await waited).toEqual({ state: 'claimed', result: DENIED });
  });

  test('it finds what completed while it was refused', async () => {
    let away = true;
    const { polls, clock, store } = await createRefusing(() => away);
    const waited = polls.wait(SECRET, new AbortController().signal);
    await runReady();
    await store.fail('mal', STATE, DENIED, clock.now());
    await runReady();
    away = false;
    clock.advance(STORE_RETRY_MAX_MS);
    expect(await waited).toEqual({ state: 'claimed', result: DENIED });
  });

  test('it looks less and less often, and its hold ends all the same', async () => {
    const { polls, clock, claims, watching } = await createRefusing(() => true);
    const waited = polls.wait(SECRET, new AbortController().signal);
    for (let passedMs = 0; passedMs < HOLD_MS; passedMs += STORE_RETRY_MS) {
      await runReady();
      clock.advance(STORE_RETRY_MS);
    }
    expect(await waited).toEqual({ state: 'pending' });
    expect(claims()).toBeLessThan(HOLD_MS / STORE_RETRY_MAX_MS + 5);
    expect(watching()).toBe(0);
    clock.advance(STORE_RETRY_MAX_MS);
    expect(clock.timers).toBe(0);
  });

  test('a device that leaves meanwhile is let go of at once', async () => {
    const { polls, clock } = await createRefusing(() => true);
    const device = new AbortController();
    const waited = polls.wait(SECRET, device.signal);
    await runReady();
    device.abort();
    expect(await waited).toEqual({ state: 'pending' });
    clock.advance(HOLD_MS);
    expect(clock.timers).toBe(0);
  });

  test('a poll that is not held is answered at once', async () => {
    const { polls } = await createRefusing(() => true);
    expect(await polls.wait(SECRET, new AbortController().signal, 0)).toEqual({ state: 'pending' });
  });

  test('more polls than may wait for one session do not wake one another again and again', async () => {
    const { polls, claims } = await createRefusing(() => true);
    const device = new AbortController();
    const many = MAX_POLLS_PER_SESSION + 5;
    for (let count = 0; count < many; count += 1) void polls.wait(SECRET, device.signal);
    for (let turn = 0; turn < 10; turn += 1) await runReady();
    // Each looks once, and once more if it was woken to make room.
    expect(claims()).toBeLessThanOrEqual(many + 5);
    device.abort();
  });
});
