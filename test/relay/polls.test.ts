/** Nothing is kept of a poll that is over, however it ended. */
import { describe, expect, test } from 'bun:test';
import { createPolls } from '../../src/relay/polls.ts';
import type { SessionStore } from '../../src/relay/store.ts';
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
