import { afterAll } from 'bun:test';
import { startRedis } from '../support/redis/start-redis.ts';
import { runRateLimiterSuite } from './suite/run-rate-limiter-suite.ts';
import { runRefreshAnswersSuite } from './suite/run-refresh-answers-suite.ts';
import { runStoreSuite } from './suite/run-store-suite.ts';
import {
  makeRedisRateLimiter,
  makeRedisRefreshAnswers,
  makeRedisStore,
} from './support/redis-store.ts';

const redis = await startRedis();
afterAll(() => redis.stop());

runStoreSuite('redis', makeRedisStore(redis.url), { isRemote: true });
runRateLimiterSuite('redis', makeRedisRateLimiter(redis.url));
runRefreshAnswersSuite('redis', makeRedisRefreshAnswers(redis.url));
