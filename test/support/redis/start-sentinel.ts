/** A primary, its replicas and the sentinels that watch over them. */
import { pollUntil } from './poll-until.ts';
import type { RedisOptions } from './redis-options.ts';
import { loginOf } from './redis-place.ts';
import type { RedisServer } from './redis-server.ts';
import {
  countLinkedReplicas,
  countOtherSentinels,
  launchSentinel,
  primaryPort,
  SENTINEL_NAME,
} from './sentinel-server.ts';
import { startRedis } from './start-redis.ts';

export interface SentinelOptions extends Omit<RedisOptions, 'unixSocket'> {
  readonly sentinels?: number;
  readonly replicas?: number;
  /** The primary is going to be killed: a silence of a second means that. */
  readonly failsOver?: boolean;
}

export interface RedisSentinel {
  /** `redis+sentinel://127.0.0.1:p1,127.0.0.1:p2/mymaster`, `rediss+` over TLS. */
  readonly url: string;
  /** The first primary and its replicas; a failover does not change the order. */
  readonly nodes: readonly RedisServer[];
  readonly sentinels: readonly RedisServer[];
  /** The primary as a sentinel tells it. */
  primary(): Promise<RedisServer>;
  /** Returns the one that was killed, with SIGKILL. */
  killPrimary(): Promise<RedisServer>;
  /** As an operator does it before an upgrade: nobody is killed. Returns the primary that steps down. */
  replacePrimary(): Promise<RedisServer>;
  /** The new primary, once every sentinel that answers names it and it takes writes. */
  waitForPromotion(old: RedisServer): Promise<RedisServer>;
  /** Resolves when every sentinel sees this many replicas with a link to the primary. */
  waitForReplicas(count: number): Promise<void>;
  stop(): Promise<void>;
}

/** Resolves when every sentinel knows of all the others and of every replica. */
export async function startRedisSentinel(options: SentinelOptions = {}): Promise<RedisSentinel> {
  const { sentinels: watchers = 3, replicas = 1, failsOver = false, ...redis } = options;
  const nodes = await Promise.all(Array.from({ length: 1 + replicas }, () => startRedis(redis)));
  const sentinels: RedisServer[] = [];
  try {
    const primary = await attachReplicas(nodes);
    for (let count = 0; count < watchers; count += 1) {
      sentinels.push(await launchSentinel(primary, count, { ...redis, failsOver }));
    }
    const group = createGroup(nodes, sentinels, redis);
    await group.waitForReplicas(replicas);
    await untilAcquainted(sentinels);
    await untilReplicating(primary, replicas);
    return group;
  } catch (error) {
    await stopAll([...nodes, ...sentinels]);
    throw error;
  }
}

/** Before there are sentinels: they ask a primary for its replicas only every 10 s. */
async function attachReplicas(nodes: readonly RedisServer[]): Promise<RedisServer> {
  const [primary, ...replicas] = nodes;
  if (primary === undefined) throw new Error('a group without a primary');
  for (const replica of replicas) {
    await replica.cli('REPLICAOF', '127.0.0.1', primary.port);
    await replica.cli('CONFIG', 'REWRITE');
    await pollUntil('the replica has its primary', async () => {
      const role = await replica.cli('ROLE');
      return role.includes('connected') ? true : undefined;
    });
  }
  return primary;
}

async function untilAcquainted(sentinels: readonly RedisServer[]): Promise<void> {
  await pollUntil('the sentinels know each other', async () => {
    const known = await Promise.all(sentinels.map(countOtherSentinels));
    return known.every((count) => count === sentinels.length - 1) ? true : undefined;
  });
}

/**
 * A replica that has its first copy is sent what is new only after it has
 * reported once more, up to a second later; until then WAIT is in vain.
 */
async function untilReplicating(primary: RedisServer, replicas: number): Promise<void> {
  // Something new, that leaves nothing behind.
  await primary.cli('PUBLISH', 'attached', '');
  const info = () => primary.cli('INFO', 'replication');
  const written = Number(/^master_repl_offset:(\d+)/m.exec(await info())?.[1]);
  await pollUntil('the replicas have what is written', async () => {
    const offsets = [...(await info()).matchAll(/^slave\d+:.*,offset=(\d+)/gm)];
    const upToDate = offsets.filter(([, offset]) => Number(offset) >= written);
    return upToDate.length === replicas ? true : undefined;
  });
}

function createGroup(
  nodes: readonly RedisServer[],
  sentinels: readonly RedisServer[],
  { tls, user, password = '' }: RedisOptions,
): RedisSentinel {
  const hosts = sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',');
  const scheme = tls ? 'rediss+sentinel' : 'redis+sentinel';
  const answering = () => sentinels.filter((sentinel) => sentinel.isAnswering());
  /** What the sentinels that answer agree on. */
  async function findPrimary(): Promise<RedisServer | undefined> {
    const ports = new Set(await Promise.all(answering().map(primaryPort)));
    const [port] = ports;
    return ports.size === 1 ? nodes.find((node) => node.port === port) : undefined;
  }
  const primary = () => pollUntil('the sentinels name one primary', findPrimary);
  return {
    url: `${scheme}://${loginOf(user ?? { password })}${hosts}/${SENTINEL_NAME}`,
    ...{ nodes, sentinels, primary },
    async killPrimary() {
      const killed = await primary();
      await killed.kill();
      return killed;
    },
    async replacePrimary() {
      const old = await primary();
      await sentinels[0]?.cli('SENTINEL', 'FAILOVER', SENTINEL_NAME);
      return old;
    },
    waitForPromotion: (old) =>
      pollUntil('a replica is promoted', async () => {
        const named = await findPrimary();
        if (named === undefined || named === old) return undefined;
        return (await named.cli('ROLE')).startsWith('master') ? named : undefined;
      }),
    async waitForReplicas(count) {
      await pollUntil(`the sentinels see ${count} replicas`, async () => {
        const linked = await Promise.all(answering().map(countLinkedReplicas));
        return linked.every((seen) => seen === count) ? true : undefined;
      });
    },
    stop: () => stopAll([...nodes, ...sentinels]),
  };
}

async function stopAll(servers: readonly RedisServer[]): Promise<void> {
  await Promise.all(servers.map((server) => server.stop()));
}
