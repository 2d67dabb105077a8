/** All that an operator may set REDIS_URL to, with one interface, for tests of what happens when it fails as a whole. */
import { pollUntil } from '../wait.ts';
import { type Failing, startRedisCluster, startRedisSentinel } from './groups.ts';
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
  ['Sentinel', async () => createDeployment(await startRedisSentinel({ replicas: 1 }))],
  [
    'a Cluster',
    async () => createDeployment(await startRedisCluster({ replicas: 1, args: NO_FAILOVER })),
  ],
] as const;

function createDeployment({ url, nodes, sentinels }: Pick<Failing, 'url' | 'nodes' | 'sentinels'>) {
  const servers = [...nodes, ...sentinels];
  const all = async (act: (server: RedisServer) => Promise<unknown>) =>
    void (await Promise.all(servers.map(act)));
  return {
    url,
    /** Each server closes its clients' connections. All servers at once, Sentinels too, like all that follows. */
    cutConnections: () =>
      all(async (server) => {
        await server.cli('CLIENT', 'KILL', 'TYPE', 'normal');
        await server.cli('CLIENT', 'KILL', 'TYPE', 'pubsub');
      }),
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
    [Symbol.asyncDispose]: () => all((server) => server.stop()),
  };
}

/** It has all of its data and, in a Cluster, every slot has a master. */
async function isServing(node: RedisServer): Promise<boolean> {
  const info = await node.cli('INFO');
  if (info.includes('master_link_status:down') || info.includes('loading:1')) return false;
  if (!info.includes('cluster_enabled:1')) return true;
  return (await node.cli('CLUSTER', 'INFO')).includes('cluster_state:ok');
}
