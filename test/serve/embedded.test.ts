/** The relay in a host of its own, which closes it: nothing of it keeps the process running. */
import { afterAll, describe, expect, test } from 'bun:test';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { startHeldProvider } from '../support/held-provider.ts';
import { startRedisCluster } from '../support/redis/start-cluster.ts';
import { startRedis } from '../support/redis/start-redis.ts';
import { startRedisSentinel } from '../support/redis/start-sentinel.ts';
import { type LaunchedRelay, launchRelay } from '../support/relay-process.ts';
import { plantSecret } from '../support/secrets.ts';
import { untilWaiting } from '../support/until-waiting.ts';
import { poll, startSession } from '../support/wire.ts';

const HOST = fileURLToPath(new URL('support/closing-host.mjs', import.meta.url));
const BUILT = fileURLToPath(new URL('../../dist/sign-in-relay.js', import.meta.url));
if (!existsSync(BUILT)) throw new Error('not built yet: npm run build');

const [redis, group, cluster] = await Promise.all([
  startRedis(),
  startRedisSentinel(),
  startRedisCluster(),
]);
const hosts: LaunchedRelay[] = [];
afterAll(async () => {
  for (const host of hosts) await host.stop('SIGKILL');
  await Promise.all([redis.stop(), group.stop(), cluster.stop()]);
});

describe.each([
  ['Node', 'node'],
  ['Bun', process.execPath],
])('under %s', (_, runtime) => {
  function launch(env: Record<string, string>): LaunchedRelay {
    const address = { OAUTH_BASE_URL: 'http://127.0.0.1:3000', HOST: '127.0.0.1', PORT: '0' };
    const command: [string, string] = [runtime, HOST];
    const host = launchRelay({ ...address, MAL_CLIENT_ID: 'mal-client', ...env }, { command });
    hosts.push(host);
    return host;
  }

  async function start(env: Record<string, string> = {}) {
    const host = launch(env);
    const { port } = await host.waitForEvent(({ event }) => event === 'listening');
    return { ...host, baseUrl: `http://127.0.0.1:${port}` };
  }

  test.concurrent('a relay that has done nothing yet', async () => {
    const host = await start();
    expect(await host.stop('SIGTERM')).toBe(0);
  });

  test.concurrent('polls that wait are answered 204', async () => {
    const host = await start();
    const { session } = await startSession(host.baseUrl, 'mal');
    const polled = poll(host.baseUrl, session, { headers: { Connection: 'close' } });
    await untilWaiting(host, 1);
    const exited = host.stop('SIGTERM');
    expect((await polled).status).toBe(204);
    expect(await exited).toBe(0);
  });

  test.concurrent('an exchange that hangs is given up in its own time', async () => {
    const provider = await startHeldProvider();
    const host = await start({ MAL_TOKEN_URL: provider.tokenUrl });
    const { state } = await startSession(host.baseUrl, 'mal');
    const code = plantSecret('code-of-a-hanging-exchange');
    const page = fetch(`${host.baseUrl}/auth/mal/callback?state=${state}&code=${code}`);
    await provider.asked;
    const exited = host.stop('SIGTERM');
    await page.catch(() => {});
    expect(await exited).toBe(0);
    provider.stop();
  }, 60_000);

  test.concurrent('an issuer that is still to be asked again', async () => {
    const env = { PROVIDERS: 'acme', ACME_CLIENT_ID: 'acme', ACME_ISSUER: 'http://127.0.0.1:1' };
    const host = await start(env);
    expect(host.events().map(({ event }) => event)).toContain('provider_not_discovered');
    expect(await host.stop('SIGTERM')).toBe(0);
  });

  test.concurrent.each([
    ['single', redis.url],
    ['sentinel', group.url],
    ['cluster', `redis://${cluster.nodes.map(({ port }) => `127.0.0.1:${port}`)}`],
  ])('Redis (%s), its heartbeats and the connections that listen', async (_, url) => {
    const host = await start({ REDIS_URL: url });
    const { session } = await startSession(host.baseUrl, 'mal');
    const polled = poll(host.baseUrl, session, { headers: { Connection: 'close' } });
    await untilWaiting(host, 1);
    const exited = host.stop('SIGTERM');
    expect((await polled).status).toBe(204);
    expect(await exited).toBe(0);
  });

  test.concurrent('a Redis that cannot be used', async () => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    for (const address of ['127.0.0.1:1', `127.0.0.1:${port}`]) {
      const host = launch({ REDIS_URL: `redis://${address}` });
      await host.waitForEvent(({ event }) => event === 'store_awaited');
      expect(await host.exited).toBe(1);
    }
    silent.close();
  });

  test.concurrent('a Redis that stands still', async () => {
    const frozen = await startRedis();
    const host = await start({ REDIS_URL: frozen.url });
    await frozen.freeze();
    await host.waitForEvent(({ event }) => event === 'store_lost');
    expect(await host.stop('SIGTERM')).toBe(0);
    await frozen.stop();
  });
});
