import { afterAll, expect, test } from 'bun:test';
import { startRedis } from '../support/redis/start-redis.ts';
import { NOW, newSession, register, registerCompleted, TOKENS } from './suite/sessions.ts';
import { openTestRedis } from './support/redis-store.ts';

const redis = await startRedis();
afterAll(() => redis.stop());

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

test('each prefix counts starts for itself', async () => {
  for (let count = 0; count < 3; count += 1) await one.rateLimiter.take('192.0.2.1', NOW);
  expect(await one.rateLimiter.take('192.0.2.1', NOW)).toMatchObject({ ok: false });
  expect(await other.rateLimiter.take('192.0.2.1', NOW)).toEqual({ ok: true });
});

test('every key begins with a prefix', async () => {
  await registerCompleted(other.store);
  await other.store.sweep(NOW);
  const keys = (await redis.cli('KEYS', '*')).split('\n');
  expect(keys.length).toBeGreaterThan(5);
  expect(keys.filter((key) => !key.startsWith('relay:'))).toEqual([]);
});
