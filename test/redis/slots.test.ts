/**
 * A slot of a Cluster moves from one master to another, as an operator does it: no session is
 * lost, and the rights of docs/scaling.md suffice.
 */
import { expect, setDefaultTimeout, test } from 'bun:test';
import { rulesFor } from '../kit/redis/acl.ts';
import { startRedisCluster } from '../kit/redis/groups.ts';
import { ADMIN_PASSWORD, type RedisServer } from '../kit/redis/server.ts';
import { create, DELIVERED, openTestRedis, PENDING } from '../kit/stores.ts';

setDefaultTimeout(60_000);

/** https://redis.io/docs/latest/commands/cluster-setslot/ */
test('while it moves, and after that', async () => {
  const prefix = 'moving:';
  const rules = rulesFor('cluster', [prefix]);
  const user = { name: 'relay', password: 'relay-password', rules };
  await using cluster = await startRedisCluster({ user });
  const { store, close } = await openTestRedis(cluster.url, { prefix });
  const session = await create(store);
  const found = await Promise.all(cluster.nodes.map((node) => node.keys('*:sign-in:*')));
  const from = await cluster.ownerOf(found.flat()[0] ?? '');
  const to = cluster.nodes.find((node) => node !== from) ?? expect.unreachable();
  const slot = await from.cli('CLUSTER', 'KEYSLOT', found.flat()[0] ?? '');
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
  close();
});
