/** The stores in Redis, by the suite: alone, with Sentinel, in a Cluster, over TLS as an ACL user; in Valkey where there is one. */
import { afterAll, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { start, startWithCode } from '../kit/device.ts';
import { EXCHANGE_LEASE_MS, REFRESH_RESULT_MS } from '../kit/limits.ts';
import { has } from '../kit/needs.ts';
import { rulesFor } from '../kit/redis/acl.ts';
import { startRedisCluster, startRedisSentinel } from '../kit/redis/groups.ts';
import { ADMIN_PASSWORD, type RedisServer, startRedis } from '../kit/redis/server.ts';
import { startRelay } from '../kit/relay.ts';
import { plantSecret } from '../kit/secrets.ts';
import { createTestService } from '../kit/service.ts';
import {
  create,
  createCompleted,
  DELIVERED,
  GONE,
  LIFETIME_MS,
  openTestRedis,
  PENDING,
} from '../kit/stores.ts';
import { textOf } from '../kit/user.ts';
import { runStoreSuite } from './suite.ts';

/** With characters that must be percent-encoded in an address. */
const PASSWORD = plantSecret('p@ss/word:with?marks#in%it');
const rules = rulesFor('single', ['test-*:', 'sign-in-relay:']);

const [redis, group, cluster, secured] = await Promise.all([
  startRedis(),
  startRedisSentinel(),
  startRedisCluster(),
  startRedis({ tls: true, user: { name: 'relay', password: PASSWORD, rules } }),
]);

const trusted = getCACertificates('default');
const authority = readFileSync(secured.caFile ?? '', 'utf8');
setDefaultCACertificates([...trusted, authority]);
afterAll(() => setDefaultCACertificates(trusted));

function runRedisSuite(name: string, url: string): void {
  runStoreSuite(name, (options) => openTestRedis(url, options));
}

runRedisSuite('Redis', redis.url);
runRedisSuite('Redis with Sentinel', group.url);
runRedisSuite('Redis Cluster', cluster.url);
runRedisSuite('Redis over TLS, as an ACL user', secured.url);

test('the ACL user was refused nothing', async () => {
  expect(await secured.cli('ACL', 'LOG')).toBe('');
});

if (has('Valkey', 'the store keeps its contract in Valkey, with Sentinel and in a Cluster')) {
  const program = 'valkey-server';
  const servers = await Promise.all([
    startRedis({ program }),
    startRedisSentinel({ program }),
    startRedisCluster({ program }),
  ]);
  for (const { url } of servers) runRedisSuite(`Valkey (${url.replace(/:\d+/g, '')})`, url);
}

/** test/serve/redis-start.test.ts shows what is refused. */
test('a relay trusts the CA that NODE_EXTRA_CA_CERTS names', async () => {
  const env = { REDIS_URL: secured.url, NODE_EXTRA_CA_CERTS: secured.caFile ?? '' };
  const relay = await startRelay(env);
  await start(relay);
  expect(await secured.cli('ZCARD', 'sign-in-relay:live-sign-ins')).toBe('1');
  await relay.stop();
});

test('a server that requires a client certificate, as is the default, is named', async () => {
  await using strict = await startRedis({ tls: true });
  await strict.cli('CONFIG', 'SET', 'tls-auth-clients', 'yes');
  const opening = openTestRedis(strict.url);
  await expect(opening).rejects.toThrow('the server requires a client certificate');
});

test('how long ago a sign-in started is by the clock of the store, not of the relay', async () => {
  const { stores, time } = await openTestRedis(redis.url, { prefix: 'age:' });
  const service = createTestService({ stores });
  const { link } = await startWithCode(service);
  service.clock.advance(300_000);
  expect(await textOf(await service.ask(link))).toContain('just now');
  time.advance(125_000);
  expect(await textOf(await service.ask(link))).toContain('2 minutes ago');
});

test('Redis itself removes sessions, their ids and refreshes that nobody needs', async () => {
  const prefix = 'removed:';
  const options = { prefix, usesOwnTime: true };
  const { store, refreshes } = await openTestRedis(redis.url, options);
  const livesMs = async (name: string) => {
    const keys = (await redis.keys(`${prefix}${name}*`)).toSorted();
    return (await Promise.all(keys.map((key) => redis.cli('PTTL', key)))).map(Number);
  };
  const lives = async () => (await livesMs('sign-in')).map((ms) => Math.ceil(ms / 60_000));
  const session = await createCompleted(store, { withUserCode: true, redeliveryMs: 1_200_000 });
  expect(await lives()).toEqual([11, 11, 11]);
  await store.poll(session.pollSecret);
  // The code leads nowhere any more when the link has expired.
  expect((await lives()).toSorted()).toEqual([11, 21, 21]);
  await store.acknowledge(session.pollSecret);
  expect(await lives()).toEqual([11, 11, 11]);
  expect(await livesMs('live-sign-ins')).toEqual([]);

  await refreshes.begin('mal token');
  expect((await livesMs('refresh:'))[0]).toBeWithin(1, EXCHANGE_LEASE_MS + 1);
  await refreshes.finish('mal token', '{}');
  expect((await livesMs('refresh:'))[0]).toBeWithin(EXCHANGE_LEASE_MS, REFRESH_RESULT_MS + 1);
});

test('a session that expired before a failover lost its last change is gone', async () => {
  const prefix = 'rolled-back:';
  const { store, time } = await openTestRedis(redis.url, { prefix });
  const session = await create(store);
  const [key = ''] = await redis.keys(`${prefix}sign-in:*`);
  const before = await redis.cli('GET', key);
  await store.open(session);
  await redis.cli('SET', key, before);
  time.advance(LIFETIME_MS + 1);
  expect(await store.poll(session.pollSecret)).toEqual(GONE);
});

/** https://redis.io/docs/latest/commands/cluster-setslot/ */
test('a slot of a Cluster moves: no session is lost, by the rights of docs/scaling.md', async () => {
  const prefix = 'moving:';
  const rules = rulesFor('cluster', [prefix]);
  const user = { name: 'relay', password: 'relay-password', rules };
  await using moving = await startRedisCluster({ user });
  const { store } = await openTestRedis(moving.url, { prefix });
  const session = await create(store);
  const from = await moving.primary();
  const [key = ''] = await from.keys('*:sign-in:*');
  const to = moving.nodes.find((node) => node !== from) ?? expect.unreachable();
  const slot = await from.cli('CLUSTER', 'KEYSLOT', key);
  const setSlot = async (node: RedisServer, how: string, other: RedisServer) =>
    node.cli('CLUSTER', 'SETSLOT', slot, how, await other.cli('CLUSTER', 'MYID'));

  await setSlot(to, 'IMPORTING', from);
  await setSlot(from, 'MIGRATING', to);
  const keys = (await from.cli('CLUSTER', 'GETKEYSINSLOT', slot, 100)).split('\n');
  const target = ['127.0.0.1', to.port, '', 0, 5_000, 'AUTH', ADMIN_PASSWORD] as const;
  await from.cli('MIGRATE', ...target, 'KEYS', ...keys);
  expect(await store.poll(session.pollSecret)).toEqual(PENDING);
  expect(await store.open(session)).toBeDefined();

  for (const node of [to, from]) await setSlot(node, 'NODE', to);
  expect(await store.lease(session)).toBeDefined();
  expect(await store.complete(session)).toBe(true);
  expect(await store.poll(session.pollSecret)).toEqual(DELIVERED);
});
