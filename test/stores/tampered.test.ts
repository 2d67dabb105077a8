/** What a thief who can write to the store achieves: an end, never a result. docs/sealing.md, With a pen. */
import { afterAll, expect, test } from 'bun:test';
import { deriveFromRefresh, deriveFromUserCode } from '../../src/stores/seal.ts';
import { failureOf } from '../support/failure-of.ts';
import { startRedis } from '../support/redis/start-redis.ts';
import {
  makeUserCode,
  NOW,
  newSession,
  register,
  registerCompleted,
  TOKENS,
} from './suite/sessions.ts';
import { openTestRedis } from './support/redis-store.ts';

const redis = await startRedis();
const PREFIX = 'tampered:';
const { store, refreshAnswers, close } = await openTestRedis(redis.url, { prefix: PREFIX });
afterAll(async () => {
  close();
  await redis.stop();
});

const keysOf = async (kind: 'session' | 'poll') =>
  (await redis.cli('KEYS', `${PREFIX}${kind}:*`)).split('\n').filter(Boolean);

/** What `make` brings into the store: its session, and where that and its pointer lie. */
async function locate<Made>(make: () => Promise<Made>) {
  const [sessions, pointers] = [await keysOf('session'), await keysOf('poll')];
  const made = await make();
  const [sessionKey = ''] = (await keysOf('session')).filter((key) => !sessions.includes(key));
  const [pollKey = ''] = (await keysOf('poll')).filter((key) => !pointers.includes(key));
  return { ...made, sessionKey, pollKey };
}

const completed = () => locate(() => registerCompleted(store));
const pending = () => locate(() => register(store));
/** Sessions with all that one can have. */
const pendingWithCode = () =>
  locate(() => register(store, { userCode: makeUserCode(), deviceName: 'Fernseher 📺' }));
const withoutVerifier = () =>
  locate(async () => {
    const { verifier: _, ...session } = newSession();
    await store.register(session, NOW);
    return session;
  });

const codeKeyOf = (userCode = '') => `${PREFIX}code:${deriveFromUserCode(userCode).id}`;
const read = (key: string, field: string) => redis.cli('HGET', key, field);
const write = (key: string, field: string, value: string) => redis.cli('HSET', key, field, value);

test("another session's result in its place does not open", async () => {
  const [victim, other] = [await completed(), await completed()];
  await write(victim.sessionKey, 'r', await read(other.sessionKey, 'r'));
  expect(await failureOf(store.claim(victim.pollSecret, NOW))).toBeInstanceOf(Error);
});

test("another session's pointer in its place does not open", async () => {
  const [victim, other] = [await completed(), await completed()];
  await redis.cli('SET', victim.pollKey, await redis.cli('GET', other.pollKey));
  expect(await failureOf(store.claim(victim.pollSecret, NOW))).toBeInstanceOf(Error);
});

test("a pointer turned to another session does not open it with the first one's key", async () => {
  const [victim, other] = [await completed(), await completed()];
  const [expiry, , wrapped] = (await redis.cli('GET', victim.pollKey)).split('.');
  const id = other.sessionKey.replace(`${PREFIX}session:`, '');
  await redis.cli('SET', victim.pollKey, `${expiry}.${id}.${wrapped}`);
  expect(await failureOf(store.claim(victim.pollSecret, NOW))).toBeInstanceOf(Error);
});

test("a whole session of the thief's own in its place does not open", async () => {
  const [victim, own] = [await completed(), await completed()];
  await redis.cli('COPY', own.sessionKey, victim.sessionKey, 'REPLACE');
  expect(await failureOf(store.claim(victim.pollSecret, NOW))).toBeInstanceOf(Error);
});

test("a verifier where the result belongs does not open, nor another session's verifier", async () => {
  const [victim, other] = [await pending(), await pending()];
  await redis.cli(
    ...['HSET', victim.sessionKey, 's', 'c', 'r', await read(victim.sessionKey, 'v')],
    ...['v', await read(other.sessionKey, 'v')],
  );
  expect(await failureOf(store.claim(victim.pollSecret, NOW))).toBeInstanceOf(Error);
  await write(victim.sessionKey, 's', 'p');
  expect(await failureOf(store.open('mal', victim.browserState, NOW))).toBeInstanceOf(Error);
  expect(await failureOf(store.lease('mal', victim.browserState, NOW))).toBeInstanceOf(Error);
});

test('a changed character anywhere in a result keeps it shut', async () => {
  const { sessionKey, pollSecret } = await completed();
  const sealed = await read(sessionKey, 'r');
  for (const at of [0, 16, sealed.length >> 1, sealed.length - 2]) {
    const changed = sealed[at] === 'A' ? 'B' : 'A';
    await redis.cli(
      ...['HSET', sessionKey, 's', 'c'],
      ...['r', sealed.slice(0, at) + changed + sealed.slice(at + 1)],
    );
    expect(await failureOf(store.claim(pollSecret, NOW))).toBeInstanceOf(Error);
  }
  await redis.cli('HSET', sessionKey, 's', 'c', 'r', sealed);
  expect(await store.claim(pollSecret, NOW)).toEqual({ state: 'claimed', result: TOKENS });
});

test.each([
  ['with a verifier', pending],
  ['without one', withoutVerifier],
])(
  'a session %s does not open under another service, nor with its verifier taken away',
  async (_, make) => {
    const { sessionKey, browserState, service } = await make();
    await write(sessionKey, 'n', 'anilist');
    expect(await failureOf(store.open('anilist', browserState, NOW))).toBeInstanceOf(Error);
    await write(sessionKey, 'n', service);
    expect(await store.open(service, browserState, NOW)).toBeDefined();
    await redis.cli('HDEL', sessionKey, 'v');
    expect(await failureOf(store.open(service, browserState, NOW))).toBeInstanceOf(Error);
    expect(await failureOf(store.lease(service, browserState, NOW))).toBeInstanceOf(Error);
  },
);

test("another session's device name in its place is not shown, nor its link under this code", async () => {
  const [victim, other] = [await pendingWithCode(), await pendingWithCode()];
  const { userCode = '', browserState } = victim;
  const name = await read(victim.sessionKey, 'm');
  await write(victim.sessionKey, 'm', await read(other.sessionKey, 'm'));
  expect(await failureOf(store.find({ browserState }, NOW))).toBeInstanceOf(Error);
  await write(victim.sessionKey, 'm', name);
  expect(await store.find({ userCode }, NOW)).toMatchObject({ browserState });
  await redis.cli('COPY', codeKeyOf(other.userCode), codeKeyOf(userCode), 'REPLACE');
  expect(await failureOf(store.find({ userCode }, NOW))).toBeInstanceOf(Error);
  expect(await failureOf(store.useCode(userCode, NOW))).toBeInstanceOf(Error);
});

test('a session under another service is not shown', async () => {
  const { sessionKey, browserState } = await pendingWithCode();
  await write(sessionKey, 'n', 'anilist');
  expect(await failureOf(store.find({ browserState }, NOW))).toBeInstanceOf(Error);
});

test("tokens are not sealed to another session's device", async () => {
  const [victim, other] = [await pendingWithCode(), await pendingWithCode()];
  await write(victim.sessionKey, 'k', await read(other.sessionKey, 'k'));
  await store.lease('mal', victim.browserState, NOW);
  const put = store.complete('mal', victim.browserState, TOKENS, NOW);
  expect(await failureOf(put)).toBeInstanceOf(Error);
  expect(await read(victim.sessionKey, 'r')).toBe('');
});

test('an answer to another refresh in its place does not open', async () => {
  for (const key of ['mal victim', 'mal other']) {
    await refreshAnswers.begin(key, NOW);
    await refreshAnswers.settle(key, `{"for":"${key}"}`, NOW);
  }
  const keyOf = (key: string) => `${PREFIX}refresh:${deriveFromRefresh(key).id}`;
  await redis.cli('COPY', keyOf('mal other'), keyOf('mal victim'), 'REPLACE');
  expect(await failureOf(refreshAnswers.begin('mal victim', NOW))).toBeInstanceOf(Error);
});

test('a thief can end a sign-in: the device is told exchange_failed', async () => {
  const { sessionKey, pollSecret } = await completed();
  await write(sessionKey, 'r', '');
  expect(await store.claim(pollSecret, NOW)).toEqual({
    state: 'claimed',
    result: { error: 'exchange_failed' },
  });
});
