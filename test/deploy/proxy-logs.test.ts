/** What the proxies of deploy/ log when something breaks: nothing of a request that is secret. All real. */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { connect } from 'node:tls';
import { findFreePort } from '../kit/process.ts';
import { serveBytes } from '../kit/provider.ts';
import { ALL_NAMES, type ProxyProcess, startProxy } from '../kit/proxies.ts';
import { pollUntil } from '../kit/wait.ts';

setDefaultTimeout(60_000);

describe.each(ALL_NAMES)('%s logs nothing of a request', (name) => {
  const POLL_SECRET = 'poll-secret-of-24-chars-';
  const STATE = 'browser-state-of-24-char';
  const CODE = 'code-of-the-provider';
  const USER_CODE = 'BCDF-GHJK';
  const PATHS = [
    `/auth/result?session=${POLL_SECRET}`,
    `/auth/mal?state=${STATE}`,
    `/auth/mal/callback?state=${STATE}&code=${CODE}`,
    `/qr/${STATE}.png`,
    `/L/${USER_CODE}`,
    `/l/${USER_CODE}`,
  ];
  const HEALTHY = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

  const closers: (() => unknown)[] = [];
  afterAll(async () => {
    for (const close of closers) await close();
  });

  /** A relay that answers /health, and breaks at any other request. */
  async function startBroken(fail: (socket: Socket) => void): Promise<number> {
    const relay = await serveBytes((socket, _, request) => {
      if (request.startsWith('GET /health ')) socket.write(HEALTHY);
      else fail(socket);
    });
    closers.push(relay.stop);
    return relay.port;
  }

  async function startBefore(relayPort: number, openFiles?: number): Promise<ProxyProcess> {
    const ports = name === 'nginx' ? ([relayPort, relayPort] as const) : ([relayPort] as const);
    const proxy = await startProxy(name, ports, openFiles === undefined ? {} : { openFiles });
    closers.push(proxy.stop);
    return proxy;
  }

  const askAll = (proxy: ProxyProcess, init?: RequestInit) =>
    Promise.all(PATHS.map((path) => proxy.ask(path, init).catch(() => undefined)));

  /** The shortest Caddyfile has no access log. */
  const untilLogged = async (proxy: ProxyProcess, path: string) => {
    if (name === 'the shortest Caddyfile') return;
    await pollUntil('the log has a line', () => proxy.accessLog().includes(path));
  };

  function expectNoSecret(proxy: ProxyProcess): void {
    for (const secret of [POLL_SECRET, STATE, CODE, USER_CODE]) {
      expect(proxy.accessLog()).not.toContain(secret);
      expect(proxy.errorLog()).not.toContain(secret);
    }
  }

  test('when no relay runs', async () => {
    const proxy = await startBefore(await findFreePort());
    // nginx answers a poll with 204, so that it is sent again.
    const expected = !name.includes('Caddy') ? [204, 502, 503] : [502, 503];
    for (const response of await askAll(proxy)) expect(response?.status).toBeOneOf(expected);
    expectNoSecret(proxy);
  });

  test.each([
    ['closes the connection', (socket: Socket) => void socket.destroy()],
    ['speaks no HTTP', (socket: Socket) => void socket.end('HTTP/9 nonsense\r\n\r\n')],
    [
      'ends in the middle of a response',
      (socket: Socket) => void socket.end(`${HEALTHY.replace('2', '99')} and no more`),
    ],
  ])('when a relay %s', async (_, fail) => {
    const proxy = await startBefore(await startBroken(fail));
    await askAll(proxy);
    expectNoSecret(proxy);
  });

  test('when a body is too large', async () => {
    const proxy = await startBefore(await findFreePort());
    await askAll(proxy, { method: 'POST', body: 'x'.repeat(200_000) });
    expectNoSecret(proxy);
  });

  test('when a device leaves', async () => {
    const arrived = Promise.withResolvers<void>();
    const proxy = await startBefore(await startBroken(() => arrived.resolve()));
    const leaving = new AbortController();
    const asked = askAll(proxy, { signal: leaving.signal });
    await arrived.promise;
    leaving.abort();
    await asked;
    // Written once the proxy has noticed, which is when it leaves the relay too.
    await untilLogged(proxy, '/auth/result');
    expectNoSecret(proxy);
  });

  test.each([
    ['of bytes that are no HTTP', 'no header'],
    ['to another host', 'Connection: close'],
  ])('%s', async (_, line) => {
    const proxy = await startBefore(await findFreePort());
    const tls = { ca: readFileSync(proxy.caFile, 'utf8') };
    for (const path of PATHS) {
      const socket = connect({
        host: '127.0.0.1',
        port: Number(new URL(proxy.baseUrl).port),
        ...tls,
      });
      await once(socket, 'secureConnect');
      // A proxy that refuses a request may reset the connection, and the close follows.
      socket.on('error', () => {});
      const closed = new Promise((resolve) => socket.once('close', resolve));
      socket.resume().end(`GET ${path} HTTP/1.1\r\nHost: a\r\n${line}\r\n\r\n`);
      await closed;
    }
    await proxy.ask('/health');
    await untilLogged(proxy, '/health');
    expectNoSecret(proxy);
  });

  test('when there are more devices than it may have sockets', async () => {
    const arrived = Promise.withResolvers<void>();
    const proxy = await startBefore(await startBroken(() => arrived.resolve()), 32);
    const ending = new AbortController();
    const { signal } = ending;
    const ask = () => proxy.ask(PATHS[0] ?? '', { signal }).catch(() => undefined);
    const polls = Array.from({ length: 40 }, ask);
    await arrived.promise;
    // A poll without a socket to the relay is answered; the others are held.
    await Promise.race(polls);
    ending.abort();
    await Promise.all(polls);
    expectNoSecret(proxy);
    expect(proxy.errorLog()).not.toBe('');
  });
});
