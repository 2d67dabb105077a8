/** Two relays on one Redis, and every request goes to the other one than the request before. */
import { PROXY_ADDRESS, startAlternatingProxy } from '../support/alternating-proxy.ts';
import { findFreePort } from '../support/free-port.ts';
import { startRedis } from '../support/redis/start-redis.ts';
import type { Running, StartRelay } from './conformance.ts';

/** Resolves when both relays answer; the proxy listens where `env` says that the relay should. */
export async function startTakingTurns(
  startRelay: StartRelay,
  env: Readonly<Record<string, string>>,
): Promise<Running> {
  const redis = await startRedis();
  const ports = [await findFreePort(), await findFreePort()];
  const trusted = [env.TRUSTED_PROXY_CIDRS, `${PROXY_ADDRESS}/32`].filter(Boolean).join(',');
  const shared = { ...env, REDIS_URL: redis.url, TRUSTED_PROXY_CIDRS: trusted };
  const relays = await Promise.all(
    ports.map((port) => startRelay({ ...shared, PORT: String(port) })),
  );
  const proxy = await startAlternatingProxy(ports, Number(env.PORT));
  return {
    async stop() {
      proxy.stop();
      await Promise.all(relays.map((relay) => relay.stop()));
      await redis.stop();
    },
  };
}
