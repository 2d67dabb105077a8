/** One server, a primary with Sentinels or a Cluster, as one client. */
import { ClientOfflineError } from '@redis/client';
import { isAnswer, reasonOf } from './failures.ts';
import { type Connection, createSubscriber, describe, openLink, timeOf } from './link.ts';
import { type PrimaryEvent, watchPrimaries } from './primaries.ts';
import { addressOf, nameOf, slotOf } from './topology.ts';
import type { RedisAddress, RedisTarget } from './url.ts';

/** A slot that moves causes one or two. */
const MAX_REDIRECTIONS = 5;

export interface RedisClient {
  /** `key` is one of the keys of the command, if it has any. */
  send(command: string[], key: string | undefined): Promise<unknown>;
  /** Keys are spread over several servers, by their slots. */
  readonly isCluster: boolean;
  get(key: string): Promise<string | null>;
  publish(channel: string, message: string): Promise<unknown>;
  /** Called again, it subscribes on a new connection: the old one may be half-open. */
  subscribe(channel: string, onMessage: (message: string) => void): Promise<void>;
  /** The server's clock, in milliseconds; in a Cluster the one that is furthest ahead. */
  time(): Promise<number>;
  /** INFO of one server, and its `save` setting if CONFIG is allowed. */
  describe(): Promise<{ info: string; save: string }>;
  /** INFO replication of each primary. Absent for a single server, which has no failover. */
  describeReplication?(): Promise<string[]>;
  /**
   * Leaves a server that may have been replaced, and resolves its name anew. Absent where
   * others say which server is the primary.
   */
  reconnect?(): void;
  close(): void;
}

export interface ConnectOptions {
  /** A connection failed, with its error, or was closed; what it would have received is lost. */
  readonly onCut: (error?: unknown) => void;
  readonly onEvent: (event: PrimaryEvent) => void;
  /** Closes everything. */
  readonly signal: AbortSignal;
}

/**
 * Connects, and reconnects in the background later. May reject at the first failure, or
 * retry until `signal` fires.
 */
export async function connectRedis(
  target: RedisTarget,
  options: ConnectOptions,
): Promise<RedisClient> {
  return target.type === 'single'
    ? connectSingle(target, options)
    : connectPrimaries(target, options);
}

async function connectSingle(
  target: RedisTarget,
  { onCut, signal }: ConnectOptions,
): Promise<RedisClient> {
  const [address] = target.addresses;
  if (address === undefined) throw new Error('no address');
  const link = openLink(target, address, {
    // Nobody else says whether it is the same server.
    identify: async () => '',
    onOpened: () => {},
    onLost: onCut,
  });
  const subscriber = createSubscriber(target, onCut);
  function close(): void {
    link.close();
    subscriber.close();
  }
  const perform = <T>(command: Command<T>): Promise<T> =>
    link.connection === undefined
      ? Promise.reject(new ClientOfflineError())
      : command(link.connection);
  signal.addEventListener('abort', close);
  await link.opened;
  return {
    send: (command) => perform((connection) => connection.sendCommand(command)),
    isCluster: false,
    get: (key) => perform((connection) => connection.get(key)),
    publish: (channel, message) => perform((connection) => connection.publish(channel, message)),
    subscribe: (channel, onMessage) => subscriber.subscribe(address, channel, onMessage),
    // Asked with each heartbeat: a server that does not reply is left.
    time: () => link.ask(timeOf),
    describe: () => perform(describe),
    reconnect() {
      link.reconnect();
      subscriber.reconnect();
    },
    close,
  };
}

type Command<T> = (connection: Connection) => Promise<T>;

/** MOVED and ASK: which of the two, and the address that it names. */
function redirectionOf(error: unknown, from: Connection) {
  if (!isAnswer(error)) return undefined;
  const kind = reasonOf(error);
  if (kind !== 'MOVED' && kind !== 'ASK') return undefined;
  const { host, port } = addressOf(error.message.slice(error.message.lastIndexOf(' ') + 1));
  const own = from.options?.socket as Partial<RedisAddress> | undefined;
  // Without a host: the host of the server that redirects.
  return { kind, name: nameOf({ host: host || (own?.host ?? ''), port }) };
}

/** Subscribes at a usable primary, and at another one when that is no longer usable. */
function createListener(
  target: RedisTarget,
  { onCut }: ConnectOptions,
  watch: ReturnType<typeof watchPrimaries>,
) {
  const subscriber = createSubscriber(target, onCut);
  let listening: { channel: string; onMessage: (message: string) => void; at: string } | undefined;

  async function subscribe(channel: string, onMessage: (message: string) => void): Promise<void> {
    const { name } = watch.anyLink();
    listening = { channel, onMessage, at: name };
    await subscriber.subscribe(addressOf(name), channel, onMessage);
  }

  return {
    subscribe,
    close: subscriber.close,
    move(): void {
      const names = watch.links().map(({ name }) => name);
      if (listening === undefined || names.length === 0 || names.includes(listening.at)) return;
      // Called last: messages published meanwhile were missed.
      subscribe(listening.channel, listening.onMessage).then(onCut, () => {});
    },
  };
}

/** A primary that Sentinels know, or the masters of a Cluster, each with its share of the slots. */
async function connectPrimaries(
  target: RedisTarget,
  options: ConnectOptions,
): Promise<RedisClient> {
  const isCluster = target.type === 'cluster';
  const watch = watchPrimaries(target, { ...options, onLooked: () => listener.move() });
  const listener = createListener(target, options, watch);

  function close(): void {
    watch.close();
    listener.close();
  }

  async function perform<T>(key: string | undefined, command: Command<T>): Promise<T> {
    if (!watch.hasLooked()) await watch.untilLooked();
    const connection =
      key === undefined
        ? watch.anyLink().connection
        : watch.connectionFor(isCluster ? slotOf(key) : 0);
    if (connection === undefined) throw new ClientOfflineError();
    try {
      return await command(connection);
    } catch (error) {
      return redirect(error, connection, command, MAX_REDIRECTIONS);
    }
  }

  async function redirect<T>(
    error: unknown,
    from: Connection,
    command: Command<T>,
    left: number,
  ): Promise<T> {
    const redirection = redirectionOf(error, from);
    if (redirection === undefined || left === 0) throw error;
    watch.lookSoon();
    const connection = await watch.connectionAt(redirection.name);
    const isAsk = redirection.kind === 'ASK';
    const asking = isAsk ? connection.sendCommand(['ASKING']) : undefined;
    try {
      const [, reply] = await Promise.all([asking, command(connection)]);
      return reply;
    } catch (next) {
      return redirect(next, connection, command, left - 1);
    }
  }

  async function askAll<T>(command: Command<T>): Promise<T[]> {
    const asked = watch.links().map(({ connection }) => connection && command(connection));
    if (asked.length === 0) throw new ClientOfflineError();
    return Promise.all(asked.filter((each) => each !== undefined));
  }

  options.signal.addEventListener('abort', close);
  try {
    await watch.start();
  } catch (error) {
    close();
    throw error;
  }
  return {
    send: (command, key) => perform(key, (connection) => connection.sendCommand(command)),
    isCluster,
    get: (key) => perform(key, (connection) => connection.get(key)),
    publish: (channel, message) =>
      perform(undefined, (connection) => connection.publish(channel, message)),
    subscribe: listener.subscribe,
    time: async () => Math.max(...(await askAll(timeOf))),
    describe: () => perform(undefined, describe),
    describeReplication: () => askAll((connection) => connection.info('replication')),
    close,
  };
}
