/** Nothing readable at rest: design.md, Many instances; docs/sealing.md. */
import { afterAll, describe, expect, test } from 'bun:test';
import { pollUntil } from '../support/redis/poll-until.ts';
import type { RedisServer } from '../support/redis/redis-server.ts';
import { scanRedis } from '../support/redis/scan-redis.ts';
import { startRedisCluster } from '../support/redis/start-cluster.ts';
import { startRedis } from '../support/redis/start-redis.ts';
import { startRedisSentinel } from '../support/redis/start-sentinel.ts';
import { watchChannels } from '../support/redis/watch-channels.ts';
import { openTestRedis } from './support/redis-store.ts';
import { createWatchedRelay } from './support/sealed-walk.ts';

const [redis, group, cluster] = await Promise.all([
  startRedis(),
  startRedisSentinel(),
  startRedisCluster(),
]);
afterAll(() => Promise.all([redis.stop(), group.stop(), cluster.stop()]));

const clusterHosts = cluster.nodes.map(({ port }) => `127.0.0.1:${port}`).join(',');

/** All that is in the hashes of the sessions, the fields of each in a line. */
async function readSessions(servers: readonly RedisServer[]): Promise<string> {
  const script = `
    local lines = {}
    for _, key in ipairs(redis.call('KEYS', '*session:*')) do
      table.insert(lines, table.concat(redis.call('HGETALL', key), ' '))
    end
    return table.concat(lines, '\\n')`;
  return (await Promise.all(servers.map((server) => server.cli('EVAL', script, 0)))).join('\n');
}

describe.each([
  ['one node', redis.url, [redis]],
  ['a primary and its replica', group.url, group.nodes],
  ['a Cluster', `redis://${clusterHosts}`, cluster.nodes],
] as const)('%s', (_, url, servers) => {
  test('holds no secret at any state of a session: keys, values, messages, files', async () => {
    const watch = await watchChannels(servers);
    const stores = await openTestRedis(url, { clockOf: () => '' });
    const relay = createWatchedRelay(stores);

    /** Looks while there is a session in that state. */
    async function expectSealed(state: 'p' | 'x' | 'c' | 'd'): Promise<void> {
      expect(await readSessions(servers)).toMatch(new RegExp(`^(.* )?s ${state}( |$)`, 'm'));
      const scan = await scanRedis(servers, watch);
      const found = [...relay.secrets].flatMap((secret) => scan.find(secret));
      expect({ state, found }).toEqual({ state, found: [] });
    }

    try {
      const first = await relay.start();
      await expectSealed('p');
      const exchange = relay.holdExchange();
      const callback = relay.signIn(first.state);
      await exchange.arrived;
      await expectSealed('x');
      exchange.release();
      await callback;
      await expectSealed('c');
      expect(await (await relay.poll(first.session)).json()).toMatchObject({
        accessToken: relay.grant.access_token,
      });
      await expectSealed('d');

      const refused = await relay.start();
      await relay.refuse(refused.state);
      await expectSealed('c');

      const awaited = await relay.start();
      const parked = relay.poll(awaited.session);
      await pollUntil('the poll is parked', async () =>
        /(^| )w:/m.test(await readSessions(servers)) ? true : undefined,
      );
      await relay.signIn(awaited.state);
      expect((await parked).status).toBe(200);
      const messages = (await watch.messages()).map(({ bytes }) => bytes.toString());
      expect(messages.some((message) => /^[\w-]{22}$/.test(message))).toBe(true);
      await expectSealed('d');
      // 3 sign-ins with 3 secrets, 2 of them with 1 code, the client secret and 2 tokens.
      expect(relay.secrets.size).toBe(3 * 3 + 2 + 1 + 2);

      const typed = await relay.startWithCode();
      await expectSealed('p');
      const { state, deviceName } = await relay.useCode(typed.userCode);
      expect(deviceName).toBe(typed.device);
      await expectSealed('p');
      await relay.signIn(state);
      await expectSealed('c');
      expect((await relay.poll(typed.session)).status).toBe(200);
      await expectSealed('d');
      // The poll secret, the code as it is shown and as it is kept, the name, the state, the provider's code.
      expect(relay.secrets.size).toBe(3 * 3 + 2 + 1 + 2 + 6);

      const refresh = relay.remember(`mal ${crypto.randomUUID()}`);
      await stores.refreshAnswers.begin(refresh, 0);
      await expectSealed('d');
      await stores.refreshAnswers.settle(refresh, JSON.stringify(relay.grant), 0);
      expect(await stores.refreshAnswers.begin(refresh, 0)).toMatchObject({ state: 'answered' });
      await expectSealed('d');
    } finally {
      stores.close();
      watch.stop();
    }
  });
});

test('each of these secrets would be found, had the store kept it', async () => {
  const stores = await openTestRedis(redis.url, { clockOf: () => '' });
  const relay = createWatchedRelay(stores);
  try {
    const { state } = await relay.start();
    await relay.signIn(state);
    await relay.startWithCode();
    for (const [index, secret] of [...relay.secrets].entries()) {
      const careless = JSON.stringify({ kept: secret });
      await redis.cli('HSET', `careless:${index}`, 'r', Buffer.from(careless).toString('base64'));
    }
    const scan = await scanRedis(redis);
    expect([...relay.secrets].filter((secret) => scan.find(secret).length === 0)).toEqual([]);
  } finally {
    stores.close();
  }
});
