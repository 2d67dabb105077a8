/** The relay in a host of its own (closing-host.mjs), which closes it: the process then ends (docs/operating.md). */
import { describe, expect, test } from 'bun:test';
import { fileURLToPath } from 'node:url';
import { start } from '../kit/device.ts';
import { has } from '../kit/needs.ts';
import { NODE } from '../kit/process.ts';
import { serveBytes, startTokenEndpoint } from '../kit/provider.ts';
import { startRedisCluster, startRedisSentinel } from '../kit/redis/groups.ts';
import { startRedis } from '../kit/redis/server.ts';
import { buildForNode, launchRelay, startRelay } from '../kit/relay.ts';
import { startExchanging } from '../kit/user.ts';

const HOST = fileURLToPath(new URL('closing-host.mjs', import.meta.url));
await buildForNode();

const hasRedis = has('Redis', 'a program that embeds the relay over Redis ends by itself');
const onRedis = test.if(hasRedis);
const [redis, group, cluster] = hasRedis
  ? await Promise.all([startRedis(), startRedisSentinel(), startRedisCluster()])
  : [];

describe.concurrent.each([
  ['Node', NODE],
  ['Bun', process.execPath],
])('under %s the process ends by itself', (_, runtime) => {
  const options = { command: [runtime, HOST] };
  const startHost = (env: Record<string, string> = {}) => startRelay(env, options);

  test.each([
    ['in memory', ''],
    ...(redis ? [['in Redis', redis.url]] : []),
    ...(group && runtime === NODE ? [['in Redis with Sentinel', group.url]] : []),
    ...(cluster && runtime === NODE ? [['in a Redis Cluster', cluster.url]] : []),
  ])('when polls are parked, which get a 204: sessions %s', async (_, url) => {
    const host = await startHost({ REDIS_URL: url });
    const { session } = await start(host);
    const headers = { Connection: 'close' };
    const polled = host.ask(`/auth/result?session=${session}`, { headers });
    await host.untilParked(1);
    const exited = host.stop();
    expect((await polled).status).toBe(204);
    expect(await exited).toBe(0);
  });

  test('when an exchange hangs, once its time is over', async () => {
    using provider = startTokenEndpoint();
    const host = await startHost({ MAL_TOKEN_URL: provider.tokenUrl });
    const { page } = await startExchanging(host, provider);
    const exited = host.stop();
    await page;
    expect(await exited).toBe(0);
  });

  test('when Redis cannot be used at the start: then with 1', async () => {
    using silent = await serveBytes(() => {});
    const exited = [1, silent.port].map(async (port) => {
      const url = `redis://127.0.0.1:${port}`;
      const host = await launchRelay({ REDIS_URL: url, LONGEST_TIMER_MS: '1500' }, options);
      await host.waitForEvent('store_waiting');
      return host.exited;
    });
    expect(await Promise.all(exited)).toEqual([1, 1]);
  });

  onRedis('when Redis hangs', async () => {
    await using frozen = await startRedis();
    const host = await startHost({ REDIS_URL: frozen.url });
    await frozen.freeze();
    await host.waitForEvent('store_lost');
    expect(await host.stop()).toBe(0);
  });
});
