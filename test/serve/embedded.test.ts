/** The relay in a host of its own, which closes it: nothing of it keeps the process running. */
import { afterAll, describe, expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { startHeldProvider } from '../support/held-provider.ts';
import { startRedis } from '../support/redis/start-redis.ts';
import { type LaunchedRelay, launchRelay } from '../support/relay-process.ts';
import { plantSecret } from '../support/secrets.ts';
import { untilWaiting } from '../support/until-waiting.ts';
import { poll, startSession } from '../support/wire.ts';

const HOST = fileURLToPath(new URL('support/closing-host.mjs', import.meta.url));
const BUILT = fileURLToPath(new URL('../../dist/sign-in-relay.js', import.meta.url));
if (!existsSync(BUILT)) throw new Error('not built yet: npm run build');

const hosts: LaunchedRelay[] = [];
afterAll(async () => {
  for (const host of hosts) await host.stop('SIGKILL');
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
  });

  test.concurrent('an issuer that is still to be asked again', async () => {
    const env = { PROVIDERS: 'acme', ACME_CLIENT_ID: 'acme', ACME_ISSUER: 'http://127.0.0.1:1' };
    const host = await start(env);
    expect(host.events().map(({ event }) => event)).toContain('provider_not_discovered');
    expect(await host.stop('SIGTERM')).toBe(0);
  });

  test.concurrent('Redis, its heartbeats and the connection that listens', async () => {
    const redis = await startRedis();
    const host = await start({ REDIS_URL: redis.url });
    const { session } = await startSession(host.baseUrl, 'mal');
    const polled = poll(host.baseUrl, session, { headers: { Connection: 'close' } });
    await untilWaiting(host, 1);
    const exited = host.stop('SIGTERM');
    expect((await polled).status).toBe(204);
    expect(await exited).toBe(0);
    await redis.stop();
  });

  test.concurrent('a Redis that stands still', async () => {
    const redis = await startRedis();
    const host = await start({ REDIS_URL: redis.url });
    await redis.freeze();
    await host.waitForEvent(({ event }) => event === 'store_lost');
    expect(await host.stop('SIGTERM')).toBe(0);
    await redis.stop();
  });
});
