import { afterAll, expect, test } from 'bun:test';
import { ACK_MS } from '../../src/limits.ts';
import { startRedisCluster } from '../support/redis/start-cluster.ts';
import { runRateLimiterSuite } from './suite/run-rate-limiter-suite.ts';
import { runRefreshAnswersSuite } from './suite/run-refresh-answers-suite.ts';
import { runStoreSuite } from './suite/run-store-suite.ts';
import {
  makeUserCode,
  NOW,
  newSession,
  register,
  registerCompleted,
  TOKENS,
} from './suite/sessions.ts';
import {
  makeRedisRateLimiter,
  makeRedisRefreshAnswers,
  makeRedisStore,
  openTestRedis,
} from './support/redis-store.ts';

const cluster = await startRedisCluster();
afterAll(() => cluster.stop());
const url = `redis://${cluster.nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')}`;

runStoreSuite('redis cluster', makeRedisStore(url), { isRemote: true });
runRateLimiterSuite('redis cluster', makeRedisRateLimiter(url));
runRefreshAnswersSuite('redis cluster', makeRedisRefreshAnswers(url));

test('sessions, their pointers and their codes lie on all three masters', async () => {
  const prefix = 'spread:';
  const { store, close } = await openTestRedis(url, { prefix });
  try {
    for (let count = 0; count < 60; count += 1) {
      await register(store, { userCode: makeUserCode() });
    }
  } finally {
    close();
  }
  const counts = await Promise.all(
    cluster.nodes.map(async (node) => ({
      sessions: (await keysOf(node, `${prefix}session:*`)).length,
      pointers: (await keysOf(node, `${prefix}poll:*`)).length,
      codes: (await keysOf(node, `${prefix}code:*`)).length,
    })),
  );
  expect(counts).toHaveLength(3);
  for (const { sessions, pointers, codes } of counts) {
    // 20 are to be expected; below 5 lies one run in a hundred thousand.
    expect(sessions).toBeGreaterThan(4);
    expect(pointers).toBeGreaterThan(4);
    expect(codes).toBeGreaterThan(4);
  }
  expect(counts.reduce((sum, { sessions }) => sum + sessions, 0)).toBe(60);
});

test('a claim makes room among the live, though they lie in another slot', async () => {
  const { store, close } = await openTestRedis(url, { prefix: 'room:', maxSessions: 1 });
  try {
    const { pollSecret } = await registerCompleted(store);
    expect(await store.claim(pollSecret, NOW)).toMatchObject({ state: 'claimed' });
    await register(store);
  } finally {
    close();
  }
});

test('what a registration leaves that was cut short nobody can use, and it expires', async () => {
  const prefix = 'cut-short:';
  const { store, close } = await openTestRedis(url, { prefix });
  const session = newSession({ userCode: makeUserCode() });
  const { service, browserState, pollSecret, userCode = '' } = session;
  const kinds = ['session', 'poll', 'code'] as const;
  try {
    for (const missing of kinds) {
      expect(await store.register(session, NOW)).toBe('registered');
      for (const [key, node] of await locate(prefix)) {
        expect(Number(await node.cli('PTTL', key))).toBeGreaterThan(0);
        if (key.includes(`:${missing}:`)) await node.cli('DEL', key);
      }
      if (missing === 'session') {
        expect(await store.find({ userCode }, NOW)).toBeUndefined();
        expect(await store.useCode(userCode, NOW)).toBeUndefined();
        expect(await store.open(service, browserState, NOW)).toBeUndefined();
      }
      if (missing !== 'code') expect(await store.claim(pollSecret, NOW)).toEqual({ state: 'gone' });
      for (const [key, node] of await locate(prefix)) await node.cli('DEL', key);
    }
  } finally {
    close();
  }
});

test('of a session whose code is taken nothing is left, in any slot', async () => {
  const prefix = 'taken:';
  const { store, close } = await openTestRedis(url, { prefix });
  try {
    const { userCode = '' } = await register(store, { userCode: makeUserCode() });
    const before = [...(await locate(prefix)).keys()].toSorted();
    expect(await store.register(newSession({ userCode }), NOW)).toBe('collision');
    expect([...(await locate(prefix)).keys()].toSorted()).toEqual(before);
    expect(await (await cluster.ownerOf(`${prefix}live`)).cli('ZCARD', `${prefix}live`)).toBe('1');
  } finally {
    close();
  }
});

test('a sign-in by code, confirmed, leaves nothing in any slot but the used code', async () => {
  const prefix = 'confirmed:';
  const { store, close } = await openTestRedis(url, { prefix });
  try {
    const session = { userCode: makeUserCode(), repeatMs: ACK_MS };
    const { service, browserState, pollSecret } = await register(store, session);
    await store.useCode(session.userCode, NOW);
    await store.lease(service, browserState, NOW);
    await store.complete(service, browserState, TOKENS, NOW);
    expect(await store.claim(pollSecret, NOW)).toEqual({ state: 'claimed', result: TOKENS });
    expect(await store.acknowledge(pollSecret, NOW)).toBe('acknowledged');
    const kinds = [...(await locate(prefix)).keys()].map((key) => key.split(':')[1]);
    expect(kinds).toEqual(['code']);
  } finally {
    close();
  }
});

/** Where each key under the prefix lies. */
async function locate(prefix: string) {
  const found = await Promise.all(
    cluster.nodes.map(async (node) => {
      const keys = await keysOf(node, `${prefix}*`);
      return keys.map((key) => [key, node] as const);
    }),
  );
  return new Map(found.flat());
}

async function keysOf(node: (typeof cluster.nodes)[number], pattern: string): Promise<string[]> {
  const keys = await node.cli('KEYS', pattern);
  return keys.split('\n').filter(Boolean);
}
