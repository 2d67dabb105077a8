/** All that an operator may set REDIS_URL to, with one interface, for tests of what happens when it fails as a whole. */
import { openRaw, type RawConnection } from '../sockets.ts';
import { pollUntil } from '../wait.ts';
import { startRedisCluster, startRedisSentinel } from './groups.ts';
import { type RedisServer, startRedis } from './server.ts';

export interface RedisDeployment extends AsyncDisposable {
  readonly url: string;
  /** The same for a user who may do everything, and whose connections can be cut alone. */
  readonly urlOfOtherUser: string;
  /** All that hold data, replicas too. */
  readonly nodes: readonly RedisServer[];
  /** Every server closes its clients' connections, or those of the other user alone. Resolves when all have. */
  cutConnections(whose?: 'of other user'): Promise<void>;
  /** Of all servers at once, Sentinels too, like all that follows. */
  kill(): Promise<void>;
  /** Empty, on the same ports. Resolves when it serves. */
  restart(): Promise<void>;
  freeze(): Promise<void>;
  thaw(): void;
  stop(): Promise<void>;
}

/** Longer than any outage that a test makes: after it the same servers have the same roles. */
const NO_FAILOVER = ['--cluster-node-timeout', '60000'];

/** `describe.each` takes them. Each replica is the only one of its primary. */
export const DEPLOYMENTS: readonly [name: string, start: () => Promise<RedisDeployment>][] = [
  [
    'one server',
    async () => {
      const redis = await startRedis();
      return createDeployment({ url: redis.url, nodes: [redis] });
    },
  ],
  ['Sentinel', async () => createDeployment(await startRedisSentinel({ replicas: 1 }))],
  [
    'a Cluster',
    async () => createDeployment(await startRedisCluster({ replicas: 1, args: NO_FAILOVER })),
  ],
];

interface Servers {
  readonly url: string;
  readonly nodes: readonly RedisServer[];
  readonly sentinels?: readonly RedisServer[];
}

const OTHER_USER = 'other';

async function createDeployment({ url, nodes, sentinels = [] }: Servers): Promise<RedisDeployment> {
  const servers = [...nodes, ...sentinels];
  const all = (act: (server: RedisServer) => Promise<unknown>) => Promise.all(servers.map(act));
  await Promise.all(
    nodes.map((node) =>
      node.cli('ACL', 'SETUSER', OTHER_USER, 'on', 'nopass', '~*', '&*', '+@all'),
    ),
  );
  const connections: RawConnection[] = [];
  const cutters = new Map<RedisServer, RawConnection>();
  let cuts = 0;

  function connectTo({ url: address }: RedisServer): RawConnection {
    const connection = openRaw(address);
    connections.push(connection);
    return connection;
  }
  /** On a connection that stays: a program for each cut would take longer than there is between two. */
  async function cut(server: RedisServer, filters: readonly string[], end: string): Promise<void> {
    const connection = cutters.get(server) ?? connectTo(server);
    cutters.set(server, connection);
    const commands = filters.map((filter) => `CLIENT KILL ${filter} SKIPME yes`);
    await connection.send([...commands, `PING ${end}`, ''].join('\r\n'));
    const received = await connection.until(`${end}\r\n`);
    if (/^-/m.test(received)) throw new Error(`not cut: ${received}`);
  }
  async function stop(): Promise<void> {
    for (const connection of connections) connection.leave();
    await all((server) => server.stop());
  }

  return {
    url,
    urlOfOtherUser: url.replace('://', `://${OTHER_USER}:any@`),
    nodes,
    async cutConnections(whose) {
      cuts += 1;
      const end = `cut-${cuts}`;
      // Sentinels know no other user.
      if (whose) await Promise.all(nodes.map((node) => cut(node, [`USER ${OTHER_USER}`], end)));
      else await all((server) => cut(server, ['TYPE normal', 'TYPE pubsub'], end));
    },
    kill: async () => void (await all((server) => server.kill())),
    async restart() {
      await all((server) => server.restart());
      await pollUntil('all of Redis serves', async () => {
        const serving = await Promise.all(nodes.map(isServing));
        return serving.every(Boolean);
      });
    },
    freeze: async () => void (await all((server) => server.freeze())),
    thaw() {
      for (const server of servers) server.thaw();
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** It has all of its data and, in a Cluster, every slot has a master. */
async function isServing(node: RedisServer): Promise<boolean> {
  const info = await node.cli('INFO');
  if (info.includes('master_link_status:down') || info.includes('loading:1')) return false;
  if (!info.includes('cluster_enabled:1')) return true;
  return (await node.cli('CLUSTER', 'INFO')).includes('cluster_state:ok');
}
