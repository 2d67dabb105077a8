/** What the proxies of deploy/ log when something breaks: nothing of a request that is secret. All real. */
import { describe, expect, test } from 'bun:test';
import type { Socket } from 'node:net';
import { findFreePort } from '../kit/process.ts';
import { serveBytes } from '../kit/provider.ts';
import { ALL_NAMES, type ProxyProcess, startProxy } from '../kit/proxies.ts';
import { sendRaw } from '../kit/sockets.ts';
import { pollUntil } from '../kit/wait.ts';

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
  `/LINK/${USER_CODE}`,
  `/${USER_CODE.toLowerCase()}`,
];
const HEALTHY = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

describe.each(ALL_NAMES)('%s logs nothing of a request', async (name) => {
  /** What a relay does with each request but /health. */
  let fail: (socket: Socket) => void = () => {};
  const relay = await serveBytes((socket, _, request) => {
    if (request.startsWith('GET /health ')) socket.write(HEALTHY);
    else fail(socket);
  });
  const startBefore = (port: number, options?: { openFiles: number }) =>
    startProxy(name, name === 'nginx' ? [port, port] : [port], options);
  const proxy = await startBefore(relay.port);
  const alone = await startBefore(await findFreePort());

  const askAll = (at: ProxyProcess, init?: RequestInit) =>
    Promise.all(PATHS.map((path) => at.ask(path, init).catch(() => undefined)));

  /** The shortest Caddyfile has no access log. */
  const untilLogged = async (path: string) => {
    if (name === 'the shortest Caddyfile') return;
    await pollUntil('the log has a line', () => proxy.accessLog().includes(path));
  };

  function expectNoSecret(by: ProxyProcess): void {
    const logged = (by.accessLog() + by.errorLog()).toLowerCase();
    for (const secret of [POLL_SECRET, STATE, CODE, USER_CODE.toLowerCase()]) {
      expect(logged).not.toContain(secret);
    }
  }

  // The first one, so that no earlier request is in the log.
  test('when a device leaves', async () => {
    const arrived = Promise.withResolvers<void>();
    fail = () => arrived.resolve();
    const leaving = new AbortController();
    const asked = askAll(proxy, { signal: leaving.signal });
    await arrived.promise;
    leaving.abort();
    await asked;
    // Written once the proxy has noticed, which is when it leaves the relay too.
    await untilLogged('/auth/result');
    expectNoSecret(proxy);
  });

  test('when no relay runs, or a body is too large', async () => {
    // Those of deploy/ answer a poll with 204, so that it is sent again.
    const expected = name === 'the shortest Caddyfile' ? [502, 503] : [204, 502, 503];
    for (const response of await askAll(alone)) expect(response?.status).toBeOneOf(expected);
    await askAll(alone, { method: 'POST', body: 'x'.repeat(200_000) });
    expectNoSecret(alone);
  });

  test.each<[string, (socket: Socket) => void]>([
    ['closes the connection', (socket) => void socket.destroy()],
    ['speaks no HTTP', (socket) => void socket.end('HTTP/9 nonsense\r\n\r\n')],
    [
      'ends in the middle of a response',
      (socket) => void socket.end(`${HEALTHY.replace('2', '99')} and no more`),
    ],
  ])('when a relay %s', async (_, act) => {
    fail = act;
    await askAll(proxy);
    expectNoSecret(proxy);
  });

  test.each([
    ['of bytes that are no HTTP', 'no header'],
    ['to another host', 'Connection: close'],
  ])('%s', async (_, line) => {
    for (const path of PATHS) {
      await sendRaw(proxy.baseUrl, `GET ${path} HTTP/1.1\r\nHost: a\r\n${line}\r\n\r\n`, proxy.ca);
    }
    await proxy.ask('/health');
    await untilLogged('/health');
    expectNoSecret(proxy);
  });

  test('when there are more devices than it may have sockets', async () => {
    const arrived = Promise.withResolvers<void>();
    fail = () => arrived.resolve();
    await using small = await startBefore(relay.port, { openFiles: 32 });
    const ending = new AbortController();
    const { signal } = ending;
    const ask = () => small.ask(PATHS[0] ?? '', { signal }).catch(() => undefined);
    const polls = Array.from({ length: 40 }, ask);
    await arrived.promise;
    // A poll without a socket to the relay is answered; the others are held.
    await Promise.race(polls);
    ending.abort();
    await Promise.all(polls);
    expectNoSecret(small);
    expect(small.errorLog()).not.toBe('');
  });
});
