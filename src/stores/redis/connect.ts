/**
 * One server, a primary with Sentinels or a Cluster, behind what the store needs of
 * them. Only this file and failures.ts use @redis/client.
 */
import { type TracingChannel, tracingChannel } from 'node:diagnostics_channel';
import {
  ClientOfflineError,
  createClient,
  createClientPool,
  createCluster,
  createSentinel,
  ErrorReply,
} from '@redis/client';
import { isAnswer, reasonOf } from './failures.ts';
import { slotOf } from './records.ts';
import type { RedisAddress, RedisTarget } from './url.ts';

/** Where commands go: to a server, or to whichever server has a key. */
export interface Sender {
  /** `key` is one that the command names, if it names any. */
  send(command: string[], key: string | undefined): Promise<unknown>;
}

/** One connection to the server that has a certain key. */
export interface Claimer extends Sender {
  /** A replica may take over from this server, and what it does not know is undone. */
  readonly mayFailOver: boolean;
  /** Whether a replica has what was written when this claimer last asked for something. */
  isReplicated(): Promise<boolean>;
}

export interface RedisClient extends Sender {
  /** Keys are spread over several servers, by their slots. */
  readonly isCluster: boolean;
  get(key: string): Promise<string | null>;
  /**
   * Runs scripts on this key of which it matters whether a failover may forget them.
   * Absent where no replica takes over: then `send` will do.
   */
  asClaimer?<T>(key: string, run: (claimer: Claimer) => Promise<T>): Promise<T>;
  publish(channel: string, message: string): Promise<unknown>;
  /** Called again, it begins anew on another connection: the old one may be deaf. */
  subscribe(channel: string, onMessage: (message: string) => void): Promise<void>;
  /** The server's clock, in milliseconds; of a Cluster the one that is furthest ahead. */
  time(): Promise<number>;
  /** What one server says of itself: INFO, and its `save` where it may be asked. */
  describe(): Promise<{ info: string; save: string }>;
  close(): void;
}

/** A connection failed, with its error, or was given up; what it would have received is lost. */
export type OnCut = (error?: unknown) => void;

/** Constant and short: a store that is back is used within a second. */
const RECONNECT_MS = 200;
const CONNECT_TIMEOUT_MS = 2_000;
/** A primary that is cut off must not keep a device waiting longer than this for its tokens. */
const REPLICA_MS = 500;
/** How often the Sentinels are asked who is the primary, besides being notified. */
const SENTINEL_SCAN_MS = 1_000;
/** Claims wait for a replica on connections of their own, so that nothing waits behind them. */
const CLAIM_CONNECTIONS = 8;
/** How long a master of a Cluster is taken to have replicas, or none, before it is asked again. */
const REPLICAS_KNOWN_MS = 1_000;
/**
 * The client's own, which would not stop a command that is written, costs a tenth
 * of the relay's processor time. commands.ts has one that costs nothing.
 */
const NO_TIMEOUT = { commandOptions: { timeout: 0 } };

/*
 * Bun 1.4 lacks `hasSubscribers`, which Node has since 20.13, so the client would describe
 * each command to nobody: a quarter of what a command costs.
 */
const tracing: object = Object.getPrototypeOf(tracingChannel('sign-in-relay'));
if (!('hasSubscribers' in tracing)) {
  Object.defineProperty(tracing, 'hasSubscribers', {
    configurable: true,
    get(this: TracingChannel) {
      const { start, end, asyncStart, asyncEnd, error } = this;
      const isStarted = start.hasSubscribers || end.hasSubscribers;
      const isAsync = asyncStart.hasSubscribers || asyncEnd.hasSubscribers;
      return isStarted || isAsync || error.hasSubscribers;
    },
  });
}

/**
 * Connects; later losses are repaired in the background. May reject at the first
 * failure, or try on until it is told by `signal` to stop.
 */
export async function connectRedis(
  target: RedisTarget,
  onCut: OnCut,
  signal: AbortSignal,
): Promise<RedisClient> {
  switch (target.type) {
    case 'single':
      return connectSingle(target, onCut, signal);
    case 'cluster':
      return connectCluster(target, onCut, signal);
    case 'sentinel':
      return connectSentinel(target, onCut, signal);
  }
}

async function connectSingle(
  target: RedisTarget,
  onCut: OnCut,
  signal: AbortSignal,
): Promise<RedisClient> {
  const { socket, ...options } = optionsOf(target);
  const [address] = target.addresses;
  let isConnected = false;
  // The first failure is told; only what was connected once is connected again.
  const reconnectStrategy = () => isConnected && RECONNECT_MS;
  const client = createClient({ ...options, socket: { ...socket, ...address, reconnectStrategy } });
  const subscriber = createSubscriber(target, () => address, onCut);
  function close(): void {
    client.destroy();
    subscriber.close();
  }
  client.on('error', onCut);
  signal.addEventListener('abort', close);
  await client.connect();
  isConnected = true;
  return {
    send: (command) => client.sendCommand(command),
    isCluster: false,
    get: (key) => client.get(key),
    publish: (channel, message) => client.publish(channel, message),
    subscribe: subscriber.subscribe,
    time: () => timeOf(client),
    describe: () => describe(client),
    close,
  };
}

/** A primary that Sentinels know, and its replicas. */
async function connectSentinel(
  target: RedisTarget,
  onCut: OnCut,
  signal: AbortSignal,
): Promise<RedisClient> {
  const { socket, ...options } = optionsOf(target);
  const sentinel = createSentinel({
    name: target.primaryName ?? '',
    sentinelRootNodes: [...target.addresses],
    nodeClientOptions: { ...options, socket },
    sentinelClientOptions: { socket, disableClientInfo: true },
    masterPoolSize: 1 + CLAIM_CONNECTIONS,
    // One for everything but claims. Without it commands that are sent at once take a
    // connection each and give one back, until none is left (@redis/client 6.3.1).
    reserveClient: true,
    // It would send a command again, to another primary and as late as it comes.
    maxCommandRediscovers: 0,
    passthroughClientErrorEvents: true,
    scanInterval: SENTINEL_SCAN_MS,
  });
  sentinel.on('error', onCut);
  sentinel.on('client-error', ({ error }) => onCut(error));
  // It leaves the old primary without an error, and with it the connection that listens.
  sentinel.on('topology-change', ({ type }) => {
    if (type === 'MASTER_CHANGE') onCut();
  });
  const close = () => void sentinel.destroy().catch(() => {});
  signal.addEventListener('abort', close);
  await sentinel.connect();
  let isSubscribed = false;
  return {
    send: (command) => sentinel.sendCommand(false, command),
    isCluster: false,
    get: (key) => sentinel.get(key),
    asClaimer: (_key, run) =>
      sentinel.use((client) =>
        run(claimerOf(client, (command) => client.sendCommand(false, command))),
      ),
    publish: (channel, message) => sentinel.publish(channel, message),
    async subscribe(channel, onMessage) {
      // Valkey refuses to end a subscription where there is none.
      if (isSubscribed) await sentinel.unsubscribe(channel);
      isSubscribed = false;
      await sentinel.subscribe(channel, onMessage);
      isSubscribed = true;
    },
    time: () => timeOf(sentinel),
    describe: () => sentinel.use((client) => describe(client)),
    close,
  };
}

/** Several masters, each with its share of the slots, and with replicas or without. */
async function connectCluster(
  target: RedisTarget,
  onCut: OnCut,
  signal: AbortSignal,
): Promise<RedisClient> {
  const { socket, ...defaults } = optionsOf(target);
  const rootNodes = target.addresses.map((address) => ({
    ...defaults,
    socket: { ...socket, ...address },
  }));
  const cluster = createCluster({ rootNodes, defaults: { ...defaults, socket }, ...NO_TIMEOUT });
  const claimers = createClusterClaimers(target, onCut);
  let turn = Math.floor(Math.random() * target.addresses.length);
  // Any node passes on what any other one publishes. Another one each time, because one may be down.
  const subscriber = createSubscriber(
    target,
    () => cluster.masters[turn++ % cluster.masters.length],
    onCut,
  );
  function close(): void {
    cluster.destroy();
    subscriber.close();
    claimers.close();
  }
  cluster.on('error', onCut);
  cluster.on('node-error', onCut);
  signal.addEventListener('abort', close);
  await cluster.connect();
  return {
    send: (command, key) => cluster.sendCommand(key, false, command),
    isCluster: true,
    get: (key) => cluster.get(key),
    async asClaimer(key, run) {
      const master = cluster.slots[slotOf(key)]?.master;
      if (!master?.client?.isReady) throw new ClientOfflineError();
      try {
        return await claimers.use(master, run);
      } catch (error) {
        // The slot has moved. A read by the cluster's own connections finds out where.
        if (isRedirection(error)) await cluster.get(key);
        throw error;
      }
    },
    publish: (channel, message) => cluster.publish(channel, message),
    subscribe: subscriber.subscribe,
    async time() {
      claimers.keepOnly(cluster.masters);
      const times = cluster.masters.map(async (node) => timeOf(await cluster.nodeClient(node)));
      return Math.max(...(await Promise.all(times)));
    },
    async describe() {
      const [master] = cluster.masters;
      if (master === undefined) return { info: '', save: '' };
      return describe(await cluster.nodeClient(master));
    },
    close,
  };
}

/** Connections for claims, to each master of a Cluster that was asked for one. */
function createClusterClaimers(target: RedisTarget, onCut: OnCut) {
  const { socket, ...options } = optionsOf(target);

  function createPool({ host, port }: RedisAddress) {
    const pool = createClientPool(
      { ...options, socket: { ...socket, host, port } },
      { minimum: 1, maximum: CLAIM_CONNECTIONS },
    );
    pool.on('error', onCut);
    return { pool, connected: pool.connect(), replicas: { are: false, knownUntilMs: 0 } };
  }
  const byAddress = new Map<string, ReturnType<typeof createPool>>();
  const nameOf = ({ host, port }: RedisAddress) => `${host}:${port}`;
  let isClosed = false;

  function end({ pool, connected }: ReturnType<typeof createPool>): void {
    pool.destroy();
    // A pool that is destroyed while it connects would keep that connection.
    connected.then(
      () => pool.destroy(),
      () => {},
    );
  }

  return {
    async use<T>(address: RedisAddress, run: (claimer: Claimer) => Promise<T>): Promise<T> {
      if (isClosed) throw new ClientOfflineError();
      const name = nameOf(address);
      const entry = byAddress.get(name) ?? createPool(address);
      byAddress.set(name, entry);
      try {
        await entry.connected;
      } catch (error) {
        byAddress.delete(name);
        end(entry);
        throw error;
      }
      const { pool, replicas } = entry;
      return pool.execute(async (client) => {
        if (performance.now() >= replicas.knownUntilMs) {
          const asked = [
            ['CLUSTER', 'NODES'],
            ['INFO', 'replication'],
          ];
          const answers = asked.map((command) => client.sendCommand(command));
          const [nodes, info] = await Promise.all(answers);
          replicas.are = hasReplicas(String(nodes), String(info));
          replicas.knownUntilMs = performance.now() + REPLICAS_KNOWN_MS;
        }
        return run(claimerOf(client, (command) => client.sendCommand(command), replicas.are));
      });
    },
    /** A server that is no master any more may never come back. */
    keepOnly(masters: readonly RedisAddress[]): void {
      const names = new Set(masters.map(nameOf));
      for (const [name, entry] of byAddress) {
        if (names.has(name)) continue;
        byAddress.delete(name);
        end(entry);
      }
    },
    close() {
      isClosed = true;
      for (const entry of byAddress.values()) end(entry);
    },
  };
}

/**
 * Whether the master that answers has any, in order or not. One that has just been
 * attached is not among the nodes for some seconds, one that is down is nowhere else.
 * https://redis.io/docs/latest/commands/cluster-nodes/, https://redis.io/docs/latest/commands/info/
 */
function hasReplicas(clusterNodes: string, info: string): boolean {
  if (/^connected_slaves:[1-9]/m.test(info)) return true;
  const nodes = clusterNodes.split('\n').map((line) => line.split(' '));
  const [own] = nodes.find(([, , flags]) => flags?.startsWith('myself')) ?? [];
  return nodes.some(([, , , masterId]) => masterId === own);
}

/** Subscribes on a connection of its own, to where `addressOf` says. */
function createSubscriber(
  target: RedisTarget,
  addressOf: () => RedisAddress | undefined,
  onCut: OnCut,
) {
  const { socket, ...options } = optionsOf(target);
  let close: () => void = () => {};
  return {
    async subscribe(channel: string, onMessage: (message: string) => void): Promise<void> {
      close();
      const address = addressOf();
      if (address === undefined) throw new ClientOfflineError();
      const { host, port } = address;
      const client = createClient({ ...options, socket: { ...socket, host, port } });
      close = () => client.destroy();
      client.on('error', onCut);
      await client.connect();
      await client.subscribe(channel, onMessage);
    },
    close: () => close(),
  };
}

function optionsOf({ tls, username, password, database }: RedisTarget) {
  return {
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(database !== undefined && { database }),
    // While the store is unreachable, a command fails at once and does not wait for it.
    disableOfflineQueue: true,
    // From Redis 7.2 on it would say what it is: one right more that an ACL has to give.
    disableClientInfo: true,
    ...NO_TIMEOUT,
    socket: {
      connectTimeout: CONNECT_TIMEOUT_MS,
      reconnectStrategy: () => RECONNECT_MS,
      ...(tls && { tls: true as const }),
    },
  };
}

/** WAIT speaks of what its own connection has written, so claims and WAIT share one. */
function claimerOf(
  client: { wait(replicas: number, timeoutMs: number): Promise<number> },
  send: Sender['send'],
  mayFailOver = true,
): Claimer {
  return {
    send,
    mayFailOver,
    isReplicated: async () => !mayFailOver || (await client.wait(1, REPLICA_MS)) >= 1,
  };
}

async function timeOf(client: { time(): Promise<readonly string[]> }): Promise<number> {
  const [seconds, microseconds] = await client.time();
  return Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000);
}

async function describe(client: {
  info(): Promise<string>;
  configGet(name: string): Promise<Record<string, string>>;
}) {
  const info = await client.info();
  const { save = '' } = await client.configGet('save').catch((error: unknown) => {
    // An ACL may forbid CONFIG; then nothing is known, so there is no warning.
    if (error instanceof ErrorReply) return { save: '' };
    throw error;
  });
  return { info, save };
}

const isRedirection = (error: unknown) =>
  isAnswer(error) && ['MOVED', 'ASK'].includes(reasonOf(error));
