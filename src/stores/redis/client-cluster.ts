/** Several servers, each with its share of the keys. */
import { createCluster } from '@redis/client';
import type { OnCut, RedisClient } from './client.ts';
import { describe, isReplicated, NO_TIMEOUT, optionsOf, runnerOf, timeOf } from './client-parts.ts';
import type { RedisTarget } from './url.ts';

export async function connectCluster(
  target: RedisTarget,
  onCut: OnCut,
  signal: AbortSignal,
): Promise<RedisClient> {
  const { socket, ...defaults } = optionsOf(target);
  const rootNodes = target.addresses.map((address) => ({
    ...defaults,
    socket: { ...socket, ...address },
  }));
  const cluster = createCluster({ rootNodes, defaults: { ...defaults, socket }, ...NO_TIMEOUT });
  cluster.on('error', onCut);
  cluster.on('node-error', onCut);
  signal.addEventListener('abort', () => cluster.destroy());
  await cluster.connect();
  const runner = runnerOf(cluster);
  return {
    ...runner,
    isCluster: true,
    mayFailOver: false,
    get: (key) => cluster.get(key),
    asClaimer: (run) => run({ ...runner, isReplicated }),
    // Sharded: a message goes to the instance's own shard, not to every node. Redis 7.
    publish: (channel, message) => cluster.sPublish(channel, message),
    async subscribe(channel, onMessage) {
      await cluster.sUnsubscribe(channel);
      await cluster.sSubscribe(channel, onMessage);
    },
    async time() {
      const times = cluster.masters.map(async (node) => timeOf(await cluster.nodeClient(node)));
      return Math.max(...(await Promise.all(times)));
    },
    async describe() {
      const [master] = cluster.masters;
      if (master === undefined) return { info: '', save: '' };
      return describe(await cluster.nodeClient(master));
    },
    close: () => cluster.destroy(),
  };
}
