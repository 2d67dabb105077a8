import { afterAll, describe, expect, test } from 'bun:test';
import { ACK_MS } from '../../src/limits.ts';
import type { RedisServer } from '../support/redis/redis-server.ts';
import { startRedisCluster } from '../support/redis/start-cluster.ts';
import { startRedis } from '../support/redis/start-redis.ts';
import { startRedisSentinel } from '../support/redis/start-sentinel.ts';
import { makeUserCode, NOW, register } from './suite/sessions.ts';
import { readAcl } from './support/acl.ts';
import { openTestRedis } from './support/redis-store.ts';

const PREFIX = 'sign-in-relay:';
const USER = { name: 'relay', password: 'relay-password' };
/** Sent only when a connection that has gone deaf is made anew. */
const WHEN_DEAF = new Set(['+unsubscribe', '+sunsubscribe']);
const LOGIN = `${USER.name}:${USER.password}@`;

const [redis, group, cluster] = await Promise.all([
  startRedis({ user: USER }),
  startRedisSentinel({ user: USER }),
  startRedisCluster({ user: USER }),
]);
afterAll(() => Promise.all([redis.stop(), group.stop(), cluster.stop()]));

const hosts = cluster.nodes.map(({ port }) => `127.0.0.1:${port}`).join(',');

/** Every verb, in the store's own time. `hear` waits for word of the completion. */
async function useAll(url: string, hear: (woken: Promise<void>) => Promise<void>): Promise<void> {
  const options = { prefix: PREFIX, clockOf: () => '' as const };
  const { store, rateLimiter, refreshAnswers, close } = await openTestRedis(url, options);
  try {
    await rateLimiter.take('192.0.2.1', NOW);
    const { service, browserState, pollSecret } = await register(store);
    await store.open(service, browserState, NOW);
    const woken = new Promise<void>((wake) => store.watch(pollSecret, () => wake()));
    expect(await store.claim(pollSecret, NOW)).toEqual({ state: 'pending' });
    // The script of `complete`, which would be repeated for as long as the lease lasts.
    await store.fail(service, browserState, { error: 'access_denied' }, NOW);
    await hear(woken);
    expect(await store.claim(pollSecret, NOW)).toMatchObject({ state: 'claimed' });
    const leased = await register(store);
    expect(await store.lease('mal', leased.browserState, NOW)).toBeDefined();
    await signInByCode(store);
    await refreshAnswers.begin('mal token', NOW);
    await refreshAnswers.settle('mal token', '{}', NOW);
    await rateLimiter.giveBack('192.0.2.1', NOW);
    await collide(store);
    await store.sweep(NOW);
  } finally {
    close();
  }
}

async function signInByCode(store: Parameters<typeof register>[0]): Promise<void> {
  const session = { userCode: makeUserCode(), deviceName: 'Fernseher', repeatMs: ACK_MS };
  const { service, browserState, pollSecret } = await register(store, session);
  expect(await store.useCode(session.userCode, NOW)).toBeDefined();
  await store.fail(service, browserState, { error: 'access_denied' }, NOW);
  expect(await store.claim(pollSecret, NOW)).toMatchObject({ state: 'claimed' });
  expect(await store.acknowledge(pollSecret, NOW)).toBe('acknowledged');
}

/** In a Cluster a collision is undone. */
async function collide(store: Parameters<typeof register>[0]): Promise<void> {
  const { pollSecret } = await register(store);
  await register(store, { pollSecret }).catch(() => {});
}

describe.each([
  ['single', redis.url, [redis]],
  ['sentinel', group.url, group.nodes],
  ['cluster', `redis://${LOGIN}${hosts}`, cluster.nodes],
] as const)('the ACL of docs/scaling.md, %s', (deployment, url, nodes) => {
  const { places, commands } = readAcl(deployment);
  const ask = (...args: string[]) =>
    Promise.all(nodes.map((node: RedisServer) => node.cli(...args)));

  const findRefusals = async () => (await ask('ACL', 'LOG')).join('');

  /** Scripts too, or nobody would have to send them. */
  async function allow(commands: readonly string[]): Promise<void> {
    const password = `>${USER.password}`;
    await ask('ACL', 'SETUSER', USER.name, 'reset', 'on', password, ...places, ...commands);
    await ask('SCRIPT', 'FLUSH');
    await ask('ACL', 'LOG', 'RESET');
  }

  test('suffices', async () => {
    await allow(commands);
    await useAll(url, (woken) => woken);
    expect(await findRefusals()).toBe('');
  });

  test.each(commands.filter((command) => !WHEN_DEAF.has(command)))('needs %s', async (command) => {
    await allow(commands.filter((other) => other !== command));
    await useAll(url, async () => {}).catch(() => {});
    expect(await findRefusals()).toContain(command.slice(1));
  });
});
