/** Relays that come, go and move behind the proxies of deploy/, which know them by name. All real. */
import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { pollOnce, startRequest, UNKNOWN_SECRET } from '../kit/device.ts';
import { startDns } from '../kit/dns.ts';
import { newFolder } from '../kit/folder.ts';
import { findFreePort } from '../kit/process.ts';
import { serveBytes, startTokenEndpoint } from '../kit/provider.ts';
import { PROXY_NAMES, startProxy } from '../kit/proxies.ts';
import { startRedis } from '../kit/redis/server.ts';
import { startRelay } from '../kit/relay.ts';
import { startWaiting } from '../kit/user.ts';
import { pollUntil } from '../kit/wait.ts';

const POLLS = 6;

/** Like relays in containers of their own: each has another address, and the same port. */
const FIRST = '127.0.0.2';
const SECOND = '127.0.0.3';

test('nginx starts before any relay, serves once there is one, and uses the next one', async () => {
  using dns = await startDns();
  const redis = await startRedis();
  const provider = startTokenEndpoint();
  const port = await findFreePort();
  const env = {
    REDIS_URL: redis.url,
    MAL_TOKEN_URL: provider.tokenUrl,
    START_BURST: '30',
    TRUSTED_PROXY_CIDRS: '127.0.0.1',
  };
  dns.set([]);
  const proxy = await startProxy('nginx', [port, port], { dnsPort: dns.port });
  expect((await proxy.ask('/health')).status).toBeOneOf([502, 503]);
  const first = await startRelay({ ...env, HOST: FIRST }, { port });
  dns.set([FIRST]);
  await pollUntil('a relay serves', async () => (await proxy.ask('/health')).status === 200);
  const waiting = await startWaiting(proxy);
  const second = await startRelay({ ...env, HOST: SECOND }, { port });
  dns.set([FIRST, SECOND]);
  await pollUntil('the second gets requests', async () => {
    await pollOnce(proxy, UNKNOWN_SECRET);
    return second.events('poll_waiting').length > 0;
  });
  dns.set([SECOND]);
  await first.stop();
  await waiting.expectSignsIn();
});

test.each(['nginx for one', 'Caddy'] as const)(
  'behind %s a relay with a sessions file restarts: no 502, no sign-in is lost',
  async (name) => {
    const provider = startTokenEndpoint();
    const port = await findFreePort();
    const folder = newFolder();
    const env = {
      SESSIONS_FILE: join(folder, 'sessions.db'),
      MAL_TOKEN_URL: provider.tokenUrl,
      TRUSTED_PROXY_CIDRS: '127.0.0.1',
      START_BURST: '30',
    };
    let relay = await startRelay(env, { port });
    await using proxy = await startProxy(name, [port], { isPatient: true });
    const waiting = [];
    // They give up at any status but 200, 204 and 410.
    for (let count = 0; count < POLLS; count += 1) waiting.push(await startWaiting(proxy));
    for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
      await relay.untilParked(POLLS);
      await relay.stop(signal);
      const asked = [proxy.ask('/services'), proxy.ask(`/auth/mal?state=${waiting[0]?.state}`)];
      // Caddy 2.6 closes its body: docs/proxies.md "Caddy".
      if (name !== 'Caddy') asked.push(proxy.ask('/auth/start', startRequest()));
      relay = await startRelay(env, { port });
      const statuses = (await Promise.all(asked)).map(({ status }) => status);
      expect(statuses).toEqual([200, 302, 200].slice(0, asked.length));
    }
    await relay.untilParked(POLLS);
    for (const each of waiting) await each.expectSignsIn();
  },
);

test.each(PROXY_NAMES)('%s without a relay: a poll gets a 204, a page a 502', async (name) => {
  const ports = [await findFreePort(), await findFreePort()];
  await using proxy = await startProxy(name, name === 'nginx' ? ports : ports.slice(1));
  const poll = await proxy.ask('/relay/auth/result?session=s');
  expect([poll.status, (await proxy.ask('/services')).status]).toEqual([204, 502]);
});

test('nginx for one listens on IPv6 too, and sends users from http to https', async () => {
  const noContent = 'HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n';
  using relay = await serveBytes((socket) => void socket.end(noContent));
  await using proxy = await startProxy('nginx for one', [relay.port]);
  const { port } = new URL(proxy.baseUrl);
  const tls = { rejectUnauthorized: false };
  expect((await fetch(`https://[::1]:${port}/health`, { tls })).status).toBe(204);
  const opened = await fetch(`http://127.0.0.2:${port}/L/BCDF-GHJK`, { redirect: 'manual' });
  const location = 'https://127.0.0.2/L/BCDF-GHJK';
  expect([opened.status, opened.headers.get('location')]).toEqual([301, location]);
});
