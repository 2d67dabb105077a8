/** What the proxy of deploy/ logs when something goes wrong: nothing that is in a request. */
import { afterAll, expect, test } from 'bun:test';
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { findFreePort } from '../support/free-port.ts';
import { type RunningNginx, runNginx } from './support/run-nginx.ts';

const POLL_SECRET = 'poll-secret-of-24-chars-';
const STATE = 'browser-state-of-24-char';
const CODE = 'code-of-the-provider';
const USER_CODE = 'BCDF-GHJK';
const SECRETS = [POLL_SECRET, STATE, CODE, USER_CODE];

const PATHS = [
  `/auth/result?session=${POLL_SECRET}`,
  `/auth/mal?state=${STATE}`,
  `/auth/mal/callback?state=${STATE}&code=${CODE}`,
  `/qr/${STATE}.png`,
  `/L/${USER_CODE}`,
  `/l/${USER_CODE}`,
];

const closers: (() => unknown)[] = [];
afterAll(async () => {
  for (const close of closers) await close();
});

/** A relay that is healthy, and otherwise misbehaves. */
async function listen(misbehave: (socket: Socket) => void): Promise<number> {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', (data) => {
      if (data.toString().startsWith('GET /health ')) socket.write(HEALTHY);
      else misbehave(socket);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(() => server.close());
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('no port');
  return address.port;
}

const HEALTHY = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

async function start(relayPort: number, openFiles?: number): Promise<RunningNginx> {
  const nginx = await runNginx([relayPort, relayPort], openFiles);
  closers.push(nginx.stop);
  return nginx;
}

function expectNoSecret(nginx: RunningNginx): void {
  for (const secret of SECRETS) {
    expect(nginx.accessLog()).not.toContain(secret);
    expect(nginx.errorLog()).not.toContain(secret);
  }
}

test('no relay is there', async () => {
  const nginx = await start(await findFreePort());
  for (const path of PATHS) expect((await nginx.fetch(path)).status).toBe(502);
  expectNoSecret(nginx);
});

test.each([
  ['closes the connection', (socket: Socket) => void socket.destroy()],
  ['speaks no HTTP', (socket: Socket) => void socket.end('HTTP/9 nonsense\r\n\r\n')],
  [
    'ends in mid-answer',
    (socket: Socket) => void socket.end(`${HEALTHY.replace('2', '99')} and no more`),
  ],
])('a relay that %s', async (_, misbehave) => {
  const nginx = await start(await listen(misbehave));
  for (const path of PATHS) await nginx.fetch(path).catch(() => {});
  expectNoSecret(nginx);
});

test('a body that is too large', async () => {
  const nginx = await start(await findFreePort());
  const body = 'x'.repeat(20_000);
  for (const path of PATHS) await nginx.fetch(path, { method: 'POST', body });
  expectNoSecret(nginx);
});

test('more devices than nginx may have sockets for', async () => {
  const asked = Promise.withResolvers<void>();
  const relay = await listen(() => asked.resolve());
  const nginx = await start(relay, 32);
  const ending = new AbortController();
  const poll = () =>
    nginx.fetch(PATHS[0] ?? '', { signal: ending.signal }).then(({ status }) => status);
  const polls = Array.from({ length: 40 }, () => poll().catch(() => 0));
  await asked.promise;
  // One that nginx has no socket left for is answered; the others are held.
  await Promise.race(polls);
  ending.abort();
  await Promise.all(polls);
  expectNoSecret(nginx);
  expect(nginx.errorLog()).not.toBe('');
});
