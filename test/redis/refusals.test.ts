/** A Redis that answers, but refuses what it is asked: its operator is told what to do, once. */

import { describe, expect, test } from 'bun:test';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { failureOf } from '../support/failure-of.ts';
import { startLocalRelay } from '../support/local-relay.ts';
import { pollUntil } from '../support/redis/poll-until.ts';
import type { RedisOptions } from '../support/redis/redis-options.ts';
import type { RedisServer } from '../support/redis/redis-server.ts';
import { startRedisCluster } from '../support/redis/start-cluster.ts';
import { startRedis } from '../support/redis/start-redis.ts';
import type { RelayProcess } from '../support/relay-process.ts';
import { startOf } from '../support/test-service.ts';

interface Refusing {
  readonly reason: string;
  readonly remedy: string;
  readonly options?: RedisOptions;
  readonly begin: (redis: RedisServer) => Promise<unknown>;
  readonly end: (redis: RedisServer) => Promise<unknown>;
}

const USER = { name: 'relay', password: 'relay-password' };
const NOBODY = ['127.0.0.1', '1'];
const set = (name: string, value: string) => (redis: RedisServer) =>
  redis.cli('CONFIG', 'SET', name, value);

/** Even a PING. */
const untilRefused = (redis: RedisServer) =>
  pollUntil('it is refused', () => failureOf(redis.cli('PING')));

const CASES: readonly Refusing[] = [
  {
    reason: 'OOM',
    remedy: 'maxmemory',
    begin: set('maxmemory', '1'),
    end: set('maxmemory', '0'),
  },
  {
    reason: 'READONLY',
    remedy: 'primary',
    begin: (redis) => redis.cli('REPLICAOF', ...NOBODY),
    end: (redis) => redis.cli('REPLICAOF', 'NO', 'ONE'),
  },
  {
    reason: 'MASTERDOWN',
    remedy: 'primary',
    options: { args: ['--replica-serve-stale-data', 'no'] },
    begin: (redis) => redis.cli('REPLICAOF', ...NOBODY),
    end: (redis) => redis.cli('REPLICAOF', 'NO', 'ONE'),
  },
  {
    reason: 'NOREPLICAS',
    remedy: 'min-replicas-to-write',
    begin: set('min-replicas-to-write', '1'),
    end: set('min-replicas-to-write', '0'),
  },
  {
    reason: 'NOPERM',
    remedy: 'docs/scaling.md',
    options: { user: USER },
    begin: (redis) => redis.cli('ACL', 'SETUSER', USER.name, '-evalsha'),
    end: (redis) => redis.cli('ACL', 'SETUSER', USER.name, '+evalsha'),
  },
  {
    reason: 'NOPERM',
    remedy: 'docs/scaling.md',
    options: { user: USER },
    begin: (redis) => redis.cli('ACL', 'SETUSER', USER.name, '-set'),
    end: (redis) => redis.cli('ACL', 'SETUSER', USER.name, '+set'),
  },
  {
    reason: 'MISCONF',
    remedy: 'set save ""',
    options: { args: ['--dbfilename', 'taken'] },
    async begin(redis) {
      mkdirSync(join(redis.folder, 'taken'));
      await redis.cli('CONFIG', 'SET', 'save', '3600 1');
      await redis.cli('BGSAVE');
      await pollUntil('the snapshot has failed', async () =>
        (await redis.cli('INFO', 'persistence')).includes('rdb_last_bgsave_status:err')
          ? true
          : undefined,
      );
    },
    end: set('save', ''),
  },
  {
    reason: 'LOADING',
    remedy: 'reading its data',
    options: {
      args: [
        ...['--enable-debug-command', 'local'],
        ...['--key-load-delay', '500', '--loading-process-events-interval-bytes', '1024'],
      ],
    },
    async begin(redis) {
      await redis.cli('DEBUG', 'POPULATE', 10_000);
      redis.cli('DEBUG', 'RELOAD').catch(() => {});
      await untilRefused(redis);
    },
    end: (redis) => pollUntil('it is loaded', () => redis.cli('PING').catch(() => undefined)),
  },
  {
    reason: 'BUSY',
    remedy: 'a script',
    options: { args: ['--busy-reply-threshold', '100'] },
    async begin(redis) {
      redis.cli('EVAL', 'while true do end', 0).catch(() => {});
      await untilRefused(redis);
    },
    end: (redis) => redis.cli('SCRIPT', 'KILL'),
  },
];

const start = ({ baseUrl }: RelayProcess) => fetch(`${baseUrl}/auth/start`, startOf('mal'));

const startRelayOn = (url: string) =>
  startLocalRelay({
    REDIS_URL: url,
    MAL_CLIENT_ID: 'mal-client',
    START_BURST: '1000000',
    // As it is by default: no line of a single request.
    LOG_LEVEL: 'info',
  });

async function expectToldOnce(
  relay: RelayProcess,
  { reason, remedy }: Refusing,
  end: () => unknown,
) {
  const told = () =>
    relay.events().filter(({ event }) => event.startsWith('store_') && event !== 'store_unfit');
  for (let count = 0; count < 5; count += 1) expect((await start(relay)).status).toBe(503);
  const refusals = () => told().filter(({ event }) => event === 'store_refuses');
  expect(refusals()).toMatchObject([
    { level: 'warning', reason, remedy: expect.stringContaining(remedy) },
  ]);
  await end();
  // Seen by the next ones of its kind, once there was no refusal for a while.
  await pollUntil(`${reason} is over`, async () => {
    expect((await start(relay)).status).toBeOneOf([200, 503]);
    return told().find(({ event }) => event === 'store_accepts');
  });
  expect((await start(relay)).status).toBe(200);
  expect(refusals()).toHaveLength(1);
  expect(told().filter(({ event }) => event === 'store_accepts')).toMatchObject([
    { level: 'info', reason },
  ]);
  // No cap was the reason.
  expect(relay.events().filter(({ event }) => event === 'sessions_full')).toEqual([]);
}

describe.concurrent('a Redis that refuses is named once with its remedy, and once when it takes commands again', () => {
  test.each(CASES.map((refusing, nth) => [`${refusing.reason} (${nth})`, refusing] as const))(
    '%s',
    async (_, refusing) => {
      const redis = await startRedis(refusing.options);
      const relay = await startRelayOn(redis.url);
      expect((await start(relay)).status).toBe(200);
      await refusing.begin(redis);
      await expectToldOnce(relay, refusing, () => refusing.end(redis));
      await relay.stop();
      await redis.stop();
    },
    60_000,
  );

  test('CLUSTERDOWN', async () => {
    const cluster = await startRedisCluster();
    const relay = await startRelayOn(
      `redis://${cluster.nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')}`,
    );
    const [, lost] = cluster.nodes;
    await lost?.freeze();
    const others = cluster.nodes.filter((node) => node !== lost);
    await pollUntil('the cluster is down', async () => {
      const states = await Promise.all(others.map((node) => node.cli('CLUSTER', 'INFO')));
      return states.every((state) => state.includes('cluster_state:fail')) ? true : undefined;
    });
    const refusing = { reason: 'CLUSTERDOWN', remedy: 'slots' } as Refusing;
    await expectToldOnce(relay, refusing, () => lost?.thaw());
    await relay.stop();
    await cluster.stop();
  }, 60_000);
});
