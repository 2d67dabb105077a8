/**
 * One server, a primary with Sentinels or a Cluster, behind what the store needs of
 * them. Only this file and failures.ts use @redis/client.
 */
import { type TracingChannel, tracingChannel } from 'node:diagnostics_channel';
import {
  ClientOfflineError,
  createClient,
  createCluster,
  createSentinel,
  ErrorReply,
} from '@redis/client';
import type { RedisAddress, RedisTarget } from './url.ts';

export interface RedisClient {
  /** To the server that has `key`, which is one that the command names, if it names any. */
  send(command: string[], key: string | undefined): Promise<unknown>;
  /** Keys are spread over several servers, by their slots. */
  readonly isCluster: boolean;
  get(key: string): Promise<string | null>;
  publish(channel: string, message: string): Promise<unknown>;
  /** Called again, it begins anew on another connection: the old one may be deaf. */
  subscribe(channel: string, onMessage: (message: string) => void): Promise<void>;
  /** The server's clock, in milliseconds; of a Cluster the one that is furthest ahead. */
  time(): Promise<number>;
  /** What one server says of itself: INFO, and its `save` where it may be asked. */
  describe(): Promise<{ info: string; save: string }>;
  /** INFO replication of each primary. Absent where no replica takes over. */
  describeReplication?(): Promise<string[]>;
  close(): void;
}

/** A connection failed, with its error, or was given up; what it would have received is lost. */
export type OnCut = (error?: unknown) => void;

/** Constant and short: a store that is back is used within a second. */
const RECONNECT_MS = 200;
const CONNECT_TIMEOUT_MS = 2_000;
/** How often the Sentinels are asked who is the primary, besides being notified. */
const SENTINEL_SCAN_MS = 1_000;
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
    // One connection for all commands. Without it those that are sent at once take one
    // each and give one back, until none is left (@redis/client 6.3.1).
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
    publish: (channel, message) => sentinel.publish(channel, message),
    async subscribe(channel, onMessage) {
      // Valkey refuses to end a subscription where there is none.
      if (isSubscribed) await sentinel.unsubscribe(channel);
      isSubscribed = false;
      await sentinel.subscribe(channel, onMessage);
      isSubscribed = true;
    },
    time: () => timeOf(sentinel),
    describe: () => describe(sentinel),
    describeReplication: async () => [await sentinel.info('replication')],
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
  }
  cluster.on('error', onCut);
  cluster.on('node-error', onCut);
  signal.addEventListener('abort', close);
  await cluster.connect();
  const clients = () => Promise.all(cluster.masters.map((node) => cluster.nodeClient(node)));
  return {
    send: (command, key) => cluster.sendCommand(key, false, command),
    isCluster: true,
    get: (key) => cluster.get(key),
    publish: (channel, message) => cluster.publish(channel, message),
    subscribe: subscriber.subscribe,
    async time() {
      return Math.max(...(await Promise.all((await clients()).map(timeOf))));
    },
    async describe() {
      const [master] = cluster.masters;
      if (master === undefined) return { info: '', save: '' };
      return describe(await cluster.nodeClient(master));
    },
    describeReplication: async () =>
      Promise.all((await clients()).map((client) => client.info('replication'))),
    close,
  };
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
