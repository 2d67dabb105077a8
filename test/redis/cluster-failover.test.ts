/** A replica takes over the slot of a channel while completions are said there. hazards.md §3, Wake-up. */
import { afterAll, expect, test } from 'bun:test';
import { LIFETIME_MS, NOW, newSession, TOKENS } from '../stores/suite/sessions.ts';
import { openTestRedis } from '../stores/support/redis-store.ts';
import type { RedisServer } from '../support/redis/redis-server.ts';
import { startRedisCluster } from '../support/redis/start-cluster.ts';

const PARKED = 3_000;
const PARKED_AT_ONCE = 50;
const COMPLETED_AT_ONCE = 2;

const cluster = await startRedisCluster({ replicas: 1 });
afterAll(() => cluster.stop());
const url = `redis://${cluster.nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')}`;

test('an operator has a replica take over: no parked poll is forgotten', async () => {
  const prefix = 'moved:';
  const options = { prefix, maxSessions: 2 * PARKED };
  const device = await openTestRedis(url, options);
  const channel = await findChannel(prefix);
  const browser = await openTestRedis(url, options);
  const waiting: string[] = [];
  const wakes: Promise<void>[] = [];
  async function park(): Promise<void> {
    while (wakes.length < PARKED) {
      const session = newSession({ lifetimeMs: LIFETIME_MS });
      const { service, browserState, pollSecret } = session;
      wakes.push(
        new Promise((resolve) => {
          device.store.watch(pollSecret, () => resolve());
        }),
      );
      await device.store.register(session, NOW);
      expect(await device.store.claim(pollSecret, NOW)).toEqual({ state: 'pending' });
      await browser.store.lease(service, browserState, NOW);
      waiting.push(browserState);
    }
  }
  await Promise.all(Array.from({ length: PARKED_AT_ONCE }, park));

  async function complete(): Promise<void> {
    for (let state = waiting.pop(); state !== undefined; state = waiting.pop()) {
      expect(await browser.store.complete('mal', state, TOKENS, NOW)).toBe(true);
    }
  }
  const old = await cluster.ownerOf(channel);
  const completed = Promise.all(Array.from({ length: COMPLETED_AT_ONCE }, complete));
  await (await replicaOf(old)).cli('CLUSTER', 'FAILOVER');
  await cluster.waitForNewOwner(channel, old);
  const left = waiting.length;
  await completed;
  // Some were said before, some after; so some came in between.
  console.log(`${PARKED - left} of ${PARKED} were completed while the slot moved`);
  expect(left).toBeWithin(1, PARKED);
  await Promise.all(wakes);
  device.close();
  browser.close();
}, 60_000);

/** Of the only instance there is by then. */
async function findChannel(prefix: string): Promise<string> {
  const listed = await Promise.all(
    cluster.nodes.map((node) => node.cli('PUBSUB', 'SHARDCHANNELS', `${prefix}*`)),
  );
  const [channel] = listed.filter((channels) => channels !== '');
  if (channel === undefined) throw new Error('nobody listens');
  return channel;
}

async function replicaOf(master: RedisServer): Promise<RedisServer> {
  const port = /^slave0:.*port=(\d+)/m.exec(await master.cli('INFO', 'replication'))?.[1];
  const replica = cluster.nodes.find((node) => node.port === Number(port));
  if (replica === undefined) throw new Error('a master without a replica');
  return replica;
}
