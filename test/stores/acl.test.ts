/** The rights of docs/scaling.md suffice, and none of them is superfluous. */

import { expect, setDefaultTimeout, test } from 'bun:test';
import { type Deployment, readAcl, rulesFor } from '../kit/redis/acl.ts';
import { startRedisCluster, startRedisSentinel } from '../kit/redis/groups.ts';
import { type RedisServer, startRedis } from '../kit/redis/server.ts';
import { create, IMPATIENT, openTestRedis, PENDING, systemClock } from '../kit/stores.ts';
import { pollUntil } from '../kit/wait.ts';

setDefaultTimeout(90_000);

const USER = { name: 'relay', password: 'relay-password' };

const [redis, valkey, group, cluster] = await Promise.all([
  startRedis({ user: USER }),
  startRedis({ user: USER, program: 'valkey-server' }),
  startRedisSentinel({ user: USER }),
  startRedisCluster({ user: USER, replicas: 1 }),
]);

/** Uses every verb, by the store's own clock. `waitFor` waits for the notification of a completion. */
async function useAll(
  url: string,
  waitFor: (notified: Promise<unknown>) => Promise<unknown>,
  timers = systemClock,
) {
  const options = { prefix: 'sign-in-relay:', usesOwnTime: true, timers };
  const { store, createRateLimiter, refreshes, close } = await openTestRedis(url, options);
  const limiter = createRateLimiter('start', { burst: 3, ratePerSecond: 1 });
  try {
    await limiter.take('192.0.2.1');
    const session = await create(store);
    await store.open(session);
    const notified = store.untilNotified(session.pollSecret);
    expect(await store.poll(session.pollSecret)).toEqual(PENDING);
    // The script of `complete`, which would be repeated for as long as the lease lasts.
    await store.fail(session);
    await waitFor(notified);
    expect(await store.poll(session.pollSecret)).toMatchObject({ state: 'delivered' });
    expect(await store.lease(await create(store))).toBeDefined();

    await refreshes.begin('mal token');
    await refreshes.finish('mal token', '{}');
    await limiter.refund('192.0.2.1');
    await store.sweep();
  } finally {
    close();
  }
}

test.concurrent.each<[Deployment, string, readonly RedisServer[]]>([
  ['single', redis.url, [redis]],
  ['single', valkey.url, [valkey]],
  ['sentinel', group.url, group.nodes],
  ['cluster', cluster.url, cluster.nodes],
])(
  'for a deployment "%s" the ACL suffices, and each of its commands is needed',
  async (deployment, url, nodes) => {
    const { places, commands } = readAcl(deployment);
    const askAll = (...args: string[]) => Promise.all(nodes.map((node) => node.cli(...args)));
    const findRefusals = async () => (await askAll('ACL', 'LOG')).join('');

    async function allow(allowed: readonly string[]): Promise<void> {
      const password = `>${USER.password}`;
      await askAll('ACL', 'SETUSER', USER.name, 'reset', 'on', password, ...places, ...allowed);
      // Otherwise no script would have to be sent.
      await askAll('SCRIPT', 'FLUSH');
      await askAll('ACL', 'LOG', 'RESET');
    }

    await allow(commands);
    await useAll(url, (notified) => notified);
    expect(await findRefusals()).toBe('');
    // ASKING is sent only while a slot moves: test/stores/redis.test.ts.
    for (const command of commands.filter((each) => each !== '+asking')) {
      await allow(commands.filter((other) => other !== command));
      // Again if a busy machine was slower than IMPATIENT allows.
      await pollUntil(`${command} is refused`, async () => {
        await useAll(url, async () => {}, IMPATIENT).catch(() => {});
        return (await findRefusals()).includes(command.slice(1));
      });
    }
  },
);

test('with `+select` it suffices for a database of another number', async () => {
  const rules = `${rulesFor('single', ['sign-in-relay:'])} +select`;
  await using other = await startRedis({ user: { ...USER, rules } });
  await useAll(`${other.url}/1`, (notified) => notified);
});
