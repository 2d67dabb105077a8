/** deploy/nginx.conf in front of two relays on a Redis that deploy/ configures; and what nginx logs of broken relays. All real. */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { poll, type Started, start, startRequest, type Target } from '../kit/device.ts';
import { findFreePort, startChild } from '../kit/process.ts';
import { startTokenEndpoint, tokensFor } from '../kit/provider.ts';
import { type RedisServer, startRedis } from '../kit/redis/server.ts';
import { ROOT, startRelay } from '../kit/relay.ts';
import { plantSecret } from '../kit/secrets.ts';
import { writeCertificate } from '../kit/tls.ts';
import { bringCode, makeCode } from '../kit/user.ts';
import { pollUntil } from '../kit/wait.ts';

setDefaultTimeout(30_000);

const readDeploy = (file: string) => readFileSync(`${ROOT}deploy/${file}`, 'utf8');
const CONFIG = readDeploy('nginx.conf');

interface Nginx extends Target {
  accessLog(): string;
  errorLog(): string;
  stop(): Promise<void>;
}

/** nginx with deploy/nginx.conf, on the loopback and in a folder of its own. */
async function startNginx(
  relayPorts: readonly [number, number],
  openFiles?: number,
): Promise<Nginx> {
  const folder = mkdtempSync(join(tmpdir(), 'sign-in-relay-nginx-'));
  const { caFile, certificateFile, keyFile } = await writeCertificate(folder);
  const port = await findFreePort();
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  const paths = temporary.map((name) => `${name}_temp_path ${folder}/${name};`).join(' ');
  const replacements = {
    'http {': `pid ${folder}/pid; http { ${paths}`,
    'listen 443': `listen 127.0.0.1:${port}`,
    'relay-1:8080': `127.0.0.1:${relayPorts[0]}`,
    'relay-2:8080': `127.0.0.1:${relayPorts[1]}`,
    '/etc/nginx/certificates/fullchain.pem': certificateFile,
    '/etc/nginx/certificates/privkey.pem': keyFile,
    '/dev/stdout': `${folder}/access.log`,
    '/dev/stderr': `${folder}/error.log`,
  };
  const config = Object.entries(replacements).reduce((changed, [from, to]) => {
    // Otherwise the test would run something else than is shipped.
    if (!changed.includes(from)) throw new Error(`deploy/nginx.conf does not contain ${from}`);
    return changed.replaceAll(from, to);
  }, CONFIG);
  writeFileSync(join(folder, 'nginx.conf'), config);
  const command = ['nginx', '-p', folder, '-c', 'nginx.conf', '-g', 'daemon off;'];
  const nginx = startChild(command, openFiles === undefined ? {} : { openFiles });
  // Its workers do not end with their master when that is killed.
  process.once('exit', () => nginx.kill());
  const tls = { ca: readFileSync(caFile, 'utf8') };
  const ask = (path: string, init: RequestInit = {}) =>
    fetch(new URL(path, `https://127.0.0.1:${port}`), { redirect: 'manual', ...init, tls });
  await pollUntil('nginx answers', () => ask('/health').catch(() => undefined));
  return {
    ask,
    accessLog: () => readFileSync(join(folder, 'access.log'), 'utf8'),
    errorLog: () => readFileSync(join(folder, 'error.log'), 'utf8'),
    async stop() {
      nginx.kill();
      await nginx.exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const linesOf = (file: string) =>
  readDeploy(file)
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));

async function configureRedis(redis: RedisServer, password: string): Promise<void> {
  for (const line of linesOf('valkey.conf').filter((each) => !each.startsWith('aclfile'))) {
    const [name = '', value = ''] = line.split(/ (.*)/);
    await redis.cli('CONFIG', 'SET', name, value.replaceAll('"', ''));
  }
  const [, user = ''] = linesOf('valkey-users.acl');
  await redis.cli('ACL', 'SETUSER', ...user.replace('PASSWORD', password).split(' ').slice(1));
}

describe('in front of two relays', async () => {
  const password = plantSecret(crypto.randomUUID());
  const redis = await startRedis();
  await configureRedis(redis, password);
  const folder = mkdtempSync(join(tmpdir(), 'sign-in-relay-deploy-'));
  const urlFile = join(folder, 'redis-url');
  writeFileSync(urlFile, `redis://relay:${password}@127.0.0.1:${redis.port}\n`);
  const provider = startTokenEndpoint();
  const env = {
    REDIS_URL_FILE: urlFile,
    TRUSTED_PROXY_CIDRS: '127.0.0.1',
    MAL_TOKEN_URL: provider.tokenUrl,
    START_BURST: '30',
  };
  const relays = [await startRelay(env), await startRelay(env)] as const;
  const nginx = await startNginx([relays[0].port, relays[1].port]);
  afterAll(async () => {
    await nginx.stop();
    await Promise.all(relays.map((relay) => relay.stop('SIGKILL')));
    provider.stop();
    await redis.stop();
    rmSync(folder, { recursive: true });
  });

  const startStatus = async (init: RequestInit = {}) =>
    (await nginx.ask('/auth/start', { ...startRequest(), ...init })).status;

  async function finish({ session, state }: Started, polled = poll(nginx, session)) {
    const code = makeCode();
    expect((await bringCode(nginx, state, code)).status).toBe(200);
    expect(await (await polled).json()).toMatchObject(tokensFor(code));
  }

  test('the relays warn of nothing that deploy/ sets', () => {
    for (const relay of relays) {
      expect(relay.events().filter(({ level }) => level === 'warning')).toEqual([]);
    }
  });

  test('sign-ins succeed, and both relays get requests', async () => {
    for (let count = 0; count < 5; count += 1) {
      const started = await start(nginx);
      const polled = poll(nginx, started.session);
      expect((await nginx.ask(`/auth/mal?state=${started.state}`)).status).toBe(302);
      await finish(started, polled);
    }
    for (const { port } of relays) expect(nginx.accessLog()).toContain(`127.0.0.1:${port}`);
  });

  test('nginx logs no query, and no code or state of a path', async () => {
    const { state } = await start(nginx);
    await nginx.ask(`/qr/${state}.png`);
    await nginx.ask('/L/BCDF-GHJK');
    // nginx writes the line of a request after its response.
    for (const line of ['"GET /qr/-" ', '"GET /L/-" ']) {
      await pollUntil(`the log contains ${line}`, () => nginx.accessLog().includes(line));
    }
    expect(nginx.accessLog()).not.toContain(state);
    expect(nginx.accessLog()).not.toContain('BCDF');
    expect(nginx.accessLog()).toContain('/auth/mal/callback');
    expect(nginx.accessLog()).not.toMatch(/[?=]/);
  });

  test('a 503 because Redis is down takes no relay out of service', async () => {
    await redis.kill();
    for (let count = 0; count < 6; count += 1) expect(await startStatus()).toBe(503);
    for (let count = 0; count < 6; count += 1) {
      expect((await nginx.ask('/health')).status).toBe(200);
    }
    await redis.restart();
    await configureRedis(redis, password);
    await pollUntil('a sign-in can start', async () => (await startStatus()) === 200);
  });

  test('while a relay drains, users reach the other one, and a poll goes on there', async () => {
    const [leaving] = relays;
    const waiting = await start(nginx);
    const exchanging = await start(nginx);
    const parked = poll(nginx, waiting.session);
    const held = provider.gate.close();
    // Not through nginx: this is the relay that must have an exchange to finish.
    const finishing = bringCode(leaving, exchanging.state, makeCode());
    await held.arrived;
    const stopped = leaving.stop();
    await leaving.waitForEvent('draining');
    for (let count = 0; count < 4; count += 1) expect(await startStatus()).toBe(200);
    held.release();
    expect((await finishing).status).toBe(200);
    await stopped;
    // The relay that left answered a parked poll with 204; at the other one it is still parked.
    const polled = parked.then((first) =>
      first.status === 204 ? poll(nginx, waiting.session) : first,
    );
    await finish(waiting, polled);
  });

  test('a client that forges X-Forwarded-For shares one rate limit all the same', async () => {
    const statuses: number[] = [];
    for (let count = 0; count < 40; count += 1) {
      statuses.push(await startStatus({ headers: { 'X-Forwarded-For': `192.0.2.${count}` } }));
    }
    expect(statuses).toContain(429);
  });
});

describe('nginx logs nothing of a request', () => {
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
    const server = createServer((socket) => {
      socket.on('error', () => {});
      socket.on('data', (data) => {
        if (data.toString().startsWith('GET /health ')) socket.write(HEALTHY);
        else fail(socket);
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    closers.push(() => server.close());
    return (server.address() as AddressInfo).port;
  }

  async function startBefore(relayPort: number, openFiles?: number): Promise<Nginx> {
    const nginx = await startNginx([relayPort, relayPort], openFiles);
    closers.push(nginx.stop);
    return nginx;
  }

  function expectNoSecret(nginx: Nginx): void {
    for (const secret of [POLL_SECRET, STATE, CODE, USER_CODE]) {
      expect(nginx.accessLog()).not.toContain(secret);
      expect(nginx.errorLog()).not.toContain(secret);
    }
  }

  test('when no relay runs', async () => {
    const nginx = await startBefore(await findFreePort());
    for (const path of PATHS) expect((await nginx.ask(path)).status).toBe(502);
    expectNoSecret(nginx);
  });

  test.each([
    ['closes the connection', (socket: Socket) => void socket.destroy()],
    ['speaks no HTTP', (socket: Socket) => void socket.end('HTTP/9 nonsense\r\n\r\n')],
    [
      'ends in the middle of a response',
      (socket: Socket) => void socket.end(`${HEALTHY.replace('2', '99')} and no more`),
    ],
  ])('when a relay %s', async (_, fail) => {
    const nginx = await startBefore(await startBroken(fail));
    for (const path of PATHS) await nginx.ask(path).catch(() => {});
    expectNoSecret(nginx);
  });

  test('when a body is too large', async () => {
    const nginx = await startBefore(await findFreePort());
    const body = 'x'.repeat(20_000);
    for (const path of PATHS) await nginx.ask(path, { method: 'POST', body });
    expectNoSecret(nginx);
  });

  test('when there are more devices than nginx may have sockets', async () => {
    const arrived = Promise.withResolvers<void>();
    const nginx = await startBefore(await startBroken(() => arrived.resolve()), 32);
    const ending = new AbortController();
    const { signal } = ending;
    const ask = () => nginx.ask(PATHS[0] ?? '', { signal }).catch(() => undefined);
    const polls = Array.from({ length: 40 }, ask);
    await arrived.promise;
    // A poll without a socket to the relay is answered; the others are held.
    await Promise.race(polls);
    ending.abort();
    await Promise.all(polls);
    expectNoSecret(nginx);
    expect(nginx.errorLog()).not.toBe('');
  });
});
