import { afterAll, expect, test } from 'bun:test';
import { startRedisSentinel } from '../support/redis/start-sentinel.ts';
import { runRateLimiterSuite } from './suite/run-rate-limiter-suite.ts';
import { runRefreshAnswersSuite } from './suite/run-refresh-answers-suite.ts';
import { runStoreSuite } from './suite/run-store-suite.ts';
import { NOW, registerCompleted } from './suite/sessions.ts';
import {
  makeRedisRateLimiter,
  makeRedisRefreshAnswers,
  makeRedisStore,
  openTestRedis,
} from './support/redis-store.ts';

const group = await startRedisSentinel();
afterAll(() => group.stop());

runStoreSuite('redis sentinel', makeRedisStore(group.url), { isRemote: true });
runRateLimiterSuite('redis sentinel', makeRedisRateLimiter(group.url));
runRefreshAnswersSuite('redis sentinel', makeRedisRefreshAnswers(group.url));

test('what a claim hands out, the replica knows to be handed out', async () => {
  const prefix = 'replicated:';
  const { store, close } = await openTestRedis(group.url, { prefix });
  try {
    const { pollSecret } = await registerCompleted(store);
    expect(await store.claim(pollSecret, NOW)).toMatchObject({ state: 'claimed' });
    const primary = await group.primary();
    const replica = group.nodes.find((node) => node !== primary);
    const [key = ''] = ((await replica?.cli('KEYS', `${prefix}session:*`)) ?? '').split('\n');
    expect(await replica?.cli('HGET', key, 's')).toBe('d');
  } finally {
    close();
  }
});
