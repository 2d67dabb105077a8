import { startCuttingProxy } from '../../test/kit/redis/proxy.ts';
import { startRedis } from '../../test/kit/redis/server.ts';
import { startRelay } from '../../test/kit/relay.ts';
import { relayEnv, runMany, signIn, startProvider } from './sign-ins.ts';

const SIGN_INS = 500;

/** One after the other, so that no two commands share a round trip. The heartbeat is not counted. */
export async function measureTraffic(): Promise<string[]> {
  const provider = startProvider();
  const redis = await startRedis();
  const proxy = await startCuttingProxy(redis.port);
  const relay = await startRelay({ ...relayEnv(provider.origin), REDIS_URL: proxy.url });
  try {
    // Afterwards Redis knows the scripts.
    await runMany(20, 1, () => signIn(relay.baseUrl));
    proxy.resetTraffic();
    await runMany(SIGN_INS, 1, () => signIn(relay.baseUrl));
    const { commands, roundTrips, requestBytes, replyBytes } = proxy.traffic();
    const scripts = commands.get('EVALSHA') ?? 0;
    const beats = commands.get('PUBLISH') ?? 0;
    const each = (count: number) => (count / SIGN_INS).toFixed(2);
    return [
      `${each(scripts)} commands, ${each(roundTrips - beats)} round trips`,
      `${each(requestBytes)} bytes to Redis, ${each(replyBytes)} bytes from it, ${beats} heartbeats among them`,
      `all that was sent: ${[...commands].map(([name, count]) => `${name} ${count}`).join(', ')}`,
    ];
  } finally {
    await relay.stop();
    await proxy.stop();
    await redis.stop();
    provider.stop();
  }
}
