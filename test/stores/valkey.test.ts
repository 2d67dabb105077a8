/** The store on Valkey, alone, in a Cluster and under Sentinel; Debian 12 has it in its backports alone. */
import { afterAll } from 'bun:test';
import { startRedisCluster } from '../support/redis/start-cluster.ts';
import { startRedis } from '../support/redis/start-redis.ts';
import { startRedisSentinel } from '../support/redis/start-sentinel.ts';
import { runRateLimiterSuite } from './suite/run-rate-limiter-suite.ts';
import { runRefreshAnswersSuite } from './suite/run-refresh-answers-suite.ts';
import { runStoreSuite } from './suite/run-store-suite.ts';
import {
  makeRedisRateLimiter,
  makeRedisRefreshAnswers,
  makeRedisStore,
} from './support/redis-store.ts';

const program = 'valkey-server';

if (Bun.which(program) === null) console.log(`no ${program} here: the store is tested on Redis`);
else await testValkey();

async function testValkey(): Promise<void> {
  const [single, group, cluster] = await Promise.all([
    startRedis({ program }),
    startRedisSentinel({ program }),
    startRedisCluster({ program }),
  ]);
  afterAll(() => Promise.all([single.stop(), group.stop(), cluster.stop()]));
  const hosts = cluster.nodes.map(({ port }) => `127.0.0.1:${port}`).join(',');
  for (const [name, url] of [
    ['valkey', single.url],
    ['valkey sentinel', group.url],
    ['valkey cluster', `redis://${hosts}`],
  ] as const) {
    runStoreSuite(name, makeRedisStore(url), { isRemote: true });
    runRateLimiterSuite(name, makeRedisRateLimiter(url));
    runRefreshAnswersSuite(name, makeRedisRefreshAnswers(url));
  }
}
