/** Results that a device may ask for again: tokens for a while, errors as long as the session lives. */
import { expect, test } from 'bun:test';
import { ACK_MS, EXCHANGE_LEASE_MS } from '../../../src/limits.ts';
import type { ErrorResult } from '../../../src/relay/session.ts';
import type { NewSession, SessionStore } from '../../../src/relay/store.ts';
import {
  LIFETIME_MS,
  makeUserCode,
  NOW,
  newSession,
  type OpenStore,
  register,
  registerCompleted,
  TOKENS,
} from './sessions.ts';

const LAST_MS = NOW + LIFETIME_MS;
const GONE = { state: 'gone' } as const;
const CLAIMED = { state: 'claimed', result: TOKENS } as const;

/** Ways in which a sign-in fails, each with the moment from which its device is told. */
const FAILURES: [
  string,
  fail: (store: SessionStore, session: NewSession) => Promise<unknown>,
  result: ErrorResult,
  fromMs: number,
][] = [
  [
    'the person declined',
    (store, { browserState }) => store.fail('mal', browserState, { error: 'access_denied' }, NOW),
    { error: 'access_denied' },
    NOW,
  ],
  [
    'the exchange failed',
    async (store, { browserState }) => {
      await store.lease('mal', browserState, NOW);
      await store.complete('mal', browserState, { error: 'exchange_failed' }, NOW);
    },
    { error: 'exchange_failed' },
    NOW,
  ],
  [
    'the lease ran out',
    (store, { browserState }) => store.lease('mal', browserState, NOW),
    { error: 'exchange_failed' },
    NOW + EXCHANGE_LEASE_MS + 1,
  ],
];

export function testRepeats(openStore: OpenStore): void {
  test.each(FAILURES)(
    'an error that stays is told until the session expires: %s',
    async (_, fail, result, fromMs) => {
      const store = await openStore({ maxSessions: 1 });
      const session = await register(store, { keepsErrors: true, userCode: makeUserCode() });
      await fail(store, session);
      const { pollSecret, browserState } = session;
      for (const nowMs of [fromMs, fromMs, LAST_MS]) {
        expect(await store.claim(pollSecret, nowMs)).toEqual({ state: 'claimed', result });
        expect(await store.acknowledge(pollSecret, nowMs)).toBe('early');
        expect(await store.find({ browserState }, nowMs)).toBeUndefined();
        expect(await store.lease('mal', browserState, nowMs)).toBeUndefined();
        expect(await store.complete('mal', browserState, TOKENS, nowMs)).toBe(false);
        await store.sweep(nowMs);
        expect(await store.register(newSession(), nowMs)).toBe('busy');
      }
      expect(await store.claim(pollSecret, LAST_MS + 1)).toEqual(GONE);
      expect(await store.register(newSession(), LAST_MS + 1)).toBe('registered');
    },
  );

  test('where errors stay, tokens are delivered once all the same', async () => {
    const store = await openStore();
    const { pollSecret } = await registerCompleted(store, { keepsErrors: true });
    expect(await store.claim(pollSecret, NOW)).toEqual(CLAIMED);
    expect(await store.claim(pollSecret, NOW)).toEqual(GONE);
  });

  test('where both stay, tokens stay for their own time', async () => {
    const store = await openStore();
    const overrides = { keepsErrors: true, repeatMs: 5_000 };
    const { pollSecret } = await registerCompleted(store, overrides);
    for (const nowMs of [NOW, NOW, NOW + 5_000]) {
      expect(await store.claim(pollSecret, nowMs)).toEqual(CLAIMED);
    }
    expect(await store.claim(pollSecret, NOW + 5_001)).toEqual(GONE);
  });

  test('results that stay for different times each count and expire by their own', async () => {
    const store = await openStore({ maxSessions: 2 });
    const long = await registerCompleted(store, { repeatMs: ACK_MS });
    const short = await registerCompleted(store, { repeatMs: 1_000 });
    for (const { pollSecret } of [long, short]) {
      expect(await store.claim(pollSecret, NOW)).toEqual(CLAIMED);
    }
    expect(await store.register(newSession(), NOW + 1_000)).toBe('busy');
    expect(await store.claim(short.pollSecret, NOW + 1_001)).toEqual(GONE);
    expect(await store.register(newSession(), NOW + 1_001)).toBe('registered');
    expect(await store.register(newSession(), NOW + 1_001)).toBe('busy');
    expect(await store.claim(long.pollSecret, NOW + ACK_MS)).toEqual(CLAIMED);
    expect(await store.register(newSession(), NOW + ACK_MS + 1)).toBe('registered');
  });

  test('polls at the same time all get what stays', async () => {
    const store = await openStore();
    const { pollSecret } = await registerCompleted(store, { repeatMs: 1_000 });
    const claims = await Promise.all(
      Array.from({ length: 10 }, () => store.claim(pollSecret, NOW)),
    );
    expect(claims).toEqual(Array.from({ length: 10 }, () => CLAIMED));
  });
}
