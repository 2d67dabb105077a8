/** The proxies of deploy/ in front of relays on the Valkey of deploy/. All real. That sign-ins succeed: test/conformance.test.ts. */
import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { requestAuthorization, startRequest } from '../kit/device.ts';
import { serveBytes, startTokenEndpoint } from '../kit/provider.ts';
import { startProxy } from '../kit/proxies.ts';
import { startDeployedValkey } from '../kit/redis/deployed.ts';
import { ROOT, startRelay } from '../kit/relay.ts';
import { sendRaw } from '../kit/sockets.ts';
import { startExchanging, startWaiting } from '../kit/user.ts';
import { pollUntil } from '../kit/wait.ts';

describe('nginx limits what one address may hold', async () => {
  const ADDRESS_LIMIT = Number(
    /limit_conn addresses (\d+);/.exec(readFileSync(`${ROOT}deploy/nginx.conf`, 'utf8'))?.[1],
  );
  const waiting: Socket[] = [];
  /** Holds so many polls, and no more. */
  const relay = await serveBytes((socket, _, request) => {
    const isPoll = request.startsWith('GET /auth/result');
    if (isPoll && waiting.length < ADDRESS_LIMIT) waiting.push(socket);
    else socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
  });
  const proxy = await startProxy('nginx', [relay.port]);

  test('one poll too many gets a 429, which no device takes as final', async () => {
    const poll = async () => (await proxy.ask('/auth/result?session=s')).status;
    const polls = Array.from({ length: ADDRESS_LIMIT }, poll);
    await pollUntil('all wait', () => waiting.length === ADDRESS_LIMIT);
    const tooMany = await poll();
    for (const socket of waiting) socket.write('HTTP/1.1 204 No Content\r\n\r\n');
    expect(new Set(await Promise.all(polls))).toEqual(new Set([204]));
    expect(tooMany).toBe(429);
  });

  test('a request whose headers never end is dropped long before a minute', async () => {
    await sendRaw(proxy.baseUrl, 'GET /health HTTP/1.1\r\nHost: ', proxy.ca);
  }, 40_000);
});

test('the shortest Caddyfile is enough for a sign-in, with the settings beside it', async () => {
  using provider = startTokenEndpoint();
  const settings = { TRUSTED_PROXY_CIDRS: '127.0.0.1', MAL_TOKEN_URL: provider.tokenUrl };
  const relay = await startRelay(settings);
  await using proxy = await startProxy('the shortest Caddyfile', [relay.port]);
  await (await startWaiting(proxy)).expectSignsIn();
  await relay.stop();
  expect(relay.events().filter(({ level }) => level === 'warning')).toEqual([]);
});

/** With the number of relays that its file has. */
const PROXIES = [
  ['nginx', 2],
  ['Caddy', 1],
  ['nginx for one', 1],
] as const;

describe.each(PROXIES)('%s in front of %d', async (name, count) => {
  const valkey = await startDeployedValkey();
  const provider = startTokenEndpoint();
  const env = {
    REDIS_URL_FILE: valkey.urlFile,
    TRUSTED_PROXY_CIDRS: '127.0.0.1',
    MAL_TOKEN_URL: provider.tokenUrl,
    START_BURST: '30',
  };
  const first = await startRelay(env);
  const relays = count === 2 ? [first, await startRelay(env)] : [first];
  const ports = relays.map(({ port }) => port);
  const proxy = await startProxy(name, ports);

  const startStatus = async (init: RequestInit = {}) =>
    (await proxy.ask('/auth/start', { ...startRequest(), ...init })).status;

  test('the relays warn of nothing that deploy/ sets', () => {
    for (const relay of relays) {
      expect(relay.events().filter(({ level }) => level === 'warning')).toEqual([]);
    }
  });

  test('a 503 because Valkey is down takes no relay out of service', async () => {
    await valkey.kill();
    for (let count = 0; count < 6; count += 1) expect(await startStatus()).toBe(503);
    for (let count = 0; count < 6; count += 1) {
      expect((await proxy.ask('/health')).status).toBe(200);
    }
    await valkey.restart();
    for (const relay of relays) {
      await pollUntil('a sign-in can start at each relay', async () => {
        const response = await relay.ask('/auth/start', startRequest());
        return response.status === 200;
      });
    }
  });

  const ifTwo = count === 2 ? test : () => undefined;
  ifTwo('while a relay drains, users reach the other one, and a poll continues there', async () => {
    const leaving = first;
    const waiting = await startWaiting(proxy);
    // Not through the proxy: this is the relay that must have an exchange to finish.
    const { page, release } = await startExchanging(leaving, provider);
    const stopped = leaving.stop();
    await leaving.waitForEvent('draining');
    for (let count = 0; count < 4; count += 1) expect(await startStatus()).toBe(200);
    for (let count = 0; count < 4; count += 1) {
      expect((await requestAuthorization(proxy)).status).toBe(200);
    }
    release();
    expect(await page).toBe(200);
    await stopped;
    // The relay that left answered the parked poll with 204; at the other one it is parked again.
    await waiting.expectSignsIn();
  });

  test('a client that forges X-Forwarded-For shares one rate limit all the same', async () => {
    const statuses: number[] = [];
    for (let count = 0; count < 40; count += 1) {
      statuses.push(await startStatus({ headers: { 'X-Forwarded-For': `192.0.2.${count}` } }));
    }
    expect(statuses).toContain(429);
  });
});
