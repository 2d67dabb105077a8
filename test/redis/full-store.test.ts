/** A Redis that is full, or set up for something else. hazards.md §3, Memory and "Not persisted". */
import { expect, test } from 'bun:test';
import { randomUUID } from 'node:crypto';
import { ACK_MS } from '../../src/limits.ts';
import { makeUserCode, NOW, register, TOKENS } from '../stores/suite/sessions.ts';
import { openTestRedis } from '../stores/support/redis-store.ts';
import { startLocalRelay } from '../support/local-relay.ts';
import { startRedis } from '../support/redis/start-redis.ts';
import { plantSecret } from '../support/secrets.ts';
import { poll, startSession } from '../support/wire.ts';
import { startRelayPair } from './support/relay-pair.ts';

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
