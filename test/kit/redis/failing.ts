/** Groups that fail over by themselves, and how a test makes them do so. */

import { pollUntil } from '../wait.ts';
import {
  type ClusterOptions,
  type Failing,
  startRedisCluster,
  startRedisSentinel,
} from './groups.ts';
import type { RedisServer } from './server.ts';

/** After so long a replica that was asked to take over gives up (CLUSTER_MF_TIMEOUT of Redis), and some more. */
const MANUAL_FAILOVER_MS = 6_000;

/** The hash tag of all keys of a relay: the master that has it is made to fail. */
const HASH_TAG = '{0}';

export const VALKEY = 'valkey-server';

export const startFailingSentinel = (replicas: number, program?: 'valkey-server') =>
  startRedisSentinel({ replicas, failsOver: true, ...(program && { program }) });

export async function startFailingCluster(
  replicas: number,
  program?: 'valkey-server',
): Promise<Failing> {
  const options: ClusterOptions = { replicas, ...(program && { program }) };
  const cluster = await startRedisCluster(options);
  const primary = () => cluster.ownerOf(HASH_TAG);
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
      const replica = await replicaOf(old, cluster.nodes);
      let askedAtMs = Number.NEGATIVE_INFINITY;
      await pollUntil('the replica takes over', async () => {
        if ((await replica.cli('ROLE')).startsWith('master')) return true;
        // On a busy machine Redis gives up, and says nothing.
        if (performance.now() - askedAtMs < MANUAL_FAILOVER_MS) return false;
        askedAtMs = performance.now();
        await replica.cli('CLUSTER', 'FAILOVER');
        return false;
      });
      return old;
    },
    waitForPromotion: (old) => cluster.waitForNewOwner(HASH_TAG, old),
  };
}

async function replicaOf(master: RedisServer, nodes: readonly RedisServer[]) {
  const port = /^slave0:.*port=(\d+)/m.exec(await master.cli('INFO', 'replication'))?.[1];
  const replica = nodes.find((node) => node.port === Number(port));
  if (replica === undefined) throw new Error('a primary without a replica');
  return replica;
}
