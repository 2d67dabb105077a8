/** One connection to one server. Only the files of this folder use @redis/client. */
import { type TracingChannel, tracingChannel } from 'node:diagnostics_channel';
import { ClientOfflineError, createClient, ErrorReply } from '@redis/client';
import { STORE_LATEST_MS } from '../../limits.ts';
import { StoreUnavailable } from '../../relay/store.ts';
import { createDeadlineQueue, type Deadline, systemClock } from '../../relay/time.ts';
import { nameOf } from './topology.ts';
import type { RedisAddress, RedisTarget } from './url.ts';

/** Constant and short: a store that answers again is used within a second. */
export const RECONNECT_MS = 200;
const CONNECT_TIMEOUT_MS = 2_000;

/*
 * Bun 1.4 lacks `hasSubscribers`, which Node has since 20.13. Without it the client would
 * describe each command although nothing subscribes: a quarter of the cost of a command.
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

/** How to reach a server, and its credentials, which are read anew for each connection. */
export type Access = Pick<RedisTarget, 'tls' | 'username' | 'password' | 'database'>;

function createConnection(
  access: Access,
  { host, port }: RedisAddress,
  reconnectStrategy: () => number | false,
) {
  const { tls, database } = access;
  return createClient({
    credentialsProvider: {
      type: 'async-credentials-provider',
      async credentials() {
        const { username, password } = access;
        return { ...(username && { username }), ...(password && { password }) };
      },
    },
    ...(database !== undefined && { database }),
    // While the store is unreachable, a command fails at once and does not wait for it.
    disableOfflineQueue: true,
    // The client would send its name from Redis 7.2 on, which needs one more right in an ACL.
    disableClientInfo: true,
    // The client's own timeout does not cover a command that is written, and costs a tenth
    // of the relay's processor time. commands.ts has a cheaper one.
    commandOptions: { timeout: 0 },
    socket: {
      host,
      port,
      reconnectStrategy,
      connectTimeout: CONNECT_TIMEOUT_MS,
      ...(tls && { tls: true as const }),
    },
  });
}

export type Connection = ReturnType<typeof createConnection>;

/**
 * A connection that is replaced after it failed, or after a reply did not come in time:
 * commands sent on the old one fail, and later replies on it are not read.
 */
export interface Link {
  readonly name: string;
  /** Undefined while there is none. */
  readonly connection: Connection | undefined;
  /** When this one was made, by `performance.now()`. */
  readonly openedAtMs: number;
  /** How long before that the last reply came, on the connection before. */
  readonly silentMs: number;
  /** The process of the server. */
  readonly serverId: string;
  /** The attempt to connect that is in progress, or was the last. */
  readonly opened: Promise<Connection>;
  /** Closes the connection if there is no reply in time. */
  ask<T>(question: (connection: Connection) => Promise<T>): Promise<T>;
  /** Replaces the connection. */
  reconnect(): void;
  close(): void;
}

export interface LinkOptions {
  /** Called on each new connection, before it is used. */
  readonly identify: (connection: Connection) => Promise<string>;
  readonly onOpened: () => void;
  readonly onLost: (error: unknown) => void;
}

/** A command that was sent longer ago is not executed any more (commands.ts). */
const answers = createDeadlineQueue(systemClock, STORE_LATEST_MS);

function inTime<T>(work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const deadline: Deadline = {
      dueAtMs: 0,
      onDue: () => reject(new StoreUnavailable('not answered in time')),
    };
    answers.add(deadline);
    work.then(resolve, reject).finally(() => answers.cancel(deadline));
  });
}

export function openLink(access: Access, address: RedisAddress, options: LinkOptions): Link {
  const { identify, onOpened, onLost } = options;
  let current: Connection | undefined;
  let opened: Promise<Connection>;
  let isOpen = false;
  let openedAtMs = 0;
  let answeredAtMs = Number.NEGATIVE_INFINITY;
  let silentMs = Number.POSITIVE_INFINITY;
  let serverId = '';
  let timer: ReturnType<typeof setTimeout> | undefined;

  function open(): void {
    const connection = createConnection(access, address, () => false);
    current = connection;
    connection.on('error', (error) => lose(connection, error));
    opened = inTime(connection.connect().then(identify)).then((id) => {
      if (current !== connection) throw new ClientOfflineError();
      isOpen = true;
      serverId = id;
      openedAtMs = performance.now();
      silentMs = openedAtMs - answeredAtMs;
      answeredAtMs = openedAtMs;
      onOpened();
      return connection;
    });
    opened.catch((error) => lose(connection, error));
  }

  function lose(connection: Connection, error: unknown): void {
    if (current !== connection) return;
    // A connection that was open is replaced at once.
    const pauseMs = isOpen ? 0 : RECONNECT_MS;
    disconnect();
    timer = setTimeout(open, pauseMs);
    onLost(error);
  }

  function disconnect(): void {
    const left = current;
    current = undefined;
    isOpen = false;
    left?.destroy();
  }

  open();
  return {
    name: nameOf(address),
    get connection() {
      return isOpen ? current : undefined;
    },
    get openedAtMs() {
      return openedAtMs;
    },
    get silentMs() {
      return silentMs;
    },
    get serverId() {
      return serverId;
    },
    get opened() {
      return opened;
    },
    async ask(question) {
      const asked = isOpen ? current : undefined;
      if (asked === undefined) throw new ClientOfflineError();
      try {
        const answer = await inTime(question(asked));
        answeredAtMs = performance.now();
        return answer;
      } catch (error) {
        if (error instanceof StoreUnavailable) lose(asked, error);
        throw error;
      }
    },
    reconnect() {
      if (isOpen && current !== undefined) lose(current, undefined);
    },
    close() {
      clearTimeout(timer);
      disconnect();
    },
  };
}

/** Subscribes on a connection of its own, which reconnects to the same server when it fails. */
export function createSubscriber(access: Access, onCut: (error?: unknown) => void) {
  let close: () => void = () => {};
  let subscribeAgain = async () => {};

  async function subscribe(
    address: RedisAddress,
    channel: string,
    onMessage: (message: string) => void,
  ): Promise<void> {
    close();
    const connection = createConnection(access, address, () => RECONNECT_MS);
    close = () => connection.destroy();
    subscribeAgain = () => subscribe(address, channel, onMessage);
    connection.on('error', onCut);
    await connection.connect();
    await connection.subscribe(channel, onMessage);
  }

  return {
    subscribe,
    /** If it fails, so do heartbeats, and then it is done again. */
    reconnect(): void {
      // Called last: messages published meanwhile were missed.
      subscribeAgain().then(
        () => onCut(),
        () => {},
      );
    },
    close: () => close(),
  };
}

export async function timeOf(connection: Connection): Promise<number> {
  const [seconds, microseconds] = await connection.time();
  return Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000);
}

/** Changes with each restart of the server. */
export async function readServerId(connection: Connection): Promise<string> {
  return /^run_id:(\w+)/m.exec(await connection.info('server'))?.[1] ?? '';
}

/** INFO, and `save` if CONFIG is allowed. */
export async function describe(connection: Connection) {
  const info = await connection.info();
  const { save = '' } = await connection.configGet('save').catch((error: unknown) => {
    // An ACL may forbid CONFIG. Then there is no warning about `save`.
    if (error instanceof ErrorReply) return { save: '' };
    throw error;
  });
  return { info, save };
}
