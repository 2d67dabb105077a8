/** A primary that Sentinels know, and its replicas. */
import { createSentinel } from '@redis/client';
import type { OnCut, RedisClient } from './client.ts';
import { describe, optionsOf, runnerOf, timeOf } from './client-parts.ts';
import type { RedisTarget } from './url.ts';

/** A primary that is cut off must not keep a device waiting longer than this for its tokens. */
const CONFIRM_MS = 500;
/** How often the Sentinels are asked who is the primary, besides hearing of it. */
const SENTINEL_SCAN_MS = 1_000;
/** Claims wait for a replica on connections of their own, so that nothing waits behind them. */
const CLAIM_CONNECTIONS = 8;

export async function connectSentinel(
  target: RedisTarget,
  onCut: OnCut,
  signal: AbortSignal,
): Promise<RedisClient> {
  const { socket, ...options } = optionsOf(target);
  const sentinel = createSentinel({
    name: target.primaryName ?? '',
    sentinelRootNodes: [...target.addresses],
    nodeClientOptions: { ...options, socket },
    sentinelClientOptions: { socket, disableClientInfo: true },
    masterPoolSize: 1 + CLAIM_CONNECTIONS,
    // One for everything but claims. Without it commands that are sent at once take a
    // connection each and give one back, until none is left (@redis/client 6.3.1).
    reserveClient: true,
    // It would send a command again, to another primary and as late as it comes.
    maxCommandRediscovers: 0,
    passthroughClientErrorEvents: true,
    scanInterval: SENTINEL_SCAN_MS,
  });
  sentinel.on('error', onCut);
  sentinel.on('client-error', ({ error }) => onCut(error));
  // It leaves the old primary without an error, and with it the connection that listens.
  sentinel.on('topology-change', ({ type }) => {
    if (type === 'MASTER_CHANGE') onCut();
  });
  const close = () => void sentinel.destroy().catch(() => {});
  signal.addEventListener('abort', close);
  await sentinel.connect();
  let isSubscribed = false;
  return {
    ...runnerOf(sentinel),
    isCluster: false,
    mayFailOver: true,
    get: (key) => sentinel.get(key),
    // A claim that only the old primary knew would come back with the new one.
    // WAIT speaks of its own connection's writes, so both go by the same one.
    asClaimer: (run) =>
      sentinel.use((client) =>
        run({
          ...runnerOf(client),
          isReplicated: async () => (await client.wait(1, CONFIRM_MS)) >= 1,
        }),
      ),
    publish: (channel, message) => sentinel.publish(channel, message),
    async subscribe(channel, onMessage) {
      // Valkey refuses to end a subscription where there is none.
      if (isSubscribed) await sentinel.unsubscribe(channel);
      isSubscribed = false;
      await sentinel.subscribe(channel, onMessage);
      isSubscribed = true;
    },
    time: () => timeOf(sentinel),
    describe: () => sentinel.use((client) => describe(client)),
    close,
  };
}
