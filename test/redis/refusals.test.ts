/**
 * A Redis that answers, but refuses commands: the log has the remedy once, and a line when it
 * accepts them again, which no request has to notice (docs/scaling.md "When Redis refuses commands").
 */
import { describe, expect, test } from 'bun:test';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { startRequest } from '../kit/device.ts';
import { findFreePort } from '../kit/process.ts';
import { rulesFor } from '../kit/redis/acl.ts';
import { startRedisCluster } from '../kit/redis/groups.ts';
import { type RedisOptions, type RedisServer, startRedis } from '../kit/redis/server.ts';
import { startRelay } from '../kit/relay.ts';
import { plantSecret } from '../kit/secrets.ts';
import { failureOf, pollUntil } from '../kit/wait.ts';

interface Refusal {
  readonly reason: string;
  readonly remedy: string;
  /** Only some requests fail, so no load balancer may take the others away. */
  readonly isReady?: boolean;
  /** A relay that starts meanwhile says the same, and is not ready. */
  readonly alsoAtStart?: boolean;
  /** Not given: 503. */
  readonly startStatus?: number;
  readonly options?: RedisOptions;
  readonly begin: (redis: RedisServer) => Promise<unknown>;
  readonly end: (redis: RedisServer) => Promise<unknown>;
}

const USER = { name: 'relay', password: plantSecret('password-of-the-relay') };
const RULES = rulesFor('single', ['sign-in-relay:']);
const set = (name: string, value: string) => (redis: RedisServer) =>
  redis.cli('CONFIG', 'SET', name, value);
const setUser =
  (...rules: string[]) =>
  (redis: RedisServer) =>
    redis.cli('ACL', 'SETUSER', USER.name, ...rules);
/** A password matters to new connections only. */
const reconnectAfter = (rules: readonly string[]) => async (redis: RedisServer) => {
  await setUser(...rules)(redis);
  await redis.cli('CLIENT', 'KILL', 'USER', USER.name);
};
const attachToNothing = (redis: RedisServer) => redis.cli('REPLICAOF', '127.0.0.1', '1');
const detach = (redis: RedisServer) => redis.cli('REPLICAOF', 'NO', 'ONE');

/** Even a PING. */
const untilRefused = (redis: RedisServer) =>
  pollUntil('it is refused', () => failureOf(redis.cli('PING')));

const SLOW_LOADING =
  '--enable-debug-command local --key-load-delay 500 --loading-process-events-interval-bytes 1024';

const REFUSALS: readonly Refusal[] = [
  {
    reason: 'OOM',
    remedy: 'maxmemory',
    isReady: true,
    alsoAtStart: true,
    begin: set('maxmemory', '1'),
    end: set('maxmemory', '0'),
  },
  {
    reason: 'READONLY',
    remedy: 'REDIS_URL must name the primary',
    alsoAtStart: true,
    begin: attachToNothing,
    end: detach,
  },
  {
    reason: 'MASTERDOWN',
    remedy: 'primary',
    options: { args: ['--replica-serve-stale-data', 'no'] },
    begin: attachToNothing,
    end: detach,
  },
  {
    reason: 'NOREPLICAS',
    remedy: 'min-replicas-to-write',
    begin: set('min-replicas-to-write', '1'),
    end: set('min-replicas-to-write', '0'),
  },
  ...['evalsha', 'zcount'].map((command) => ({
    reason: 'NOPERM',
    remedy: 'ACL LOG',
    // If one command of a script is forbidden, other scripts work.
    isReady: command === 'zcount',
    alsoAtStart: command === 'zcount',
    options: { user: USER },
    begin: setUser(`-${command}`),
    end: setUser(`+${command}`),
  })),
  ...[
    [
      ['resetpass', '>another-password'],
      ['resetpass', `>${USER.password}`],
    ],
    [['off'], ['on']],
  ].map(([begin = [], end = []]) => ({
    reason: 'WRONGPASS',
    remedy: 'correct REDIS_URL',
    options: { user: USER },
    begin: reconnectAfter(begin),
    end: setUser(...end),
  })),
  ...(
    [
      ['resetkeys', '~other:*', '~sign-in-relay:*', 503],
      ['resetchannels', '&other:*', '&sign-in-relay:wake:*', 200],
    ] as const
  ).map(([reset, begin, end, startStatus]) => ({
    reason: 'NOPERM',
    remedy: 'REDIS_PREFIX',
    startStatus,
    options: { user: { ...USER, rules: RULES } },
    begin: setUser(reset, begin),
    end: setUser(reset, end),
  })),
  {
    reason: 'MISCONF',
    remedy: 'set save ""',
    options: { args: ['--dbfilename', 'taken'] },
    async begin(redis) {
      mkdirSync(join(redis.folder, 'taken'));
      await redis.cli('CONFIG', 'SET', 'save', '3600 1');
      await redis.cli('BGSAVE');
      await pollUntil('the snapshot has failed', async () =>
        (await redis.cli('INFO', 'persistence')).includes('rdb_last_bgsave_status:err'),
      );
    },
    end: set('save', ''),
  },
  {
    reason: 'LOADING',
    remedy: 'reading its data',
    options: { args: SLOW_LOADING.split(' ') },
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

type Reported = Omit<Refusal, 'options' | 'begin' | 'end'>;

async function expectReported(
  when: 'at its start' | 'later',
  url: string,
  { reason, remedy, startStatus = 503, ...refusal }: Reported,
  begin: () => Promise<unknown>,
  end: () => unknown,
): Promise<void> {
  const isReady = when === 'later' && refusal.isReady === true;
  if (when === 'at its start') await begin();
  const adminPort = await findFreePort();
  // By default there is no line for a single request.
  const env = { START_BURST: '1000000', LOG_LEVEL: 'info', ADMIN_PORT: `${adminPort}` };
  const relay = await startRelay({ REDIS_URL: url, ...env });
  const tryStart = async () => (await relay.ask('/auth/start', startRequest())).status;
  if (when === 'later') {
    expect(await tryStart()).toBe(200);
    await begin();
    for (let count = 0; count < 5; count += 1) expect(await tryStart()).toBe(startStatus);
  }
  const logged = { level: 'warning', reason, remedy: expect.stringContaining(remedy) };
  expect(await relay.waitForEvents('store_refuses', 1)).toMatchObject([logged]);
  const problem = `store: Redis refuses commands (${reason}): `;
  const text = await pollUntil(`/ready is ${isReady ? 200 : 503}, and says why`, async () => {
    const response = await relay.ask('/ready');
    const body = await response.text();
    return response.ok === isReady && body.includes(problem) && body;
  });
  expect(text).toStartWith(isReady ? `ready, but some requests fail: ${problem}` : problem);
  expect(text).toContain(remedy);
  const page = await (await fetch(`http://127.0.0.1:${adminPort}/`)).text();
  expect(page).toContain(`Redis refuses commands (${reason})`);
  await end();
  // No request follows: a load balancer sends none.
  await relay.waitForEvent('store_accepts');
  const response = await relay.ask('/ready');
  expect([response.status, await response.text()]).toEqual([200, 'ready']);
  expect(await tryStart()).toBe(200);
  expect(relay.events('store_refuses')).toHaveLength(1);
  expect(relay.events('store_accepts')).toMatchObject([{ level: 'info', reason }]);
  // The limit of live sessions was not the reason.
  expect(relay.events('sessions_full')).toEqual([]);
  expect(relay.output()).not.toContain(USER.password);
  await relay.stop();
}

const ROWS = REFUSALS.flatMap((refusal, nth) => [
  [refusal.reason, nth, 'later', refusal] as const,
  ...(refusal.alsoAtStart ? [[refusal.reason, nth, 'at its start', refusal] as const] : []),
]);

describe.concurrent('a refusal is reported once with its remedy, and once when it is over', () => {
  test.each(ROWS)('%s (%d), %s', async (_, _nth, when, refusal) => {
    await using redis = await startRedis(refusal.options);
    const [begin, end] = [() => refusal.begin(redis), () => refusal.end(redis)];
    await expectReported(when, redis.url, refusal, begin, end);
  });

  test('CLUSTERDOWN', async () => {
    await using cluster = await startRedisCluster();
    const [, lost] = cluster.nodes;
    const others = cluster.nodes.filter((node) => node !== lost);
    async function begin(): Promise<void> {
      await lost?.freeze();
      await pollUntil('the Cluster is down', async () => {
        const states = await Promise.all(others.map((node) => node.cli('CLUSTER', 'INFO')));
        return states.every((state) => state.includes('cluster_state:fail'));
      });
    }
    const refusal = { reason: 'CLUSTERDOWN', remedy: 'slots' };
    await expectReported('later', cluster.url, refusal, begin, () => lost?.thaw());
  });
});
