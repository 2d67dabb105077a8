/** A Redis that is full, or set up for something else. hazards.md §3, Memory and "Not persisted". */
import { expect, test } from 'bun:test';
import { randomUUID } from 'node:crypto';
import { formatUserCode } from '../../src/http/user-code.ts';
import { ACK_MS } from '../../src/limits.ts';
import { StoreUnavailable } from '../../src/relay/store.ts';
import { makeUserCode, NOW, newSession, register, TOKENS } from '../stores/suite/sessions.ts';
import { openTestRedis } from '../stores/support/redis-store.ts';
import { failureOf } from '../support/failure-of.ts';
import { startLocalRelay } from '../support/local-relay.ts';
import { pollUntil } from '../support/redis/poll-until.ts';
import type { RedisServer } from '../support/redis/redis-server.ts';
import { startRedisCluster } from '../support/redis/start-cluster.ts';
import { startRedis } from '../support/redis/start-redis.ts';
import { plantSecret } from '../support/secrets.ts';
import { startOf } from '../support/test-service.ts';
import { poll, startSession, startSessionWithCode } from '../support/wire.ts';
import { pollUntilDone } from './support/device.ts';
import { bringCode, makeCode } from './support/person.ts';
import { startRelayPair } from './support/relay-pair.ts';
import { tokenOf } from './support/token-endpoint.ts';

/** Until it takes nothing more, and well beyond, so that a closed connection makes no room. */
async function fillUp(redis: RedisServer): Promise<void> {
  const value = 'x'.repeat(100_000);
  for (let nth = 0; ; nth += 1) {
    const failure = await failureOf(redis.cli('SET', `filler:${nth}`, value));
    if (failure === undefined) continue;
    expect(String(failure)).toContain('OOM');
    break;
  }
  const used = Number(/used_memory:(\d+)/.exec(await redis.cli('INFO', 'memory'))?.[1]);
  await redis.cli('CONFIG', 'SET', 'maxmemory', used - 1_000_000);
}

async function inTurn<T>(times: number, run: (nth: number) => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  for (let nth = 0; nth < times; nth += 1) results.push(await run(nth));
  return results;
}

/** The limit for all together lets one through every fifth of a second. */
function untilStatus(status: number, ask: () => Promise<Response>): Promise<Response> {
  return pollUntil(`it is ${status}`, async () => {
    const response = await ask();
    if (response.status === status) return response;
    expect(response.status).toBe(429);
    return undefined;
  });
}

test('a full Redis: new sign-ins are told "Server busy", those under way are brought to their end', async () => {
  const redis = await startRedis({ maxMemory: '64mb', evictionPolicy: 'noeviction' });
  const pair = await startRelayPair(redis.url);
  const [{ baseUrl }] = pair.relays;
  const { session, state } = await startSession(baseUrl, 'mal');
  await redis.cli('CONFIG', 'SET', 'maxmemory', '1');

  const refused = await fetch(`${baseUrl}/auth/start`, {
    method: 'POST',
    body: '{"service":"mal"}',
  });
  expect([refused.status, await refused.text()]).toEqual([503, 'Server busy\n']);
  const code = plantSecret(`code-${randomUUID()}`);
  const page = await fetch(`${baseUrl}/auth/mal/callback?state=${state}&code=${code}`);
  expect(page.status).toBe(200);
  expect(await (await poll(baseUrl, session)).json()).toHaveProperty('accessToken');

  await redis.cli('CONFIG', 'SET', 'maxmemory', '64mb');
  await startSession(baseUrl, 'mal');
  await pair[Symbol.asyncDispose]();
  await redis.stop();
});

test('a full Redis: a code that is there can be used, and what it leads to confirmed', async () => {
  const redis = await startRedis({ maxMemory: '64mb', evictionPolicy: 'noeviction' });
  const { store, close } = await openTestRedis(redis.url);
  const session = await register(store, { userCode: makeUserCode(), repeatMs: ACK_MS });
  const { service, browserState, pollSecret, userCode = '' } = session;
  await redis.cli('CONFIG', 'SET', 'maxmemory', '1');
  expect(await store.useCode(userCode, NOW)).toMatchObject({ browserState });
  expect(await store.useCode(userCode, NOW)).toBeUndefined();
  await store.lease(service, browserState, NOW);
  expect(await store.complete(service, browserState, TOKENS, NOW)).toBe(true);
  expect(await store.claim(pollSecret, NOW)).toEqual({ state: 'claimed', result: TOKENS });
  expect(await store.acknowledge(pollSecret, NOW)).toBe('acknowledged');
  close();
  await redis.stop();
});

test('a full Redis takes no new session for one that has expired: others may be as large', async () => {
  const redis = await startRedis({ maxMemory: '64mb', evictionPolicy: 'noeviction' });
  const { store, close } = await openTestRedis(redis.url);
  await register(store, { lifetimeMs: 1 });
  await redis.cli('CONFIG', 'SET', 'maxmemory', '1');
  expect(await failureOf(store.register(newSession(), NOW + 2))).toBeInstanceOf(StoreUnavailable);
  close();
  await redis.stop();
});

test('a Redis filled until it refuses, over HTTP: people with a code go on, guessing is limited, refreshes go on', async () => {
  const redis = await startRedis({ maxMemory: '8mb', evictionPolicy: 'noeviction' });
  await using pair = await startRelayPair(redis.url, {
    env: { TRUSTED_PROXY_CIDRS: '127.0.0.1' },
  });
  const [{ baseUrl }, other] = pair.relays;
  const { session, link } = await startSessionWithCode(baseUrl, 'mal');
  await fillUp(redis);
  expect((await fetch(`${baseUrl}/auth/start`, startOf('mal'))).status).toBe(503);

  const from = (address: string) => ({ headers: { 'X-Forwarded-For': address } });
  const guess = async (address: string) =>
    (await fetch(`${baseUrl}/L/${formatUserCode(makeUserCode())}`, from(address))).status;
  const ofOne = await inTurn(12, () => guess('203.0.113.1'));
  expect(ofOne).toEqual([...Array(10).fill(404), 429, 429]);
  const ofMany = await Promise.all(
    Array.from({ length: 200 }, (_, nth) => guess(`198.51.100.${nth}`)),
  );
  // 40 are left of the 50 for all together, and some come back meanwhile.
  expect(ofMany.filter((status) => status === 404).length).toBeWithin(40, 200);
  expect(new Set(ofMany)).toEqual(new Set([404, 429]));

  const question = await untilStatus(200, () => fetch(link, from('203.0.113.2')));
  expect(await question.text()).toContain('MyAnimeList');
  const form = { method: 'POST', body: 'choice=continue', redirect: 'manual' } as const;
  const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
  const leave = () =>
    fetch(link, { ...form, headers: { ...headers, ...from('203.0.113.2').headers } });
  const address = new URL((await untilStatus(303, leave)).headers.get('location') ?? '');
  const state = plantSecret(address.searchParams.get('state') ?? '');
  const code = makeCode();
  expect((await bringCode(other, state, code)).status).toBe(200);
  expect(await pollUntilDone([other], session)).toEqual({ accessToken: tokenOf(code) });

  const refreshed = await fetch(`${baseUrl}/oauth2/mal/token`, {
    method: 'POST',
    body: new URLSearchParams({ grant_type: 'refresh_token', refresh_token: makeCode() }),
  });
  expect(refreshed.status).toBe(200);
  await redis.stop();
});

test('a Cluster in which one node is full: no session comes to lie there, and a refused start takes no place', async () => {
  const cluster = await startRedisCluster();
  const prefix = `test-${randomUUID()}:`;
  const url = `redis://${cluster.nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')}`;
  const { store, close } = await openTestRedis(url, { prefix });
  const counting = await cluster.ownerOf(`${prefix}live`);
  const full = cluster.nodes.find((node) => node !== counting);
  await full?.cli('CONFIG', 'SET', 'maxmemory', '1');
  const starts = Array.from({ length: 60 }, () => register(store));
  const outcomes = await Promise.allSettled(starts);
  const taken = outcomes.filter(({ status }) => status === 'fulfilled').length;
  expect(taken).toBeWithin(1, 60);
  expect(await full?.cli('DBSIZE')).toBe('0');
  expect(await counting.cli('ZCARD', `${prefix}live`)).toBe(String(taken));
  close();
  await cluster.stop();
});

test.each([
  ['evicts', { evictionPolicy: 'allkeys-lru' }, 'maxmemory-policy is allkeys-lru'],
  ['keeps an append-only file', { args: ['--appendonly', 'yes'] }, 'persistence is on'],
  ['takes snapshots', { args: ['--save', '900 1'] }, 'persistence is on'],
])('a Redis that %s is warned of at the start', async (_, options, problem) => {
  const redis = await startRedis(options);
  const relay = await startLocalRelay({ REDIS_URL: redis.url, MAL_CLIENT_ID: 'mal-client' });
  const warnings = relay.events().filter(({ event }) => event === 'store_unfit');
  expect(warnings.map((warning) => String(warning.problem))).toEqual([
    expect.stringContaining(problem),
  ]);
  expect(warnings[0]?.level).toBe('warning');
  await relay.stop();
  await redis.stop();
});

test('a Redis that nobody answers at ends the start, and the setting is named', async () => {
  const started = startLocalRelay({ REDIS_URL: 'redis://user:hunter2hunter2@127.0.0.1:1' });
  const failure = await started.then(() => 'started', String);
  expect(failure).toContain('REDIS_URL');
  expect(failure).not.toContain('hunter2');
}, 20_000);
