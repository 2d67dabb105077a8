import { afterAll, expect, test } from 'bun:test';
import { startRedis } from '../support/redis/start-redis.ts';
import {
  LIFETIME_MS,
  makeUserCode,
  NOW,
  newSession,
  register,
  registerCompleted,
  TOKENS,
} from './suite/sessions.ts';
import { openTestRedis } from './support/redis-store.ts';

const redis = await startRedis();
afterAll(() => redis.stop());

/** When every session before it has expired. */
const LATER = NOW + LIFETIME_MS + 1;

/** One begins with the other: a prefix is no pattern. */
const [one, other] = await Promise.all([
  openTestRedis(redis.url, { prefix: 'relay:', maxSessions: 1 }),
  openTestRedis(redis.url, { prefix: 'relay:2:', maxSessions: 1 }),
]);
afterAll(() => {
  one.close();
  other.close();
});

test('two prefixes on one server do not see each other', async () => {
  const session = await register(one.store);
  const { service, browserState, pollSecret } = session;
  // Neither its capabilities nor its place are taken over there.
  expect(await other.store.open(service, browserState, NOW)).toBeUndefined();
  expect(await other.store.claim(pollSecret, NOW)).toEqual({ state: 'gone' });
  expect(await other.store.register(session, NOW)).toBe('registered');
  expect(await one.store.register(newSession(), NOW)).toBe('busy');

  await other.store.lease(service, browserState, NOW);
  await other.store.complete(service, browserState, TOKENS, NOW);
  expect(await one.store.claim(pollSecret, NOW)).toEqual({ state: 'pending' });
  expect(await other.store.claim(pollSecret, NOW)).toMatchObject({ state: 'claimed' });
  expect(await one.store.open(service, browserState, NOW)).toBeDefined();
});

test('neither codes nor refreshes are seen under the other prefix', async () => {
  await Promise.all([one, other].map(({ store }) => store.sweep(LATER)));
  const userCode = makeUserCode();
  const [session, namesake] = [newSession({ userCode }), newSession({ userCode })];
  expect(await one.store.register(session, LATER)).toBe('registered');
  expect(await other.store.find({ userCode }, LATER)).toBeUndefined();
  expect(await other.store.useCode(userCode, LATER)).toBeUndefined();
  expect(await other.store.register(namesake, LATER)).toBe('registered');
  const { browserState } = session;
  expect(await one.store.useCode(userCode, LATER)).toMatchObject({ browserState });

  expect(await one.refreshAnswers.begin('mal token', LATER)).toEqual({ state: 'yours' });
  expect(await other.refreshAnswers.begin('mal token', LATER)).toEqual({ state: 'yours' });
});

test('limits of different names count for themselves', async () => {
  const policy = { burst: 1, ratePerSecond: 1 };
  const [starts, codes] = ['some', 'others'].map((name) => one.createRateLimiter(name, policy));
  expect(await starts?.take('192.0.2.7', NOW)).toEqual({ ok: true });
  expect(await codes?.take('192.0.2.7', NOW)).toEqual({ ok: true });
  expect(await starts?.take('192.0.2.7', NOW)).toMatchObject({ ok: false });
});

test('each prefix counts starts for itself', async () => {
  for (let count = 0; count < 3; count += 1) await one.rateLimiter.take('192.0.2.1', NOW);
  expect(await one.rateLimiter.take('192.0.2.1', NOW)).toMatchObject({ ok: false });
  expect(await other.rateLimiter.take('192.0.2.1', NOW)).toEqual({ ok: true });
});

test('every key begins with a prefix', async () => {
  await redis.cli('FLUSHALL');
  await registerCompleted(other.store, { userCode: makeUserCode() });
  await other.rateLimiter.take('192.0.2.1', NOW);
  await other.refreshAnswers.begin('mal token', NOW);
  const keys = (await redis.cli('KEYS', '*')).split('\n');
  // The place among the live, the session, its pointer and its code, a bucket, a refresh.
  expect(keys).toHaveLength(6);
  expect(keys.filter((key) => !key.startsWith('relay:'))).toEqual([]);
});
