/** One server. */
import { createClient } from '@redis/client';
import type { OnCut, RedisClient } from './redis-client.ts';
import { describe, isReplicated, optionsOf, runnerOf, timeOf } from './redis-client-parts.ts';
import type { RedisTarget } from './redis-url.ts';

export async function connectSingle(target: RedisTarget, onCut: OnCut): Promise<RedisClient> {
  const { socket, ...options } = optionsOf(target);
  const [address] = target.addresses;
  const client = createClient({ ...options, socket: { ...socket, ...address } });
  let subscriber = client.duplicate();
  client.on('error', onCut);
  await client.connect();
  const runner = runnerOf(client);
  return {
    ...runner,
    isCluster: false,
    mayFailOver: false,
    get: (key) => client.get(key),
    asClaimer: (run) => run({ ...runner, isReplicated }),
    publish: (channel, message) => client.publish(channel, message),
    async subscribe(channel, onMessage) {
      subscriber.destroy();
      subscriber = client.duplicate();
      subscriber.on('error', onCut);
      await subscriber.connect();
      await subscriber.subscribe(channel, onMessage);
    },
    time: () => timeOf(client),
    describe: () => describe(client),
    close() {
      client.destroy();
      subscriber.destroy();
    },
  };
}
