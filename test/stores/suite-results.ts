/** The store suite: user codes, and results that a device may fetch again or leaves behind. */
import { expect, test } from 'bun:test';
import { ACK_MS, EXCHANGE_LEASE_MS } from '../kit/limits.ts';
import {
  CLAIMED,
  DENIED,
  GONE,
  LIFETIME_MS,
  type NewSession,
  NOW,
  newSession,
  register,
  registerCompleted,
  type SessionOutcome,
  type SessionResult,
  type TestStores,
  TOKENS,
  tryRegister,
} from '../kit/stores.ts';
import type { OpenStores } from './suite.ts';

const CODE = 'BCDFGHJK';

const CODE_RESULT = {
  code: 'a code',
  tokenUrl: 'https://mal.test/token',
  clientId: 'id',
  redirectUri: 'https://relay.test/auth/mal/callback',
};

/** Of a device that exchanges the code itself, and of one that wants what else the provider sends. */
export function testChallenges(open: OpenStores): void {
  test.each<[string, Partial<NewSession>]>([
    ['a challenge', {}],
    ['a challenge and a user code', { userCode: CODE }],
    ['a challenge, acknowledged', { repeatMs: ACK_MS }],
  ])('%s: link and lease have it and no verifier, and the code is delivered', async (_, asked) => {
    const { store } = await open();
    const challenge = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM';
    const session = await register(store, { challenge, verifier: undefined, ...asked });
    expect(await store.authorize(session)).toEqual({ challenge, verifier: undefined });
    expect(await store.lease(session)).toMatchObject({ challenge, verifier: undefined });
    expect(await store.complete(session, CODE_RESULT)).toBe(true);
    const delivered = { state: 'claimed', result: CODE_RESULT } as const;
    expect(await store.claim(session.pollSecret)).toEqual(delivered);
    expect(await store.claim(session.pollSecret)).toEqual(asked.repeatMs ? delivered : GONE);
  });

  test('the authorization URL of an open sign-in stays until the lease', async () => {
    const { store } = await open();
    const challenge = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM';
    const authorizationUrl = `https://provider.test/authorize?state=${'a'.repeat(1_900)}`;
    const asked = { challenge, authorizationUrl, verifier: undefined };
    const session = await register(store, asked);
    expect(await store.authorize(session)).toMatchObject(asked);
    expect(await store.lease(session)).toMatchObject(asked);
    const result = { callback: { code: 'c', state: 's' }, redirectUri: 'https://relay.test/open' };
    expect(await store.complete(session, result)).toBe(true);
    expect(await store.claim(session.pollSecret)).toEqual({ state: 'claimed', result });
  });

  test('details stay with the verifier until the lease', async () => {
    const { store } = await open();
    const session = await register(store, { details: true });
    const expected = { verifier: String(session.verifier), details: true } as const;
    expect(await store.authorize(session)).toEqual(expected);
    expect(await store.lease(session)).toMatchObject(expected);
  });
}

export function testUserCodes(open: OpenStores): void {
  test('a session is found by its link and by its code, with what the user is shown', async () => {
    const { store, time } = await open();
    const session = { userCode: CODE, deviceName: 'Fernseher 📺' };
    const { browserState } = await register(store, session);
    time.advance(1_000);
    const found = { service: 'mal', browserState, deviceName: 'Fernseher 📺', ageMs: 1_000 };
    for (const by of [{ userCode: CODE }, { browserState }, { userCode: CODE }]) {
      expect(await store.getSession(by)).toEqual(found);
    }
  });

  test('a session without a code or a name is found by its link', async () => {
    const { store } = await open();
    const { browserState } = await register(store);
    const found = { service: 'mal', browserState, deviceName: undefined, ageMs: 0 };
    expect(await store.getSession({ browserState })).toEqual(found);
    expect(await store.getSession({ userCode: CODE })).toBeUndefined();
  });

  test('a code leads to its session as often as it is asked for, until the user is back from the provider', async () => {
    const { store } = await open();
    const session = await register(store, { userCode: CODE });
    const { browserState, pollSecret, verifier } = session;
    for (let times = 0; times < 3; times += 1) {
      expect(await store.getSession({ userCode: CODE })).toMatchObject({ browserState });
      expect(await store.authorize(session)).toEqual({ verifier: String(verifier) });
    }
    await store.lease(session);
    expect(await store.getSession({ userCode: CODE })).toBe('in_progress');
    expect(await store.complete(session)).toBe(true);
    expect(await store.claim(pollSecret)).toEqual(CLAIMED);
    expect(await store.claim(pollSecret)).toEqual(GONE);
  });

  test('a live code is refused, and nothing is left of the refused session', async () => {
    const { store } = await open();
    await register(store, { userCode: CODE });
    const refused = newSession({ userCode: CODE });
    expect(await store.register(refused)).toBe('collision');
    expect(await store.getSession({ browserState: refused.browserState })).toBeUndefined();
    expect(await store.claim(refused.pollSecret)).toEqual(GONE);
  });

  test('a code can be registered again once its session has expired', async () => {
    const { store, time } = await open();
    const { pollSecret } = await registerCompleted(store, { userCode: CODE });
    await store.claim(pollSecret);
    time.advance(LIFETIME_MS + 1);
    expect(await store.getSession({ userCode: CODE })).toBeUndefined();
    const { browserState } = await register(store, { userCode: CODE });
    expect(await store.getSession({ userCode: CODE })).toMatchObject({ browserState });
  });
}

const EXCHANGE_FAILED = { error: 'exchange_failed' } as const;
const REFUSED = { error: 'authorization_failed' } as const;

/** How a session ends, what its device gets, and what link and code say of it. */
const ENDINGS: [
  what: string,
  SessionOutcome,
  SessionResult,
  end: (stores: TestStores, session: NewSession) => Promise<unknown>,
][] = [
  ['the user declined', 'access_denied', DENIED, ({ store }, session) => store.fail(session)],
  ['the provider refused', 'failed', REFUSED, ({ store }, session) => store.fail(session, REFUSED)],
  [
    'there are tokens',
    'signed_in',
    TOKENS,
    async ({ store }, session) => {
      await store.lease(session);
      await store.complete(session);
    },
  ],
  [
    'the exchange failed',
    'failed',
    EXCHANGE_FAILED,
    async ({ store }, session) => {
      await store.lease(session);
      await store.complete(session, EXCHANGE_FAILED);
    },
  ],
  [
    'the lease ran out',
    'failed',
    EXCHANGE_FAILED,
    async ({ store, time }, session) => {
      await store.lease(session);
      time.advance(EXCHANGE_LEASE_MS + 1);
    },
  ],
];

export function testOutcomes(open: OpenStores): void {
  const keysOf = ({ browserState, userCode = '' }: NewSession) => [{ browserState }, { userCode }];

  test.each(ENDINGS)(
    '%s: link and code say "%s" until the session would have expired, delivered or not',
    async (_, outcome, _result, end) => {
      for (const options of [{}, { repeatMs: ACK_MS }, { keepsErrors: true }]) {
        const stores = await open();
        const { store, time } = stores;
        const session = await register(store, { userCode: CODE, ...options });
        await end(stores, session);
        async function expectOutcome(expected: SessionOutcome | undefined) {
          for (const key of keysOf(session)) expect(await store.getSession(key)).toBe(expected);
          expect(await store.authorize(session)).toBeUndefined();
          expect(await store.lease(session)).toBeUndefined();
        }
        await expectOutcome(outcome);
        expect(await store.claim(session.pollSecret)).toMatchObject({ state: 'claimed' });
        await expectOutcome(outcome);
        await store.acknowledge(session.pollSecret);
        await store.sweep();
        await expectOutcome(outcome);
        time.advance(NOW + LIFETIME_MS - time.now());
        await store.sweep();
        await expectOutcome(outcome);
        time.advance(1);
        await expectOutcome(undefined);
      }
    },
  );

  test('a result that may be fetched again beyond the expiry of its session is no longer shown to the user', async () => {
    const { store, time } = await open();
    const session = await register(store, { userCode: CODE, repeatMs: ACK_MS });
    await store.lease(session);
    await store.complete(session);
    time.advance(LIFETIME_MS);
    expect(await store.claim(session.pollSecret)).toEqual(CLAIMED);
    time.advance(1);
    for (const key of keysOf(session)) expect(await store.getSession(key)).toBeUndefined();
    expect(await store.claim(session.pollSecret)).toEqual(CLAIMED);
  });
}

export function testAcknowledgements(open: OpenStores): void {
  async function openDelivered(afterMs = 0) {
    const { store, time } = await open({ maxSessions: 1 });
    const session = await register(store, { repeatMs: ACK_MS });
    time.advance(afterMs);
    await store.lease(session);
    await store.complete(session);
    expect(await store.claim(session.pollSecret)).toEqual(CLAIMED);
    return { store, time, secret: session.pollSecret };
  }

  test('a result to be acknowledged is delivered again until it is', async () => {
    const { store, time, secret } = await openDelivered();
    time.advance(ACK_MS);
    expect(await store.claim(secret)).toEqual(CLAIMED);
    expect(await store.acknowledge(secret)).toBe('acknowledged');
    expect(await store.claim(secret)).toEqual(GONE);
    expect(await store.acknowledge(secret)).toBe('gone');
  });

  test('it is kept for that time even beyond the expiry of the session', async () => {
    const { store, time, secret } = await openDelivered(LIFETIME_MS);
    time.advance(ACK_MS);
    expect(await store.claim(secret)).toEqual(CLAIMED);
    time.advance(1);
    expect(await store.claim(secret)).toEqual(GONE);
  });
}

/** For the device grant: tokens are kept for a while, errors as long as the session lives. */
export function testRepeats(open: OpenStores): void {
  test.each(ENDINGS.filter(([, , result]) => result !== TOKENS))(
    'an error that is kept is delivered until the session expires: %s',
    async (_, outcome, result, fail) => {
      const stores = await open({ maxSessions: 1 });
      const { store, time } = stores;
      const session = await register(store, { keepsErrors: true, withUserCode: true });
      const { pollSecret, browserState } = session;
      await fail(stores, session);
      for (const untilMs of [0, 0, LIFETIME_MS]) {
        time.advance(Math.max(0, NOW + untilMs - time.now()));
        expect(await store.claim(pollSecret)).toEqual({ state: 'claimed', result });
        expect(await store.acknowledge(pollSecret)).toBe('early');
        expect(await store.getSession({ browserState })).toBe(outcome);
        expect(await store.lease(session)).toBeUndefined();
        expect(await store.complete(session)).toBe(false);
        await store.sweep();
        expect(await tryRegister(store)).toBe('busy');
      }
      time.advance(1);
      expect(await store.claim(pollSecret)).toEqual(GONE);
      expect(await tryRegister(store)).toBe('registered');
    },
  );

  test('results that are kept for different times count and expire each by its own', async () => {
    const { store, time } = await open({ maxSessions: 2 });
    const long = await registerCompleted(store, { repeatMs: ACK_MS });
    const short = await registerCompleted(store, { repeatMs: 1_000 });
    for (const { pollSecret } of [long, short]) {
      expect(await store.claim(pollSecret)).toEqual(CLAIMED);
    }
    time.advance(1_000);
    expect(await tryRegister(store)).toBe('busy');
    time.advance(1);
    expect(await store.claim(short.pollSecret)).toEqual(GONE);
    expect(await tryRegister(store)).toBe('registered');
    expect(await tryRegister(store)).toBe('busy');
    time.advance(ACK_MS - 1_001);
    expect(await store.claim(long.pollSecret)).toEqual(CLAIMED);
    time.advance(1);
    expect(await tryRegister(store)).toBe('registered');
  });
}
