/** A thief of the store: what someone gains who can read all of it and knows the user code, or can write to it (docs/sealing.md). */
import { afterAll, describe, expect, test } from 'bun:test';
import type { Awaitable } from '../../src/relay/store.ts';
import { FIELD } from '../../src/stores/redis/scripts.ts';
import {
  deriveFromBrowserState,
  deriveFromPollSecret,
  deriveFromRefresh,
  deriveFromUserCode,
  unseal,
  unsealAsDevice,
} from '../../src/stores/sealing.ts';
import { startRedis } from '../kit/redis/server.ts';
import {
  CLAIMED,
  createCode,
  type NewSession,
  newSession,
  openTestRedis,
  register,
  registerCompleted,
} from '../kit/stores.ts';
import { failureOf } from '../kit/wait.ts';

const redis = await startRedis();
const PREFIX = 'stolen:';
const { store, refreshes, close } = await openTestRedis(redis.url, { prefix: PREFIX });
/** Another instance, which knows of a session only what is in the store. */
const other = await openTestRedis(redis.url, { prefix: PREFIX });
afterAll(async () => {
  close();
  other.close();
  await redis.stop();
});

/** A session, and the keys of its records. */
const withKeys = (session: NewSession) => ({
  ...session,
  sessionKey: `${PREFIX}session:${deriveFromBrowserState(session.browserState).id}`,
  pollKey: `${PREFIX}poll:${deriveFromPollSecret(session.pollSecret).id}`,
  codeKey: `${PREFIX}code:${deriveFromUserCode(session.userCode ?? '').id}`,
});

const completed = async () => withKeys(await registerCompleted(store));
const pending = async () => withKeys(await register(store));
/** With everything that a session can have. */
const pendingWithCode = async () =>
  withKeys(await register(store, { userCode: createCode(), deviceName: 'Fernseher 📺' }));
const withoutVerifier = async () => withKeys(await register(store, { verifier: undefined }));

const read = (key: string, field: string) => redis.cli('HGET', key, field);
const write = (key: string, ...fields: string[]) => redis.cli('HSET', key, ...fields);

test.each<[string, (session: NewSession) => Promise<unknown>]>([
  ['signed in', (session) => store.lease(session).then(() => store.complete(session))],
  ['declined', (session) => store.fail(session)],
  ['cancelled', ({ pollSecret }) => store.cancel(pollSecret)],
])('of a session that has ended neither verifier nor device name is kept: %s', async (_, end) => {
  const session = await pendingWithCode();
  const fields = async () => (await redis.cli('HKEYS', session.sessionKey)).split('\n');
  expect(await fields()).toEqual(expect.arrayContaining([FIELD.verifier, FIELD.device_name]));
  await end(session);
  const kept = await fields();
  expect(kept).toContain(FIELD.state);
  expect(kept.filter((each) => each === FIELD.verifier || each === FIELD.device_name)).toEqual([]);
});

async function expectError(promise: Awaitable<unknown>): Promise<void> {
  expect(await failureOf(Promise.resolve(promise))).toBeInstanceOf(Error);
}

describe('who can write to the store and puts in its place', () => {
  type Keys = ReturnType<typeof withKeys>;

  test.each<[string, (victim: Keys, other: Keys) => Promise<unknown>]>([
    [
      "another session's result",
      async (victim, foreign) => write(victim.sessionKey, 'r', await read(foreign.sessionKey, 'r')),
    ],
    [
      "another session's pointer",
      async ({ pollKey }, foreign) =>
        redis.cli('SET', pollKey, await redis.cli('GET', foreign.pollKey)),
    ],
    [
      "a pointer to another session, with the victim's key",
      async ({ pollKey }, foreign) => {
        const [expiry, , wrapped] = (await redis.cli('GET', pollKey)).split('.');
        const id = foreign.sessionKey.replace(`${PREFIX}session:`, '');
        return redis.cli('SET', pollKey, `${expiry}.${id}.${wrapped}`);
      },
    ],
    [
      'a whole session of their own',
      (victim, own) => redis.cli('COPY', own.sessionKey, victim.sessionKey, 'REPLACE'),
    ],
  ])('%s: it does not open', async (_, tamper) => {
    const [victim, foreign] = [await completed(), await completed()];
    await tamper(victim, foreign);
    await expectError(other.store.claim(victim.pollSecret));
  });

  test("a verifier for a result, or another session's verifier: neither opens", async () => {
    const [victim, other] = [await pending(), await pending()];
    const [verifier, others] = [
      await read(victim.sessionKey, 'v'),
      await read(other.sessionKey, 'v'),
    ];
    await write(victim.sessionKey, 's', 'c', 'r', verifier, 'v', others);
    await expectError(store.claim(victim.pollSecret));
    await write(victim.sessionKey, 's', 'p');
    await expectError(store.authorize(victim));
    await expectError(store.lease(victim));
  });

  test('one changed character anywhere in a result: it does not open', async () => {
    const { sessionKey, pollSecret } = await completed();
    const sealed = await read(sessionKey, 'r');
    for (const at of [0, 16, sealed.length >> 1, sealed.length - 2]) {
      const changed = sealed[at] === 'A' ? 'B' : 'A';
      await write(sessionKey, 's', 'c', 'r', sealed.slice(0, at) + changed + sealed.slice(at + 1));
      await expectError(store.claim(pollSecret));
    }
    await write(sessionKey, 's', 'c', 'r', sealed);
    expect(await store.claim(pollSecret)).toEqual(CLAIMED);
  });

  test.each([
    ['with a verifier', pending],
    ['without one', withoutVerifier],
  ])('another service, or no verifier, for a session %s: it does not open', async (_, make) => {
    const session = await make();
    const { sessionKey, browserState, service } = session;
    await write(sessionKey, 'n', 'anilist');
    await expectError(store.authorize({ service: 'anilist', browserState }));
    await write(sessionKey, 'n', service);
    expect(await store.authorize(session)).toBeDefined();
    await redis.cli('HDEL', sessionKey, 'v');
    await expectError(store.authorize(session));
    await expectError(store.lease(session));
  });

  test("another session's device name, service or code: nothing of it is shown", async () => {
    const [victim, other] = [await pendingWithCode(), await pendingWithCode()];
    const { sessionKey, codeKey, userCode = '', browserState } = victim;
    const name = await read(sessionKey, 'm');
    await write(sessionKey, 'm', await read(other.sessionKey, 'm'));
    await expectError(store.getSession({ browserState }));
    await write(sessionKey, 'm', name, 'n', 'anilist');
    await expectError(store.getSession({ browserState }));
    await write(sessionKey, 'n', 'mal');
    expect(await store.getSession({ userCode })).toMatchObject({ browserState });
    await redis.cli('COPY', other.codeKey, codeKey, 'REPLACE');
    await expectError(store.getSession({ userCode }));
  });

  test("another device's key: no tokens are sealed to it", async () => {
    const [victim, other] = [await pendingWithCode(), await pendingWithCode()];
    await write(victim.sessionKey, 'k', await read(other.sessionKey, 'k'));
    await store.lease(victim);
    await expectError(store.complete(victim));
    expect(await read(victim.sessionKey, 'r')).toBe('');
  });

  test('the result of another refresh: it does not open', async () => {
    for (const key of ['mal victim', 'mal other']) {
      await refreshes.begin(key);
      await refreshes.finish(key, `{"for":"${key}"}`);
    }
    const keyOf = (key: string) => `${PREFIX}refresh:${deriveFromRefresh(key).id}`;
    await redis.cli('COPY', keyOf('mal other'), keyOf('mal victim'), 'REPLACE');
    await expectError(refreshes.begin('mal victim'));
  });

  test('an empty result ends the sign-in, and the device gets exchange_failed', async () => {
    const { sessionKey, pollSecret } = await completed();
    await write(sessionKey, 'r', '');
    const result = { error: 'exchange_failed' } as const;
    expect(await store.claim(pollSecret)).toEqual({ state: 'claimed', result });
  });
});

describe('who can read the store and knows the user code', () => {
  test('has the link, but not the tokens', async () => {
    const session = await pendingWithCode();
    const { userCode = '', browserState, pollSecret, sessionKey } = session;
    const code = deriveFromUserCode(userCode);
    const [, sealedState = ''] = (await redis.cli('GET', session.codeKey)).split('.');
    expect(unseal(code.key, `code ${code.id}`, sealedState).toString()).toBe(browserState);
    await store.lease(session);
    expect(await store.complete(session)).toBe(true);

    const { id, key } = deriveFromBrowserState(browserState);
    const [context, sealed] = [`result ${id}`, await read(sessionKey, 'r')];
    for (const part of [sealed, ...sealed.split('.')]) {
      expect(() => unseal(key, context, part)).toThrow();
    }
    for (const guess of [browserState, userCode, newSession().pollSecret]) {
      const by = { sessionKey: key, pollSecret: guess };
      expect(() => unsealAsDevice(by, context, sealed)).toThrow();
    }
    expect(await store.claim(pollSecret)).toEqual(CLAIMED);
  });

  test('has no more where one instance took the lease and another received the tokens', async () => {
    const session = await pendingWithCode();
    await store.lease(session);
    await other.store.complete(session);
    // Sealed with an ephemeral key, for the device alone.
    expect(await read(session.sessionKey, 'r')).toContain('.');
    expect(await store.claim(session.pollSecret)).toEqual(CLAIMED);
  });

  test('a session without a code is sealed with its own key alone', async () => {
    const { sessionKey } = await completed();
    expect(await read(sessionKey, 'k')).toBe('');
    expect(await read(sessionKey, 'r')).not.toContain('.');
  });
});
