/** All that an operator may set REDIS_URL to, with one interface, for tests of what happens when it fails as a whole. */
import { pollUntil } from '../wait.ts';
import { isServing, type RedisGroup, startRedisCluster, startRedisSentinel } from './groups.ts';
import { type RedisServer, startRedis } from './server.ts';

/** Longer than any outage that a test makes: after it the same servers have the same roles. */
const NO_FAILOVER = ['--cluster-node-timeout', '60000'];

/** `describe.each` takes them. Each replica is the only one of its primary. */
export const DEPLOYMENTS = [
  [
    'one server',
    async () => {
      const redis = await startRedis();
      return createDeployment({ url: redis.url, nodes: [redis], sentinels: [] });
    },
  ],
  ['Sentinel', async () => createDeployment(await startRedisSentinel())],
  [
    'a Cluster',
    async () => createDeployment(await startRedisCluster({ replicas: 1, args: NO_FAILOVER })),
  ],
] as const;

/** What is done is done to all servers at once, Sentinels too. */
function createDeployment({
  url,
  nodes,
  sentinels,
}: Pick<RedisGroup, 'url' | 'nodes' | 'sentinels'>) {
  const servers = [...nodes, ...sentinels];
  const all = (act: (server: RedisServer) => Promise<unknown>) => Promise.all(servers.map(act));
  return {
    url,
    kill: () => all((server) => server.kill()),
    /** Empty, on the same ports. Resolves when it serves. */
    async restart() {
      await all((server) => server.restart());
      await pollUntil('all of Redis serves', async () => {
        const serving = await Promise.all(nodes.map(isServing));
        return serving.every(Boolean);
      });
    },
    freeze: () => all((server) => server.freeze()),
    thaw() {
      for (const server of servers) server.thaw();
    },
    [Symbol.asyncDispose]: async () => void (await all((server) => server.stop())),
  };
}
