/** Several Redis servers that fail over: a primary watched by Sentinels, and a Cluster. */
import { pollUntil } from '../wait.ts';
import {
  launchServer,
  loginOf,
  type RedisOptions,
  type RedisServer,
  startRedis,
} from './server.ts';

interface GroupOptions extends Omit<RedisOptions, 'tls'> {
  /** The replicas of each primary. */
  readonly replicas?: number;
}

/** What fails over by itself: a primary with its Sentinels, or a Cluster, whose nodes decide. */
export type RedisGroup = ReturnType<typeof createGroup>;

interface GroupParts {
  /** As REDIS_URL has it: `redis+sentinel://127.0.0.1:p1,127.0.0.1:p2/mymaster`. */
  readonly url: string;
  /** Primaries first. A failover does not change the order. */
  readonly nodes: readonly RedisServer[];
  /** Empty in a Cluster. */
  readonly sentinels: readonly RedisServer[];
  /** The port of the primary, as `of` says: a sentinel or, in a Cluster, a node. */
  portOfPrimary(of: RedisServer): Promise<number | undefined>;
  beginFailover(old: RedisServer): Promise<unknown>;
  isServing(): Promise<boolean>;
}

/** A little longer than a replica tries to take over when it is asked to (CLUSTER_MF_TIMEOUT of Redis). */
const MANUAL_FAILOVER_MS = 6_000;

function createGroup({ portOfPrimary, beginFailover, isServing, ...parts }: GroupParts) {
  const { nodes, sentinels } = parts;
  async function stop(): Promise<void> {
    await Promise.all([...nodes, ...sentinels].map((server) => server.stop()));
  }
  async function findPrimary(): Promise<RedisServer | undefined> {
    const asked = (sentinels.length > 0 ? sentinels : nodes).filter((each) => each.isAnswering());
    const [port, ...others] = new Set(await Promise.all(asked.map(portOfPrimary)));
    return others.length === 0 ? nodes.find((node) => node.port === port) : undefined;
  }
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
  const { attached } = await roleOf(primary);
  const port = attached[0]?.[1];
  const replica = nodes.find((node) => node.port === Number(port));
  if (replica === undefined) throw new Error('a primary without a replica');
  return replica;
}

/** What a primary has written so far, and each replica that has a link to it. */
async function roleOf(primary: RedisServer) {
  const [, written, attached] = await primary.json('ROLE');
  return { written, attached } as {
    written: number;
    attached: [host: string, port: string, written: string][];
  };
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
  const primary = await attachReplicas(nodes);
  const sentinels: RedisServer[] = [];
  for (let index = 0; index < SENTINELS; index += 1) {
    const delayMs = DOWN_AFTER_MS[failsOver ? 'soon' : 'late'] + index * LONGER_BY_MS;
    sentinels.push(await launchSentinel(primary, delayMs, redis));
  }
  await pollUntil('the sentinels know all replicas, and each other', async () =>
    (await Promise.all(sentinels.map((each) => knowsAll(each, replicas)))).every(Boolean),
  );
  await untilReplicating(primary, replicas);
  const { user, password = '' } = redis;
  const hosts = sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',');
  const login = loginOf(user?.password ?? password, user?.name);
  return createGroup({
    url: `redis+sentinel://${login}${hosts}/${SENTINEL_NAME}`,
    nodes,
    sentinels,
    async portOfPrimary(sentinel) {
      const [, port] = await sentinel.json('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', SENTINEL_NAME);
      return Number(port);
    },
    beginFailover: async () => sentinels[0]?.cli('SENTINEL', 'FAILOVER', SENTINEL_NAME),
    isServing: async () => true,
  });
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
  const { written } = await roleOf(primary);
  await pollUntil('the replicas have what is written', async () => {
    const { attached } = await roleOf(primary);
    return attached.filter(([, , offset]) => Number(offset) >= written).length === replicas;
  });
}

async function launchSentinel(
  { port, adminPassword }: RedisServer,
  downAfterMs: number,
  { program }: RedisOptions,
): Promise<RedisServer> {
  const sentinel = await launchServer({
    ...(program && { program }),
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

/** All other sentinels, and all replicas, which answer and have a link to the primary. */
async function knowsAll(sentinel: RedisServer, replicas: number): Promise<boolean> {
  const others: object[] = await sentinel.json('SENTINEL', 'SENTINELS', SENTINEL_NAME);
  const known: Record<string, string>[] = await sentinel.json(
    'SENTINEL',
    'REPLICAS',
    SENTINEL_NAME,
  );
  const linked = known.filter(
    (each) => each.flags === 'slave' && each['master-link-status'] === 'ok',
  );
  return others.length === SENTINELS - 1 && linked.length === replicas;
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
  const addresses = nodes.map(({ port }) => `127.0.0.1:${port}`);
  const howMany = ['--cluster-replicas', replicas, '--cluster-yes'];
  await nodes[0]?.cli('--cluster', 'create', ...addresses, ...howMany);
  await pollUntil('every node of the Cluster serves', () => isClusterServing(nodes));
  const login = loginOf(redis.user?.password ?? '', redis.user?.name);
  return createGroup({
    url: `redis://${login}${addresses.join(',')}`,
    nodes,
    sentinels: [],
    portOfPrimary: ownerPort,
    beginFailover: async (old) => (await replicaOf(old, { nodes })).cli('CLUSTER', 'FAILOVER'),
    isServing: () => isClusterServing(nodes),
  });
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
  const serving = nodes
    .filter((each) => each.isAnswering())
    .map(async (node) => {
      const info = await node.cli('CLUSTER', 'INFO');
      return info.includes(`cluster_known_nodes:${nodes.length}\r`) && (await isServing(node));
    });
  return (await Promise.all(serving)).every(Boolean);
}

/** The slot of `{0}`, the hash tag of all keys of a relay. */
const SLOT = 13_907;

/**
 * The port of the node that has the keys of a relay.
 * @see https://redis.io/docs/latest/commands/cluster-slots/
 */
async function ownerPort(node: RedisServer): Promise<number | undefined> {
  const ranges: [first: number, last: number, owner: [host: string, port: number]][] =
    await node.json('CLUSTER', 'SLOTS');
  return ranges.find(([first, last]) => first <= SLOT && SLOT <= last)?.[2][1];
}
