/** What each verb asks of Redis: how many commands, and of which kind. docs/scaling.md, What it costs. */
import { afterAll, expect, test } from 'bun:test';
import { ACK_MS } from '../../src/limits.ts';
import * as claims from '../../src/stores/redis-claim-scripts.ts';
import * as limits from '../../src/stores/redis-limit-scripts.ts';
import * as registers from '../../src/stores/redis-register-scripts.ts';
import * as sessions from '../../src/stores/redis-scripts.ts';
import { makeUserCode, NOW, newSession, register, TOKENS } from '../stores/suite/sessions.ts';
import { openTestRedis } from '../stores/support/redis-store.ts';
import { startCuttingProxy } from '../support/redis/cutting-proxy.ts';
import { startRedis } from '../support/redis/start-redis.ts';

const redis = await startRedis();
const proxy = await startCuttingProxy(redis.port);
const { store, rateLimiter, refreshAnswers, close } = await openTestRedis(proxy.url);
afterAll(async () => {
  close();
  await proxy.stop();
  await redis.stop();
});

/** The heartbeat's aside. */
async function commandsOf(ask: () => Promise<unknown>): Promise<number> {
  proxy.resetTraffic();
  await ask();
  const { commands } = proxy.traffic();
  return (commands.get('EVALSHA') ?? 0) + (commands.get('GET') ?? 0);
}

test('a sign-in takes seven commands, each of them a script', async () => {
  const session = newSession();
  const { service, browserState, pollSecret } = session;
  const steps = [
    () => rateLimiter.take('192.0.2.1', NOW),
    () => store.register(session, NOW),
    () => store.claim(pollSecret, NOW),
    () => store.open(service, browserState, NOW),
    () => store.lease(service, browserState, NOW),
    () => store.complete(service, browserState, TOKENS, NOW),
    () => store.claim(pollSecret, NOW),
  ];
  for (const step of steps) expect(await commandsOf(step)).toBe(1);
});

test('what a person types, and what a device confirms or refreshes, takes few more', async () => {
  const wanted = { userCode: makeUserCode(), deviceName: 'Fernseher', repeatMs: ACK_MS };
  const session = newSession(wanted);
  const { service, browserState, pollSecret } = session;
  expect(await commandsOf(() => store.register(session, NOW))).toBe(1);
  expect(await commandsOf(() => store.find({ browserState }, NOW))).toBe(1);
  expect(await commandsOf(() => store.find({ userCode: makeUserCode() }, NOW))).toBe(1);
  expect(await commandsOf(() => store.find(wanted, NOW))).toBe(2);
  expect(await commandsOf(() => store.useCode(wanted.userCode, NOW))).toBe(3);
  await store.lease(service, browserState, NOW);
  expect(await commandsOf(() => store.complete(service, browserState, TOKENS, NOW))).toBe(1);
  expect(await commandsOf(() => store.claim(pollSecret, NOW))).toBe(1);
  expect(await commandsOf(() => store.acknowledge(pollSecret, NOW))).toBe(1);
  expect(await commandsOf(() => refreshAnswers.begin('mal token', NOW))).toBe(1);
  expect(await commandsOf(() => refreshAnswers.settle('mal token', '{}', NOW))).toBe(1);
  expect(await commandsOf(() => rateLimiter.giveBack('192.0.2.1', NOW))).toBe(1);
});

/** As Redis documents them. Of a hash all is read: it has a dozen fields, and one for each instance that waits. */
const AT_MOST_LOG_N = [
  ...['TIME', 'GET', 'SET', 'DEL', 'PEXPIRE', 'PUBLISH'],
  ...['HSET', 'HGET', 'HMGET', 'HDEL', 'HGETALL', 'ZADD', 'ZCOUNT', 'ZREM'],
];
const SCRIPTS = Object.entries({ ...claims, ...limits, ...registers, ...sessions });

test.each(SCRIPTS)('%s scans nothing: each command of it is O(log n) at worst', (_, { text }) => {
  const calls = [...text.matchAll(/redis\.call\('([A-Z]+)'(?=([^\n]*))/g)];
  expect(calls.length).toBeGreaterThan(0);
  for (const [, name = '', rest] of calls) {
    if (name === 'ZRANGEBYSCORE') expect(rest).toMatch(/'LIMIT', 0, \d+\)/);
    else expect(AT_MOST_LOG_N).toContain(name);
  }
  expect(text.match(/redis\.(?!call\('[A-Z]|error_reply\()/)).toBeNull();
});

test('a registration throws away more of what has expired than it adds', async () => {
  const { store, close } = await openTestRedis(redis.url, { prefix: 'trimmed:' });
  for (let count = 0; count < 40; count += 1) await register(store, { lifetimeMs: 1 });
  await store.register(newSession(), NOW + 2);
  expect(Number(await redis.cli('ZCARD', 'trimmed:live'))).toBeLessThan(40);
  close();
});
