/** A real Redis Cluster on the loopback. */
import { ownerOfSlot, parseClusterNodes } from './cluster-nodes.ts';
import { pollUntil } from './poll-until.ts';
import type { RedisOptions } from './redis-options.ts';
import type { RedisServer } from './redis-server.ts';
import { startRedis } from './start-redis.ts';

export interface ClusterOptions extends Omit<RedisOptions, 'unixSocket'> {
  readonly masters?: number;
  /** Of each master. */
  readonly replicas?: number;
}

export interface RedisCluster {
  /** The address of every node. */
  readonly urls: readonly string[];
  /** Masters first; a failover does not change the order. */
  readonly nodes: readonly RedisServer[];
  /** The master that has the slot of this key now. */
  ownerOf(key: string): Promise<RedisServer>;
  /** The new master of this key, once every node that answers knows of it and serves. */
  waitForNewOwner(key: string, old: RedisServer): Promise<RedisServer>;
  /** Resolves when every node that answers serves all slots. */
  waitUntilReady(): Promise<void>;
  stop(): Promise<void>;
}

/** A master that does not answer for a second is replaced; a replica waits for no fresher one. */
const CLUSTER_ARGS = [
  ...['--cluster-enabled', 'yes'],
  ...['--cluster-node-timeout', '1000'],
  ...['--cluster-replica-validity-factor', '0'],
];

/** Resolves when every node says that the cluster is fine. */
export async function startRedisCluster(options: ClusterOptions = {}): Promise<RedisCluster> {
  const { masters = 3, replicas = 0, ...redis } = options;
  const args = [...CLUSTER_ARGS, ...(redis.args ?? [])];
  const nodes = await Promise.all(
    Array.from({ length: masters * (1 + replicas) }, () => startRedis({ ...redis, args })),
  );
  const cluster = createCluster(nodes);
  try {
    await join(nodes, replicas);
    await cluster.waitUntilReady();
  } catch (error) {
    await cluster.stop();
    throw error;
  }
  return cluster;
}

async function join(nodes: readonly RedisServer[], replicas: number): Promise<void> {
  const addresses = nodes.map(({ port }) => `127.0.0.1:${port}`);
  const howMany = ['--cluster-replicas', replicas, '--cluster-yes'];
  await nodes[0]?.cli('--cluster', 'create', ...addresses, ...howMany);
}

function createCluster(nodes: readonly RedisServer[]): RedisCluster {
  async function ask(...command: string[]): Promise<string[]> {
    return Promise.all(nodes.filter((node) => node.isAnswering()).map((n) => n.cli(...command)));
  }
  /** What the nodes that answer agree on. */
  async function findOwner(key: string): Promise<RedisServer | undefined> {
    const [slot] = await ask('CLUSTER', 'KEYSLOT', key);
    const views = (await ask('CLUSTER', 'NODES')).map(parseClusterNodes);
    const ports = new Set(views.map((view) => ownerOfSlot(view, Number(slot))));
    const [port] = ports;
    return ports.size === 1 ? nodes.find((node) => node.port === port) : undefined;
  }
  async function isReady(): Promise<true | undefined> {
    const views = (await ask('CLUSTER', 'NODES')).map(parseClusterNodes);
    const states = await ask('CLUSTER', 'INFO');
    const links = await ask('INFO', 'replication');
    const all = views.every((view) => view.length === nodes.length);
    const serving = states.every((state) => state.includes('cluster_state:ok'));
    const linked = links.every((link) => !link.includes('master_link_status:down'));
    return all && serving && linked ? true : undefined;
  }
  async function waitUntilReady(): Promise<void> {
    await pollUntil('every node of the cluster serves', isReady);
  }
  return {
    urls: nodes.map(({ url }) => url),
    nodes,
    waitUntilReady,
    ownerOf: (key) => pollUntil(`the owner of ${key} is known`, () => findOwner(key)),
    async waitForNewOwner(key, old) {
      const owner = await pollUntil(`${key} has a new owner`, async () => {
        const now = await findOwner(key);
        return now === old ? undefined : now;
      });
      await waitUntilReady();
      return owner;
    },
    async stop() {
      await Promise.all(nodes.map((node) => node.stop()));
    },
  };
}
