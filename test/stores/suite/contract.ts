import { expect, test } from 'bun:test';
import { MAX_POLLS_PER_SESSION } from '../../../src/limits.ts';
import {
  NOW,
  newSession,
  type OpenStore,
  register,
  registerCompleted,
  TOKENS,
} from './sessions.ts';

const DENIED = { error: 'access_denied' } as const;

export function testContract(openStore: OpenStore): void {
  test('a sign-in goes from register to claim, and is then gone', async () => {
    const store = await openStore();
    const { service, browserState, pollSecret, verifier } = await register(store);
    expect(await store.open(service, browserState, NOW)).toEqual({ verifier: String(verifier) });
    expect(await store.claim(pollSecret, NOW)).toEqual({ state: 'pending' });
    expect(await store.lease(service, browserState, NOW)).toEqual({ verifier: String(verifier) });
    expect(await store.claim(pollSecret, NOW)).toEqual({ state: 'pending' });
    expect(await store.complete(service, browserState, TOKENS, NOW)).toBe(true);
    expect(await store.claim(pollSecret, NOW)).toEqual({ state: 'claimed', result: TOKENS });
    expect(await store.claim(pollSecret, NOW)).toEqual({ state: 'gone' });
    expect(await store.open(service, browserState, NOW)).toBeUndefined();
  });

  test('a session without a verifier is found without one', async () => {
    const store = await openStore();
    const { verifier: _, ...withoutVerifier } = newSession();
    await store.register(withoutVerifier, NOW);
    const { service, browserState } = withoutVerifier;
    expect(await store.open(service, browserState, NOW)).toEqual({});
    expect(await store.lease(service, browserState, NOW)).toEqual({});
  });

  test('nothing is found by a state or a secret that no session has', async () => {
    const store = await openStore();
    await register(store);
    const stranger = newSession();
    expect(await store.open('mal', stranger.browserState, NOW)).toBeUndefined();
    expect(await store.lease('mal', stranger.browserState, NOW)).toBeUndefined();
    expect(await store.fail('mal', stranger.browserState, DENIED, NOW)).toBe(false);
    expect(await store.complete('mal', stranger.browserState, TOKENS, NOW)).toBe(false);
    expect(await store.claim(stranger.pollSecret, NOW)).toEqual({ state: 'gone' });
    expect(await store.claim('', NOW)).toEqual({ state: 'gone' });
  });

  test('neither capability does the work of the other', async () => {
    const store = await openStore();
    const { browserState, pollSecret } = await registerCompleted(store);
    expect(await store.claim(browserState, NOW)).toEqual({ state: 'gone' });
    expect(await store.open('mal', pollSecret, NOW)).toBeUndefined();
  });

  test('a session is found under its own service only', async () => {
    const store = await openStore();
    const { browserState, pollSecret } = await register(store, { service: 'mal' });
    expect(await store.open('anilist', browserState, NOW)).toBeUndefined();
    expect(await store.lease('anilist', browserState, NOW)).toBeUndefined();
    expect(await store.fail('anilist', browserState, DENIED, NOW)).toBe(false);
    expect(await store.complete('anilist', browserState, TOKENS, NOW)).toBe(false);
    expect(await store.claim(pollSecret, NOW)).toEqual({ state: 'pending' });
  });

  test('a live browser state or poll secret is not given twice', async () => {
    const store = await openStore();
    const { browserState, pollSecret } = await register(store);
    expect(await store.register(newSession({ browserState }), NOW)).toBe('collision');
    expect(await store.register(newSession({ pollSecret }), NOW)).toBe('collision');
    expect(await store.claim(pollSecret, NOW)).toEqual({ state: 'pending' });
  });

  test('a session refused for a collision leaves nothing behind', async () => {
    const store = await openStore();
    const { pollSecret } = await register(store);
    const refused = newSession({ pollSecret });
    await store.register(refused, NOW);
    expect(await store.open(refused.service, refused.browserState, NOW)).toBeUndefined();
  });

  test('the cap counts live sessions, and a claim makes room', async () => {
    const store = await openStore({ maxSessions: 2 });
    await register(store);
    const { pollSecret } = await registerCompleted(store);
    expect(await store.register(newSession(), NOW)).toBe('busy');
    await store.claim(pollSecret, NOW);
    expect(await store.register(newSession(), NOW)).toBe('registered');
    expect(await store.register(newSession(), NOW)).toBe('busy');
  });

  test('the first result stays: nothing after it replaces it', async () => {
    const store = await openStore();
    const { service, browserState, pollSecret } = await register(store);
    expect(await store.fail(service, browserState, DENIED, NOW)).toBe(true);
    expect(await store.fail(service, browserState, { error: 'missing_code' }, NOW)).toBe(false);
    expect(await store.lease(service, browserState, NOW)).toBeUndefined();
    expect(await store.complete(service, browserState, TOKENS, NOW)).toBe(false);
    expect(await store.open(service, browserState, NOW)).toBeUndefined();
    expect(await store.claim(pollSecret, NOW)).toEqual({ state: 'claimed', result: DENIED });
  });

  test('while an exchange is under way nothing else ends the session, and its link leads nowhere', async () => {
    const store = await openStore();
    const { service, browserState, pollSecret } = await register(store);
    await store.lease(service, browserState, NOW);
    expect(await store.fail(service, browserState, DENIED, NOW)).toBe(false);
    expect(await store.lease(service, browserState, NOW)).toBeUndefined();
    expect(await store.open(service, browserState, NOW)).toBeUndefined();
    expect(await store.complete(service, browserState, TOKENS, NOW)).toBe(true);
    expect(await store.claim(pollSecret, NOW)).toMatchObject({ state: 'claimed' });
  });

  test('nobody completes a session without its lease', async () => {
    const store = await openStore();
    const { service, browserState, pollSecret } = await register(store);
    expect(await store.complete(service, browserState, TOKENS, NOW)).toBe(false);
    expect(await store.claim(pollSecret, NOW)).toEqual({ state: 'pending' });
  });

  test('every watcher of a session is woken when it completes, and no other is', async () => {
    const store = await openStore();
    const { service, browserState, pollSecret } = await register(store);
    const other = await register(store);
    const woken = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    for (const { resolve } of woken) store.watch(pollSecret, () => resolve());
    let otherWoken = false;
    store.watch(other.pollSecret, () => {
      otherWoken = true;
    });
    const left = store.watch(pollSecret, () => expect.unreachable());
    left();
    expect(await store.claim(pollSecret, NOW)).toEqual({ state: 'pending' });
    expect(await store.claim(other.pollSecret, NOW)).toEqual({ state: 'pending' });
    await store.fail(service, browserState, DENIED, NOW);
    await Promise.all(woken.map(({ promise }) => promise));
    expect(otherWoken).toBe(false);
  });

  test('one watcher too many wakes the one that waits longest', async () => {
    const store = await openStore();
    const { pollSecret } = await register(store);
    const woken: number[] = [];
    for (let index = 0; index <= MAX_POLLS_PER_SESSION; index += 1) {
      store.watch(pollSecret, () => woken.push(index));
    }
    expect(woken).toEqual([0]);
  });
}
