/** Several Redis servers that fail over: a primary watched by Sentinels, and a Cluster. */
import { pollUntil } from '../wait.ts';
import {
  launchServer,
  loginOf,
  type RedisOptions,
  type RedisServer,
  startRedis,
} from './server.ts';

const stopAll = async (servers: readonly RedisServer[]) => {
  await Promise.all(servers.map((server) => server.stop()));
};

interface GroupOptions extends RedisOptions {
  /** The replicas of each primary. */
  readonly replicas?: number;
}

/** What fails over by itself: a primary with its Sentinels, or a Cluster, whose nodes decide. */
export type RedisGroup = ReturnType<typeof createGroup>;

interface GroupParts {
  /** As REDIS_URL has it: `redis+sentinel://127.0.0.1:p1,127.0.0.1:p2/mymaster`, `rediss+` over TLS. */
  readonly url: string;
  /** Primaries first. A failover does not change the order. */
  readonly nodes: readonly RedisServer[];
  /** Empty in a Cluster. */
  readonly sentinels: readonly RedisServer[];
  findPrimary(): Promise<RedisServer | undefined>;
  beginFailover(old: RedisServer): Promise<unknown>;
  isServing(): Promise<boolean>;
}

/** After so long a replica that was asked to take over has given up (CLUSTER_MF_TIMEOUT of Redis), and some more. */
const MANUAL_FAILOVER_MS = 6_000;

function createGroup({ findPrimary, beginFailover, isServing, ...parts }: GroupParts) {
  const stop = () => stopAll([...parts.nodes, ...parts.sentinels]);
  const primary = () => pollUntil('all name one primary', findPrimary);
  const findNext = async (old: RedisServer) => {
    const named = await findPrimary();
    return named !== old && named;
  };
  return {
    ...parts,
    /** The one that has the keys of the relays, as all that answer say. */
    primary,
    stop,
    [Symbol.asyncDispose]: stop,
    /** Does what an operator does before an upgrade: nothing is killed. Returns the old primary. */
    async replacePrimary() {
      const old = await primary();
      let askedAtMs = Number.NEGATIVE_INFINITY;
      await pollUntil('a replica takes over', async () => {
        if (await findNext(old)) return true;
        if (performance.now() - askedAtMs < MANUAL_FAILOVER_MS) return false;
        askedAtMs = performance.now();
        // Refused (NOGOODSLAVE), or given up in silence, while the machine is busy.
        await beginFailover(old).catch(() => {
          askedAtMs = Number.NEGATIVE_INFINITY;
        });
        return false;
      });
      return old;
    },
    /** The new primary, once every server that answers names it and it takes writes. */
    waitForPromotion: (old: RedisServer) =>
      pollUntil('a replica is promoted', async () => {
        const named = await findNext(old);
        if (!named || !(await named.cli('ROLE')).startsWith('master')) return undefined;
        return (await isServing()) && named;
      }),
  };
}

/** One that has a link to this primary. */
export async function replicaOf(primary: RedisServer, { nodes }: Pick<RedisGroup, 'nodes'>) {
  const port = /^slave0:.*port=(\d+)/m.exec(await primary.cli('INFO', 'replication'))?.[1];
  const replica = nodes.find((node) => node.port === Number(port));
  if (replica === undefined) throw new Error('a primary without a replica');
  return replica;
}

/** It has no replica: killed, it comes back empty, and nobody replaces it. */
export async function startRedisAlone(): Promise<RedisGroup> {
  const server = await startRedis();
  const primary = async () => server;
  return {
    url: server.url,
    nodes: [server],
    sentinels: [],
    primary,
    replacePrimary: () => Promise.reject(new Error('there is no replica')),
    waitForPromotion: primary,
    stop: server.stop,
    [Symbol.asyncDispose]: server.stop,
  };
}

const SENTINELS = 3;
const SENTINEL_NAME = 'mymaster';

/**
 * When a primary is given up: soon where it is going to be killed, and otherwise
 * not because the machine is slow. Each sentinel waits longer than the one before
 * and needs no second opinion to call an election, so that the first is the only
 * candidate: three at once tie, and repeat the election seconds later. A majority
 * must still elect.
 */
const DOWN_AFTER_MS = { soon: 1_000, late: 60_000 };
const LONGER_BY_MS = 250;
const QUORUM = 1;

/**
 * How often a sentinel checks and reports; no configuration file can set it. With
 * the usual 10 s and 2 s a primary that comes back is a replica only after half a
 * minute; with the usual ping each second a second of silence means nothing, and
 * one failover causes the next. A sentinel believes what a replica reported for
 * five pings, and asks once a second while the primary is down: with shorter pings
 * a replica that is late on a busy machine does not qualify, and no try succeeds.
 */
const FASTER_MS = {
  'ping-period': 500,
  'info-period': 300,
  'publish-period': 300,
  'ask-period': 300,
};

/** Resolves when every sentinel knows all the others and every replica. `failsOver`: after a second of silence the primary is replaced. */
export async function startRedisSentinel(
  options: GroupOptions & { readonly failsOver?: boolean } = {},
): Promise<RedisGroup> {
  const { replicas = 1, failsOver = false, ...redis } = options;
  const nodes = await Promise.all(Array.from({ length: 1 + replicas }, () => startRedis(redis)));
  const sentinels: RedisServer[] = [];
  try {
    const primary = await attachReplicas(nodes);
    for (let index = 0; index < SENTINELS; index += 1) {
      const delayMs = DOWN_AFTER_MS[failsOver ? 'soon' : 'late'] + index * LONGER_BY_MS;
      sentinels.push(await launchSentinel(primary, delayMs, redis));
    }
    await pollUntil('the sentinels know all replicas, and each other', async () => {
      const linked = await Promise.all(sentinels.map(countLinkedReplicas));
      const known = await Promise.all(sentinels.map((each) => records(each, 'SENTINELS')));
      return (
        linked.every((count) => count === replicas) &&
        known.every(({ length }) => length === SENTINELS - 1)
      );
    });
    await untilReplicating(primary, replicas);
    return createSentinelGroup(nodes, sentinels, redis);
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
    await pollUntil('the replica has its primary', async () =>
      (await replica.cli('ROLE')).includes('connected'),
    );
  }
  return primary;
}

/**
 * A replica with a full copy is sent new writes only after it has reported once
 * more, up to a second later.
 */
async function untilReplicating(primary: RedisServer, replicas: number): Promise<void> {
  // Something new that leaves nothing behind.
  await primary.cli('PUBLISH', 'attached', '');
  const info = () => primary.cli('INFO', 'replication');
  const written = Number(/^master_repl_offset:(\d+)/m.exec(await info())?.[1]);
  await pollUntil('the replicas have what is written', async () => {
    const offsets = [...(await info()).matchAll(/^slave\d+:.*,offset=(\d+)/gm)];
    return offsets.filter(([, offset]) => Number(offset) >= written).length === replicas;
  });
}

async function launchSentinel(
  { port, adminPassword }: RedisServer,
  downAfterMs: number,
  { program, tls = false }: RedisOptions,
): Promise<RedisServer> {
  const sentinel = await launchServer({
    ...(program && { program }),
    tls,
    config: [
      `sentinel monitor ${SENTINEL_NAME} 127.0.0.1 ${port} ${QUORUM}`,
      `sentinel down-after-milliseconds ${SENTINEL_NAME} ${downAfterMs}`,
      `sentinel failover-timeout ${SENTINEL_NAME} 2000`,
      ...(adminPassword && [
        `sentinel auth-pass ${SENTINEL_NAME} ${JSON.stringify(adminPassword)}`,
      ]),
    ],
    args: ['--sentinel'],
    adminPassword: '',
  });
  await sentinel.cli('SENTINEL', 'DEBUG', ...Object.entries(FASTER_MS).flat());
  return sentinel;
}

function createSentinelGroup(
  nodes: readonly RedisServer[],
  sentinels: readonly RedisServer[],
  { tls, user, password = '' }: RedisOptions,
): RedisGroup {
  const hosts = sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',');
  const login = user ? loginOf(user.password, user.name) : loginOf(password);
  return createGroup({
    url: `${tls ? 'rediss' : 'redis'}+sentinel://${login}${hosts}/${SENTINEL_NAME}`,
    nodes,
    sentinels,
    async findPrimary() {
      const answering = sentinels.filter((sentinel) => sentinel.isAnswering());
      const [port, ...others] = new Set(await Promise.all(answering.map(primaryPort)));
      return others.length === 0 ? nodes.find((node) => node.port === port) : undefined;
    },
    beginFailover: async () => sentinels[0]?.cli('SENTINEL', 'FAILOVER', SENTINEL_NAME),
    isServing: async () => true,
  });
}

async function primaryPort(sentinel: RedisServer): Promise<number> {
  const address = await sentinel.cli('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', SENTINEL_NAME);
  return Number(address.split('\n')[1]);
}

/** Those that answer and have a link to the primary. */
async function countLinkedReplicas(sentinel: RedisServer): Promise<number> {
  const replicas = await records(sentinel, 'REPLICAS');
  const isLinked = (replica: ReadonlyMap<string, string>) =>
    replica.get('flags') === 'slave' && replica.get('master-link-status') === 'ok';
  return replicas.filter(isLinked).length;
}

/** redis-cli prints field and value on lines in turn; each record starts with its name. */
async function records(sentinel: RedisServer, what: 'SENTINELS' | 'REPLICAS') {
  const lines = (await sentinel.cli('SENTINEL', what, SENTINEL_NAME)).split('\n');
  const found: Map<string, string>[] = [];
  for (let at = 0; at + 1 < lines.length; at += 2) {
    const [field = '', value = ''] = lines.slice(at, at + 2);
    if (field === 'name') found.push(new Map());
    found.at(-1)?.set(field, value);
  }
  return found;
}

const MASTERS = 3;

/** A master that does not answer for a second is replaced, by any replica at once. */
const CLUSTER_ARGS = [
  '--cluster-enabled',
  'yes',
  '--cluster-node-timeout',
  '1000',
  '--cluster-replica-validity-factor',
  '0',
];

/** Resolves when every node serves. */
export async function startRedisCluster(options: GroupOptions = {}): Promise<RedisGroup> {
  const { replicas = 0, ...redis } = options;
  const args = [...CLUSTER_ARGS, ...(redis.args ?? [])];
  const nodes = await Promise.all(
    Array.from({ length: MASTERS * (1 + replicas) }, () => startRedis({ ...redis, args })),
  );
  try {
    const addresses = nodes.map(({ port }) => `127.0.0.1:${port}`);
    const howMany = ['--cluster-replicas', replicas, '--cluster-yes'];
    await nodes[0]?.cli('--cluster', 'create', ...addresses, ...howMany);
    await pollUntil('every node of the Cluster serves', () => isClusterServing(nodes));
    return createCluster(nodes, redis.user);
  } catch (error) {
    await stopAll(nodes);
    throw error;
  }
}

function askAll(nodes: readonly RedisServer[], ...command: string[]): Promise<string[]> {
  return Promise.all(nodes.filter((node) => node.isAnswering()).map((n) => n.cli(...command)));
}

/** It has all of its data and, in a Cluster, every slot has a master. */
export async function isServing(node: RedisServer): Promise<boolean> {
  const info = await node.cli('INFO');
  if (info.includes('master_link_status:down') || info.includes('loading:1')) return false;
  if (!info.includes('cluster_enabled:1')) return true;
  return (await node.cli('CLUSTER', 'INFO')).includes('cluster_state:ok');
}

/** Every node that answers serves, and knows all the others. */
async function isClusterServing(nodes: readonly RedisServer[]): Promise<boolean> {
  const views = await askAll(nodes, 'CLUSTER', 'NODES');
  const serving = await Promise.all(nodes.filter((node) => node.isAnswering()).map(isServing));
  return serving.every(Boolean) && views.every((view) => view.split('\n').length === nodes.length);
}

/** The hash tag of all keys of a relay. */
const HASH_TAG = '{0}';

function createCluster(nodes: readonly RedisServer[], user: RedisOptions['user']): RedisGroup {
  const login = user ? loginOf(user.password, user.name) : '';
  return createGroup({
    url: `redis://${login}${nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')}`,
    nodes,
    sentinels: [],
    async findPrimary() {
      const [slot] = await askAll(nodes, 'CLUSTER', 'KEYSLOT', HASH_TAG);
      const views = await askAll(nodes, 'CLUSTER', 'NODES');
      const [port, ...others] = new Set(views.map((view) => portOfSlot(view, Number(slot))));
      return others.length === 0 ? nodes.find((node) => node.port === port) : undefined;
    },
    beginFailover: async (old) => (await replicaOf(old, { nodes })).cli('CLUSTER', 'FAILOVER'),
    isServing: () => isClusterServing(nodes),
  });
}

/**
 * The port of the node that owns the slot.
 * @see https://redis.io/docs/latest/commands/cluster-nodes/
 */
function portOfSlot(clusterNodes: string, slot: number): number | undefined {
  for (const line of clusterNodes.split('\n')) {
    const [, address = '', , , , , , , ...ranges] = line.split(' ');
    const owns = ranges.some((range) => {
      // In brackets: a slot that is moving to another node.
      if (range.startsWith('[')) return false;
      const [first = Number.NaN, last = first] = range.split('-').map(Number);
      return first <= slot && slot <= last;
    });
    if (owns) return Number(/:(\d+)@/.exec(address)?.[1]);
  }
  return undefined;
}
