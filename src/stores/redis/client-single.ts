/** One server. */
import { createClient } from '@redis/client';
import type { OnCut, RedisClient } from './client.ts';
import {
  describe,
  isReplicated,
  optionsOf,
  RECONNECT_MS,
  runnerOf,
  timeOf,
} from './client-parts.ts';
import type { RedisTarget } from './url.ts';

export async function connectSingle(
  target: RedisTarget,
  onCut: OnCut,
  signal: AbortSignal,
): Promise<RedisClient> {
  const { socket, ...options } = optionsOf(target);
  const [address] = target.addresses;
  let isConnected = false;
  // The first failure is told; only what was connected once is connected again.
  const reconnectStrategy = () => isConnected && RECONNECT_MS;
  const client = createClient({ ...options, socket: { ...socket, ...address, reconnectStrategy } });
  let subscriber = client.duplicate();
  function close(): void {
    client.destroy();
    subscriber.destroy();
  }
  client.on('error', onCut);
  signal.addEventListener('abort', close);
  await client.connect();
  isConnected = true;
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
    close,
  };
}
