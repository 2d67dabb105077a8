/** The rights of docs/scaling.md suffice, none of them is superfluous, and a missing one is named. */

import { afterAll, expect, setDefaultTimeout, test } from 'bun:test';
import { ErrorReply } from '@redis/client';
import { remedyFor } from '../../src/stores/redis/failures.ts';
import type { RedisEvent } from '../../src/stores/redis/open.ts';
import { SCRIPTS } from '../../src/stores/redis/scripts.ts';
import { ACK_MS } from '../kit/limits.ts';
import { type Deployment, readAcl } from '../kit/redis/acl.ts';
import { startRedisCluster, startRedisSentinel } from '../kit/redis/groups.ts';
import { type RedisServer, startRedis } from '../kit/redis/server.ts';
import {
  create,
  createCode,
  IMPATIENT,
  openTestRedis,
  PENDING,
  systemClock,
} from '../kit/stores.ts';
import { pollUntil } from '../kit/wait.ts';

setDefaultTimeout(90_000);

const USER = { name: 'relay', password: 'relay-password' };

const [redis, valkey, group, cluster] = await Promise.all([
  startRedis({ user: USER }),
  startRedis({ user: USER, program: 'valkey-server' }),
  startRedisSentinel({ user: USER }),
  startRedisCluster({ user: USER, replicas: 1 }),
]);
afterAll(() => Promise.all([redis.stop(), valkey.stop(), group.stop(), cluster.stop()]));

/** Without it the relay only cannot warn of persistence. */
const UNNAMED = ['+config|get'];

/** Uses every verb, by the store's own clock. `waitFor` waits for the notification of a completion. */
async function useAll(
  url: string,
  waitFor: (notified: Promise<unknown>) => Promise<unknown>,
  timers = systemClock,
  onEvent: (event: RedisEvent) => void = () => {},
) {
  const options = { prefix: 'sign-in-relay:', usesOwnTime: true, timers, onEvent };
  const { store, createRateLimiter, refreshes, close } = await openTestRedis(url, options);
  const limiter = createRateLimiter({ burst: 3, ratePerSecond: 1 });
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

    const options = { userCode: createCode(), deviceName: 'Fernseher', redeliveryMs: ACK_MS };
    const byCode = await create(store, options);
    expect(await store.find({ userCode: options.userCode })).toBeDefined();
    await store.fail(byCode);
    expect(await store.poll(byCode.pollSecret)).toMatchObject({ state: 'delivered' });
    expect(await store.acknowledge(byCode.pollSecret)).toBe('acknowledged');

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
  'for a deployment "%s" the ACL suffices, and a command that it lacks is named',
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
      await pollUntil(`${command} is refused, and named`, async () => {
        const said: string[] = [];
        const note = (event: RedisEvent) => said.push(JSON.stringify(event));
        await useAll(url, async () => {}, IMPATIENT, note).catch((error) => said.push(`${error}`));
        const isRefused = (await findRefusals()).includes(command.slice(1));
        const isNamed = said.some((each) => each.includes(`lacks ${command}: `));
        return isRefused && (isNamed || UNNAMED.includes(command));
      });
    }
  },
);

/** Answers of servers that Debian has in other suites, to `EVAL` of a script with the probe's lines. */
test.each([
  [
    'Redis 6.0.16',
    "ERR Error running script (call to f_72ed2f34): @user_script:LINE: @user_script: LINE: The user executing the script can't run this command or subcommand",
    'lacks +zadd: ',
  ],
  [
    'Redis 6.0.16',
    "ERR Error running script (call to f_2c72deee): @user_script:LINE: @user_script: LINE: The user executing the script can't access at least one of the keys mentioned in the command arguments",
    'may not use keys that',
  ],
  [
    'Redis 6.0.16',
    "NOPERM this user has no permissions to run the 'config' command or its subcommand",
    'lacks +config: ',
  ],
  [
    'Redis 8.0.2, Valkey 8.1.1',
    "ERR ACL failure in script: User relay has no permissions to run the 'zadd' command script: 72ed2f34, on @user_script:LINE.",
    'lacks +zadd: ',
  ],
  [
    'Valkey 9.1.2',
    "ERR ACL failure in script: User relay has no permissions to run the 'zadd' command script: on @user_script:LINE.",
    'lacks +zadd: ',
  ],
  [
    'Valkey 9.1.2',
    'ERR ACL failure in script: No permissions to access a key script: on @user_script:LINE.',
    'may not use keys that',
  ],
  [
    'Valkey 9.1.2',
    'ERR ACL failure in script: No permissions to access a channel script: on @user_script:LINE.',
    'may not use channels that',
  ],
  [
    'Valkey 9.1.2',
    "NOPERM User relay has no permissions to run the 'config|get' command",
    'lacks +config|get: ',
  ],
  ['a newer one', 'NOPERM no', 'which ACL LOG names'],
])('what %s says of a missing right is understood', (_, reply, remedy) => {
  const line = SCRIPTS.probe.text.split('\n').findIndex((each) => each.includes("'ZADD'")) + 1;
  const message = reply.replaceAll('LINE', String(line));
  expect(remedyFor(new ErrorReply(message), SCRIPTS.probe)).toContain(remedy);
});
