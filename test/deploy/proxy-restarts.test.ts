/** Relays that come, go, move and fail behind the proxies of deploy/, and what these send again: nothing that could sign a user out. */
import { describe, expect, test } from 'bun:test';
import type { Socket } from 'node:net';
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
    await using proxy = await startProxy(name, [port], { waitsAsInProduction: true });
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

/** Method, path, and whether it may arrive twice. A code is exchanged once however often its callback comes. */
const ROUTES = [
  ['GET', '/auth/result?session=s', true],
  ['GET', '/auth/mal?state=s', true],
  ['GET', '/auth/mal/callback?state=s&code=c', true],
  ['GET', '/services', true],
  ['POST', '/auth/start', true],
  ['POST', '/oauth2/mal/device_authorization', true],
  ['POST', '/open', true],
  ['POST', '/relay/auth/start', true],
  ['POST', '/refresh', false],
  ['POST', '/relay/refresh', false],
  ['POST', '/oauth2/mal/token', false],
  ['POST', '/auth/mal?state=s', false],
  ['POST', '/L/BCDF-GHJK', false],
  ['POST', '/link', false],
] as const;

describe.each(PROXY_NAMES)('%s', (name) => {
  describe.each([
    ['whose answer is lost', (socket: Socket) => void socket.destroy(), true],
    ['that gets a 503 from a relay', (socket: Socket) => void socket.end(BUSY), name === 'nginx'],
  ])('a request %s', async (_, fail, isTriedAgain) => {
    let arrived = 0;
    /** Answers /health, and counts and fails any other request. */
    const startFailing = () =>
      serveBytes((socket, _, request) => {
        if (request.startsWith('GET /health ')) {
          socket.write(HEALTHY);
        } else if (/^(GET|POST) /.test(request)) {
          arrived += 1;
          fail(socket);
        }
      });
    const [one, other] = [await startFailing(), await startFailing()];
    const proxy = await startProxy(name, [one.port, other.port]);

    test.each(ROUTES)('%s %s may be sent again: %p', async (method, path, mayRepeat) => {
      const before = arrived;
      const init = { method, ...(method === 'POST' && { body: '{}' }) };
      const answer = await proxy.ask(path, init);
      // They answer a poll with 204, so that it is sent again.
      const isPoll = path.startsWith('/auth/result');
      expect(answer.status).toBeOneOf(isPoll ? [204, 502, 503] : [502, 503]);
      // Those for one relay send no POST again.
      const isRepeated = isTriedAgain && mayRepeat && (name === 'nginx' || method === 'GET');
      if (isRepeated) expect(arrived - before).toBeGreaterThan(1);
      else expect(arrived - before).toBe(1);
    });
  });
});

const HEALTHY = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
const BUSY = 'HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n';

test('nginx sends a refresh to the other relay if one does not run: nothing was sent', async () => {
  using relay = await serveBytes((socket) => void socket.end(HEALTHY));
  await using proxy = await startProxy('nginx', [await findFreePort(), relay.port]);
  for (let count = 0; count < 4; count += 1) {
    expect((await proxy.ask('/refresh', { method: 'POST', body: '{}' })).status).toBe(200);
  }
});
