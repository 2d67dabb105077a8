/**
 * One server, a primary that Sentinels know, or a Cluster: each by the client of @redis/client
 * for it, which reconnects and follows the topology by itself. One thing is added: a client on
 * which a command got no reply in time is replaced by a new one, since the library does not
 * notice a server that is frozen, or whose address has moved. The heartbeat (notices.ts) is such a
 * command, so this needs no pings.
 * Only the files of this folder use the library.
 */
import { createClient, createCluster, createSentinel, ErrorReply } from '@redis/client';
import { describeConnectFailure, PrimaryFailure } from './failures.ts';
import type { RedisTarget } from './url.ts';

const CONNECT_TIMEOUT_MS = 1_000;
/** How often the Sentinels are asked, besides what they publish. */
const SCAN_INTERVAL_MS = 1_000;
/** How long a replacement may take to connect before it is abandoned and tried again. */
const REPLACE_MS = 2_000;
/** Short, so that a store that answers again is used within a second. */
const reconnectStrategy = (retries: number) => Math.min(50 * retries, 500);

export type RedisClient = Awaited<ReturnType<typeof connectRedis>>;

/** The methods of the three clients that the relay uses. */
interface Library {
  send(command: string[]): Promise<unknown>;
  subscribe(channel: string, onMessage: (message: string) => void): Promise<void>;
  connect(): Promise<unknown>;
  destroy(): unknown;
}

type Subscription = Parameters<Library['subscribe']>;
type OnError = (error?: unknown) => void;

/**
 * `key`: any key of the relay. In a Cluster all of them are in its slot. `onConnectionLost`: a connection
 * failed, with its error, or was replaced; what it would have received is lost. `signal` closes
 * everything. Rejects at the first failure.
 */
export async function connectRedis(
  target: RedisTarget,
  key: string,
  onConnectionLost: OnError,
  signal: AbortSignal,
) {
  let library = await connect(target, key, onConnectionLost, signal, undefined);
  signal.addEventListener('abort', () => destroy(library));
  let subscription: Subscription | undefined;
  let isReplacing = false;

  async function replace(): Promise<void> {
    if (isReplacing || signal.aborted) return;
    isReplacing = true;
    try {
      const inTime = AbortSignal.any([signal, AbortSignal.timeout(REPLACE_MS)]);
      const next = await connect(target, key, onConnectionLost, inTime, subscription);
      const old = library;
      library = next;
      destroy(signal.aborted ? next : old);
      onConnectionLost();
    } catch (error) {
      // The old one is kept: its server may answer again.
      onConnectionLost(error);
    } finally {
      isReplacing = false;
    }
  }

  const send = (command: string[]) => library.send(command);
  return {
    send,
    /** A second call subscribes over a new connection, because the old one may be half-open. */
    async subscribe(...[channel, onMessage]: Subscription): Promise<void> {
      const isFirst = subscription === undefined;
      subscription = [channel, onMessage];
      if (isFirst) await library.subscribe(channel, onMessage);
      else await replace();
    },
    /** The server's clock, in milliseconds. */
    async time(): Promise<number> {
      const [seconds, microseconds] = (await send(['TIME'])) as [string, string];
      return Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000);
    },
    /** INFO, and `save` if CONFIG is allowed. */
    async describe() {
      const info = String(await send(['INFO']));
      // A map of RESP 3, the library's default.
      const reply = await send(['CONFIG', 'GET', 'save']).catch((error: unknown) => {
        // An ACL may forbid CONFIG. Then there is no warning about `save`.
        if (error instanceof ErrorReply) return undefined;
        throw error;
      });
      const { save = '' } = Object(reply) as { readonly save?: string };
      return { info, save };
    },
    /** A command got no reply in time, or the server is no longer a primary: makes new connections. */
    reconnect: () => void replace(),
  };
}

/** Rejects at the first failure that a retry would not repair, when the library gives up, or when `signal` fires. */
async function connect(
  target: RedisTarget,
  key: string,
  onError: OnError,
  signal: AbortSignal,
  subscription: Subscription | undefined,
): Promise<Library> {
  let reject = (_: unknown) => {};
  const failed = new Promise<never>((_, fail) => {
    reject = fail;
  });
  signal.addEventListener('abort', () => reject(signal.reason));
  let isConnected = false;
  const noteError = (error: unknown) => {
    onError(error);
    const mustGiveUp = target.type === 'single' || describeConnectFailure(error, target)?.isFinal;
    if (!isConnected && mustGiveUp) reject(error);
  };
  const library = CREATE[target.type](target, noteError, key);
  failed.catch(() => {});
  try {
    const opened = library.connect().then(() => subscription && library.subscribe(...subscription));
    await Promise.race([opened, failed]);
    isConnected = true;
    return library;
  } catch (error) {
    destroy(library);
    throw error;
  }
}

const CREATE: Readonly<
  Record<RedisTarget['type'], (target: RedisTarget, onError: OnError, key: string) => Library>
> = { single: createForServer, sentinel: createForSentinel, cluster: createForCluster };

function createForServer(target: RedisTarget, onError: OnError): Library {
  const [address] = target.addresses;
  const options = optionsOf(target);
  const client = createClient({
    ...options,
    ...(target.database !== undefined && { database: target.database }),
    // While the server is unreachable, a command fails at once.
    disableOfflineQueue: true,
    socket: { ...options.socket, host: address?.host ?? '', port: address?.port ?? 0 },
  });
  const subscriber = client.duplicate();
  for (const each of [client, subscriber]) each.on('error', onError);
  return {
    send: (command) => client.sendCommand(command),
    subscribe: (channel, onMessage) => subscriber.subscribe(channel, onMessage),
    // One after the other: a wrong password is tried once.
    async connect() {
      await client.connect();
      await subscriber.connect();
    },
    destroy() {
      client.destroy();
      subscriber.destroy();
    },
  };
}

function createForSentinel(target: RedisTarget, onError: OnError): Library {
  const { primaryName: name = '', sentinelUsername: username, sentinelPassword: password } = target;
  const sentinel = createSentinel({
    name,
    sentinelRootNodes: [...target.addresses],
    nodeClientOptions: optionsOf(target),
    sentinelClientOptions: optionsOf({ tls: target.tls, username, password }),
    scanInterval: SCAN_INTERVAL_MS,
    passthroughClientErrorEvents: true,
  });
  sentinel.on('error', (error: Error) =>
    // Only its message says that it is an error of the primary, not of a Sentinel.
    onError(/^Master Client/.test(error.message) ? new PrimaryFailure(error.cause) : error),
  );
  // No connection failed, but what the old primary published since the switch is lost.
  sentinel.on('topology-change', () => onError(undefined));
  return {
    send: (command) => sentinel.sendCommand(false, command),
    subscribe: (channel, onMessage) => sentinel.subscribe(channel, onMessage),
    connect: () => sentinel.connect(),
    destroy: () => sentinel.destroy(),
  };
}

function createForCluster(target: RedisTarget, onError: OnError, key: string): Library {
  const cluster = createCluster({
    // If a node is frozen, another one is soon asked for the topology.
    rootNodes: target.addresses.map(({ host, port }) => ({
      socket: { host, port, socketTimeout: CONNECT_TIMEOUT_MS },
    })),
    defaults: optionsOf(target),
    // Connects to a node when a command needs it, so that a frozen node delays no other command.
    minimizeConnections: true,
  });
  cluster.on('error', onError);
  return {
    send: (command) => cluster.sendCommand(key, false, command),
    subscribe: (channel, onMessage) => cluster.subscribe(channel, onMessage),
    connect: () => cluster.connect(),
    destroy: () => cluster.destroy(),
  };
}

/** The options of each connection. */
function optionsOf({
  tls,
  username,
  password,
}: {
  readonly tls: boolean;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
}) {
  return {
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    // The library would send its name from Redis 7.2 on, which needs one more right in an ACL.
    disableClientInfo: true,
    // The library's own timeout does not cover a command that is written. commands.ts has one.
    commandOptions: { timeout: 0 },
    socket: {
      connectTimeout: CONNECT_TIMEOUT_MS,
      reconnectStrategy,
      ...(tls && { tls: true as const }),
    },
  };
}

function destroy(library: Library): void {
  // Commands that wait for a reply fail.
  void Promise.resolve(library.destroy()).catch(() => {});
}
