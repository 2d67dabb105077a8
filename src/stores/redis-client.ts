/** The three kinds of Redis client behind what the store needs of them. Alone knows @redis/client. */
import {
  ClientOfflineError,
  createClient,
  createCluster,
  createSentinel,
  ErrorReply,
} from '@redis/client';
import type { RedisTarget } from './redis-url.ts';

type OnError = (error: Error) => void;

export interface ScriptCall {
  readonly keys: string[];
  readonly arguments: string[];
}

export interface ScriptRunner {
  evalSha(sha1: string, call: ScriptCall): Promise<unknown>;
  eval(script: string, call: ScriptCall): Promise<unknown>;
}

export interface Claimer extends ScriptRunner {
  /** Whether a replica has what had been written when this claimer last asked for something. */
  isReplicated(): Promise<boolean>;
}

export interface RedisClient extends ScriptRunner {
  readonly isCluster: boolean;
  /** A replica takes over by itself, and what it does not know is undone. */
  readonly mayFailOver: boolean;
  get(key: string): Promise<string | null>;
  /** Runs scripts of which it matters whether a failover may forget them. */
  asClaimer<T>(run: (claimer: Claimer) => Promise<T>): Promise<T>;
  publish(channel: string, message: string): Promise<unknown>;
  /** Called again, it begins anew on another connection: the old one may be deaf. */
  subscribe(channel: string, onMessage: (message: string) => void): Promise<void>;
  /** The server's clock, in milliseconds; of a Cluster the one that is furthest ahead. */
  time(): Promise<number>;
  /** What one server says of itself: INFO, and its `save` where it may be asked. */
  describe(): Promise<{ info: string; save: string }>;
  close(): void;
}

/** Constant and short: a store that is back is used within a second. */
const RECONNECT_MS = 200;
const CONNECT_TIMEOUT_MS = 2_000;
/** A primary that is cut off must not keep a device waiting longer than this for its tokens. */
const CONFIRM_MS = 500;
/** How often the Sentinels are asked who is the primary, besides hearing of it. */
const SENTINEL_SCAN_MS = 1_000;
/**
 * The client's own, which would not stop a command that is written, costs a tenth
 * of the relay's processor time. redis-commands.ts has one that costs nothing.
 */
const NO_TIMEOUT = { commandOptions: { timeout: 0 } };
/** Claims wait for a replica on connections of their own, so that nothing waits behind them. */
const CLAIM_CONNECTIONS = 8;

/** Connects once; later losses are mended behind the scenes. Rejects when nobody answers. */
export async function connectRedis(target: RedisTarget, onError: OnError): Promise<RedisClient> {
  switch (target.type) {
    case 'single':
      return connectSingle(target, onError);
    case 'cluster':
      return connectCluster(target, onError);
    case 'sentinel':
      return connectSentinel(target, onError);
  }
}

/** The server said no. */
export function isAnswer(error: unknown): boolean {
  return error instanceof ErrorReply;
}

/** The server said no, or was not asked. After any other failure it is unknown what became of the command. */
export function isRefusal(error: unknown): boolean {
  return isAnswer(error) || error instanceof ClientOfflineError;
}

function optionsOf({ tls, username, password, database }: RedisTarget) {
  return {
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(database !== undefined && { database }),
    // While the store is away an answer is owed at once, not when it returns.
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

const isReplicated = async () => true;

async function connectSingle(target: RedisTarget, onError: OnError): Promise<RedisClient> {
  const { socket, ...options } = optionsOf(target);
  const [address] = target.addresses;
  const client = createClient({ ...options, socket: { ...socket, ...address } });
  let subscriber = client.duplicate();
  client.on('error', onError);
  await client.connect();
  const runner = runnerOf(client);
  return {
    ...runner,
    isCluster: false,
    mayFailOver: false,
    get: (key) => client.get(key),
    asClaimer: (run) => run({ ...runner, isReplicated }),
    publish: (channel, message) => client.publish(channel, message),
    async subscribe(channel, onMessage) {
      subscriber.destroy();
      subscriber = client.duplicate();
      subscriber.on('error', onError);
      await subscriber.connect();
      await subscriber.subscribe(channel, onMessage);
    },
    time: () => timeOf(client),
    describe: () => describe(client),
    close() {
      client.destroy();
      subscriber.destroy();
    },
  };
}

async function connectCluster(target: RedisTarget, onError: OnError): Promise<RedisClient> {
  const { socket, ...defaults } = optionsOf(target);
  const rootNodes = target.addresses.map((address) => ({
    ...defaults,
    socket: { ...socket, ...address },
  }));
  const cluster = createCluster({ rootNodes, defaults: { ...defaults, socket }, ...NO_TIMEOUT });
  cluster.on('error', onError);
  cluster.on('node-error', onError);
  await cluster.connect();
  const runner = runnerOf(cluster);
  return {
    ...runner,
    isCluster: true,
    mayFailOver: false,
    get: (key) => cluster.get(key),
    asClaimer: (run) => run({ ...runner, isReplicated }),
    // Sharded: a message goes to the instance's own shard, not to every node. Redis 7.
    publish: (channel, message) => cluster.sPublish(channel, message),
    async subscribe(channel, onMessage) {
      await cluster.sUnsubscribe(channel);
      await cluster.sSubscribe(channel, onMessage);
    },
    async time() {
      const times = cluster.masters.map(async (node) => timeOf(await cluster.nodeClient(node)));
      return Math.max(...(await Promise.all(times)));
    },
    async describe() {
      const [master] = cluster.masters;
      if (master === undefined) return { info: '', save: '' };
      return describe(await cluster.nodeClient(master));
    },
    close: () => cluster.destroy(),
  };
}

async function connectSentinel(target: RedisTarget, onError: OnError): Promise<RedisClient> {
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
  sentinel.on('error', onError);
  sentinel.on('client-error', onError);
  await sentinel.connect();
  let isSubscribed = false;
  return {
    ...runnerOf(sentinel),
    isCluster: false,
    mayFailOver: true,
    get: (key) => sentinel.get(key),
    // A claim that only the old primary knew would come back with the new one.
    // WAIT speaks of its own connection's writes, so both go by the same one.
    asClaimer: (run) =>
      sentinel.use((client) =>
        run({
          ...runnerOf(client),
          isReplicated: async () => (await client.wait(1, CONFIRM_MS)) >= 1,
        }),
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
    close: () => void sentinel.destroy(),
  };
}

/** Bound, because the clients' methods are not. */
function runnerOf(client: ScriptRunner): ScriptRunner {
  return {
    evalSha: (sha1, call) => client.evalSha(sha1, call),
    eval: (script, call) => client.eval(script, call),
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
  // An ACL may forbid CONFIG; then nothing is known, and nothing is said.
  const { save = '' } = await client.configGet('save').catch(() => ({ save: '' }));
  return { info, save };
}
