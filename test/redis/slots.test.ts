/**
 * A slot of a Cluster moves from one master to another, as an operator does it: no session is
 * lost, and the rights of docs/scaling.md suffice.
 */
import { expect, setDefaultTimeout, test } from 'bun:test';
import { rulesFor } from '../kit/redis/acl.ts';
import { type RedisCluster, startRedisCluster } from '../kit/redis/groups.ts';
import { ADMIN_PASSWORD, type RedisServer } from '../kit/redis/server.ts';
import { create, DELIVERED, openTestRedis, PENDING, type TestStore } from '../kit/stores.ts';

setDefaultTimeout(60_000);

/** The slot of all keys of the only session that there is, its owner, and another master. */
async function placeOf({ nodes, ownerOf }: RedisCluster) {
  const [key = ''] = (await Promise.all(nodes.map((node) => node.keys('*:sign-in:*')))).flat();
  const from = await ownerOf(key);
  const to = nodes.find((node) => node !== from);
  if (to === undefined) throw new Error('one master only');
  return { slot: await from.cli('CLUSTER', 'KEYSLOT', key), from, to };
}

const idOf = (node: RedisServer) => node.cli('CLUSTER', 'MYID');

/** https://redis.io/docs/latest/commands/cluster-setslot/ */
async function beginMove(slot: string, from: RedisServer, to: RedisServer): Promise<void> {
  await to.cli('CLUSTER', 'SETSLOT', slot, 'IMPORTING', await idOf(from));
  await from.cli('CLUSTER', 'SETSLOT', slot, 'MIGRATING', await idOf(to));
  const keys = (await from.cli('CLUSTER', 'GETKEYSINSLOT', slot, 100)).split('\n');
  await from.cli(
    'MIGRATE',
    '127.0.0.1',
    to.port,
    '',
    0,
    5_000,
    'AUTH',
    ADMIN_PASSWORD,
    'KEYS',
    ...keys,
  );
}

async function endMove(slot: string, from: RedisServer, to: RedisServer): Promise<void> {
  for (const node of [to, from]) await node.cli('CLUSTER', 'SETSLOT', slot, 'NODE', await idOf(to));
}

async function complete(store: TestStore, session: Awaited<ReturnType<typeof create>>) {
  expect(await store.lease(session)).toBeDefined();
  expect(await store.complete(session)).toBe(true);
  expect(await store.poll(session.pollSecret)).toEqual(DELIVERED);
}

test('while it moves, and after that', async () => {
  const prefix = 'moving:';
  const rules = rulesFor('cluster', [prefix]);
  const user = { name: 'relay', password: 'relay-password', rules };
  await using cluster = await startRedisCluster({ user });
  const { store, close } = await openTestRedis(cluster.url, { prefix });
  const session = await create(store);
  const { slot, from, to } = await placeOf(cluster);
  await beginMove(slot, from, to);
  expect(await store.poll(session.pollSecret)).toEqual(PENDING);
  expect(await store.open(session)).toBeDefined();
  await endMove(slot, from, to);
  await complete(store, session);
  close();
});
