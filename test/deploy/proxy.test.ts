/** deploy/: nginx, two relays and a Redis set up by its files, all of them real. */
import { afterAll, expect, test } from 'bun:test';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startLocalRelay } from '../support/local-relay.ts';
import { pollUntil } from '../support/redis/poll-until.ts';
import { startRedis } from '../support/redis/start-redis.ts';
import { plantSecret } from '../support/secrets.ts';
import { runNginx } from './support/run-nginx.ts';

const DEPLOY = join(import.meta.dir, '../../deploy');
const PASSWORD = plantSecret(crypto.randomUUID());

const readLines = (file: string) =>
  readFileSync(join(DEPLOY, file), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));

const redis = await startRedis();
await setUpRedis();

async function setUpRedis(): Promise<void> {
  for (const line of readLines('valkey.conf').filter((each) => !each.startsWith('aclfile'))) {
    const [name = '', value = ''] = line.split(/ (.*)/);
    await redis.cli('CONFIG', 'SET', name, value.replaceAll('"', ''));
  }
  const [, users = ''] = readLines('valkey-users.acl');
  await redis.cli('ACL', 'SETUSER', ...users.replace('PASSWORD', PASSWORD).split(' ').slice(1));
}

const folder = mkdtempSync(join(tmpdir(), 'sign-in-relay-deploy-'));
const urlFile = join(folder, 'redis-url');
writeFileSync(urlFile, `redis://relay:${PASSWORD}@127.0.0.1:${redis.port}\n`);

/** The token endpoint; a code of 'hold' is answered when the test says so. */
const held = Promise.withResolvers<void>();
const asked = Promise.withResolvers<void>();
const provider = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  async fetch(request) {
    if ((await request.text()).includes('code=hold')) {
      asked.resolve();
      await held.promise;
    }
    return Response.json({ access_token: plantSecret('a token for the device') });
  },
});

const startRelay = () =>
  startLocalRelay({
    REDIS_URL_FILE: urlFile,
    TRUSTED_PROXY_CIDRS: '127.0.0.1',
    MAL_CLIENT_ID: 'mal-client',
    MAL_TOKEN_URL: `${provider.url.origin}/token`,
    START_BURST: '30',
  });
const relays = [await startRelay(), await startRelay()] as const;
const nginx = await runNginx([relays[0].port, relays[1].port]);
afterAll(async () => {
  await nginx.stop();
  await Promise.all(relays.map((relay) => relay.stop('SIGKILL')));
  await provider.stop(true);
  await redis.stop();
  rmSync(folder, { recursive: true });
});

async function start(init: RequestInit = {}) {
  const body = JSON.stringify({ service: 'mal' });
  const response = await nginx.fetch('/auth/start', { method: 'POST', body, ...init });
  if (response.status !== 200) return { status: response.status, session: '', state: '' };
  const { session, url } = (await response.json()) as { session: string; url: string };
  const state = new URL(url).searchParams.get('state') ?? '';
  return { status: 200, session: plantSecret(session), state: plantSecret(state) };
}

const poll = (session: string) => nginx.fetch(`/auth/result?session=${session}`);
const callback = (state: string, code = 'code') =>
  nginx.fetch(`/auth/mal/callback?state=${state}&code=${code}`);

test('nothing of what deploy/ sets up is warned of', () => {
  for (const relay of relays) {
    expect(relay.events().filter(({ level }) => level === 'warning')).toEqual([]);
  }
});

test('sign-ins go through, now by the one relay and now by the other', async () => {
  for (let count = 0; count < 5; count += 1) {
    const { session, state } = await start();
    const polled = poll(session);
    expect((await nginx.fetch(`/auth/mal?state=${state}`, { redirect: 'manual' })).status).toBe(
      302,
    );
    expect((await callback(state)).status).toBe(200);
    expect(await (await polled).json()).toMatchObject({ accessToken: 'a token for the device' });
  }
  for (const { port } of relays) expect(nginx.accessLog()).toContain(`127.0.0.1:${port}`);
});

test('the proxy logs no code and no state that is in a path', async () => {
  const { state } = await start();
  await nginx.fetch(`/qr/${state}.png`);
  await nginx.fetch('/L/BCDF-GHJK');
  // nginx writes a request's line after its answer.
  for (const line of ['"GET /qr/-" ', '"GET /L/-" ']) {
    const isLogged = async () => nginx.accessLog().includes(line) || undefined;
    await pollUntil(`the log holds ${line}`, isLogged);
  }
  expect(nginx.accessLog()).not.toContain(state);
  expect(nginx.accessLog()).not.toContain('BCDF');
});

test('the proxy logs no query', () => {
  expect(nginx.accessLog()).toContain('/auth/mal/callback');
  expect(nginx.accessLog()).not.toMatch(/[?=]/);
});

test('relays that refuse for want of their store are asked again at once', async () => {
  await redis.kill();
  for (let count = 0; count < 6; count += 1) expect((await start()).status).toBe(503);
  for (let count = 0; count < 6; count += 1) {
    expect((await nginx.fetch('/health')).status).toBe(200);
  }
  await redis.restart();
  await setUpRedis();
  const isBack = async () => (await start()).status === 200 || undefined;
  await pollUntil('the store is back', isBack);
});

test('a relay that is being stopped passes people on to the other; a poll that it loses goes on there', async () => {
  const [leaving] = relays;
  const waiting = await start();
  const exchanging = await start();
  const parked = poll(waiting.session);
  // Not through the proxy: it has to be this one that cannot end at once.
  const back = `${leaving.baseUrl}/auth/mal/callback?state=${exchanging.state}&code=hold`;
  const finishing = fetch(back);
  await asked.promise;
  const stopped = leaving.stop();
  await leaving.waitForEvent(({ event }) => event === 'draining');
  for (let count = 0; count < 4; count += 1) expect((await start()).status).toBe(200);
  held.resolve();
  expect((await finishing).status).toBe(200);
  await stopped;
  // Parked at the one that left, it has been told to come again; at the other it waits on.
  const polled = parked.then((first) => (first.status === 204 ? poll(waiting.session) : first));
  expect((await callback(waiting.state)).status).toBe(200);
  expect((await polled).status).toBe(200);
});

test('whoever invents addresses shares one rate limit all the same', async () => {
  const statuses: number[] = [];
  for (let count = 0; count < 40; count += 1) {
    statuses.push((await start({ headers: { 'X-Forwarded-For': `192.0.2.${count}` } })).status);
  }
  expect(statuses).toContain(429);
});
