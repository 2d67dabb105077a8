import { afterAll, expect, test } from 'bun:test';
import { startRedisCluster } from '../support/redis/start-cluster.ts';
import { runRateLimiterSuite } from './suite/run-rate-limiter-suite.ts';
import { runRefreshAnswersSuite } from './suite/run-refresh-answers-suite.ts';
import { runStoreSuite } from './suite/run-store-suite.ts';
import { NOW, register, registerCompleted } from './suite/sessions.ts';
import {
  makeRedisRateLimiter,
  makeRedisRefreshAnswers,
  makeRedisStore,
  openTestRedis,
} from './support/redis-store.ts';

const cluster = await startRedisCluster();
afterAll(() => cluster.stop());
const url = `redis://${cluster.nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')}`;

runStoreSuite('redis cluster', makeRedisStore(url));
runRateLimiterSuite('redis cluster', makeRedisRateLimiter(url));
runRefreshAnswersSuite('redis cluster', makeRedisRefreshAnswers(url));

test('sessions and their pointers lie on all three masters', async () => {
  const prefix = 'spread:';
  const { store, close } = await openTestRedis(url, { prefix });
  try {
    for (let count = 0; count < 60; count += 1) await register(store);
  } finally {
    close();
  }
  const counts = await Promise.all(
    cluster.nodes.map(async (node) => ({
      sessions: (await keysOf(node, `${prefix}session:*`)).length,
      pointers: (await keysOf(node, `${prefix}poll:*`)).length,
    })),
  );
  expect(counts).toHaveLength(3);
  for (const { sessions, pointers } of counts) {
    // 20 are to be expected; below 5 lies one run in a hundred thousand.
    expect(sessions).toBeGreaterThan(4);
    expect(pointers).toBeGreaterThan(4);
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

async function keysOf(node: (typeof cluster.nodes)[number], pattern: string): Promise<string[]> {
  const keys = await node.cli('KEYS', pattern);
  return keys.split('\n').filter(Boolean);
}
