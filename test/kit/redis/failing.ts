/** What fails over by itself, under Sentinel and in a Cluster, and how a test makes it do so. */
import { type ClusterOptions, startRedisCluster, startRedisSentinel } from './groups.ts';
import type { RedisServer } from './server.ts';

export interface Failing extends AsyncDisposable {
  readonly url: string;
  readonly nodes: readonly RedisServer[];
  /** Empty in a Cluster, whose nodes decide themselves. */
  readonly sentinels: readonly RedisServer[];
  /** Of a Cluster the one that a failover is going to replace: one of three. */
  primary(): Promise<RedisServer>;
  killPrimary(): Promise<RedisServer>;
  /** As an operator does before an upgrade: nothing is killed. Returns the primary that steps down. */
  replacePrimary(): Promise<RedisServer>;
  waitForPromotion(old: RedisServer): Promise<RedisServer>;
  /** The master of a key. Undefined under Sentinel, where one primary has all of them. */
  ownerOf?(key: string): Promise<RedisServer>;
}

/** Any key has a master: that of this one is made to fail. */
const KEY = 'any';

export const VALKEY = 'valkey-server';

export const startFailingSentinel = (replicas: number, program?: 'valkey-server') =>
  startRedisSentinel({ replicas, failsOver: true, ...(program && { program }) });

export async function startFailingCluster(
  replicas: number,
  program?: 'valkey-server',
): Promise<Failing> {
  const options: ClusterOptions = { replicas, ...(program && { program }) };
  const cluster = await startRedisCluster(options);
  const primary = () => cluster.ownerOf(KEY);
  return {
    ...cluster,
    sentinels: [],
    primary,
    async killPrimary() {
      const killed = await primary();
      await killed.kill();
      return killed;
    },
    async replacePrimary() {
      const old = await primary();
      await (await replicaOf(old, cluster.nodes)).cli('CLUSTER', 'FAILOVER');
      return old;
    },
    waitForPromotion: (old) => cluster.waitForNewOwner(KEY, old),
  };
}

async function replicaOf(master: RedisServer, nodes: readonly RedisServer[]) {
  const port = /^slave0:.*port=(\d+)/m.exec(await master.cli('INFO', 'replication'))?.[1];
  const replica = nodes.find((node) => node.port === Number(port));
  if (replica === undefined) throw new Error('a primary without a replica');
  return replica;
}

/** `describe.each` takes them. Nothing is replaced in them: a Cluster waits longer than any test takes. */
export const GROUPS_THAT_STAY: readonly [
  name: string,
  start: () => Promise<Pick<Failing, 'url' | 'nodes'> & AsyncDisposable>,
][] = [
  ['with Sentinel', () => startRedisSentinel()],
  [
    'in a Cluster',
    () => startRedisCluster({ replicas: 1, args: ['--cluster-node-timeout', '60000'] }),
  ],
];
