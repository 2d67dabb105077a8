/** A TCP proxy in front of a Redis that fails like networks do, and counts what Redis is asked. */
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { findFreePort } from '../process.ts';

/** `requests`: Redis does not receive them. `replies`: Redis has executed the command, and the client does not learn of it. */
export type Stalled = false | 'requests' | 'replies';

export interface CuttingProxy extends AsyncDisposable {
  /** Without user and password. */
  readonly url: string;
  /** Destroys every connection; bytes that are held back are lost. */
  cutAll(): void;
  /** Holds bytes back, of new connections too, until `false`. */
  stall(what: Stalled): void;
  /** Holds replies back from the next request on that contains `text`, such as a script's SHA-1. Resolves when it came. */
  stallRepliesTo(text: string): Promise<void>;
  /** Since the start or the last reset. */
  traffic(): TrafficCounts;
  resetTraffic(): void;
  stop(): Promise<void>;
}

export interface TrafficCounts {
  readonly connections: number;
  /** How often each command was sent; MULTI, EXEC and what a library sends at its start are commands too. */
  readonly commands: ReadonlyMap<string, number>;
  /** How often a client sent something while no reply was outstanding on that connection. */
  readonly roundTrips: number;
  readonly requestBytes: number;
  readonly replyBytes: number;
}

interface Link {
  stall(what: Stalled): void;
  cut(): void;
}

export async function startCuttingProxy(targetPort: number): Promise<CuttingProxy> {
  const links = new Set<Link>();
  const traffic = createTraffic();
  let stalled: Stalled = false;
  let awaited: { readonly text: string; readonly came: () => void } | undefined;

  function stall(what: Stalled): void {
    stalled = what;
    for (const link of links) link.stall(what);
  }
  function takeRequest(chunk: Buffer): void {
    if (awaited === undefined || !chunk.includes(awaited.text)) return;
    stall('replies');
    awaited.came();
    awaited = undefined;
  }
  function cutAll(): void {
    for (const link of links) link.cut();
  }
  const server: Server = createServer((client) => {
    const meter = traffic.createMeter();
    const link = createLink(client, connect(targetPort, '127.0.0.1'), {
      takeRequest(chunk) {
        meter.takeRequest(chunk);
        takeRequest(chunk);
      },
      takeReply: meter.takeReply,
    });
    link.stall(stalled);
    links.add(link);
    client.once('close', () => links.delete(link));
  });
  const port = await findFreePort();
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  async function stop(): Promise<void> {
    server.close();
    cutAll();
  }
  return {
    url: `redis://127.0.0.1:${port}`,
    ...{ cutAll, stall, stop, [Symbol.asyncDispose]: stop },
    stallRepliesTo: (text) =>
      new Promise((came) => {
        awaited = { text, came };
      }),
    traffic: traffic.counts,
    resetTraffic: traffic.reset,
  };
}

interface Meter {
  readonly takeRequest: (chunk: Buffer) => void;
  readonly takeReply: (chunk: Buffer) => void;
}

function createLink(client: Socket, redis: Socket, meter: Meter): Link {
  const requests = createDirection(client, redis, meter.takeRequest);
  const replies = createDirection(redis, client, meter.takeReply);
  return {
    stall(what) {
      requests.hold(what === 'requests');
      replies.hold(what === 'replies');
    },
    cut() {
      client.destroy();
      redis.destroy();
    },
  };
}

function createDirection(from: Socket, to: Socket, see: (chunk: Buffer) => void) {
  /** In order, the end of the connection included: a network that stalls hides that too. */
  const held: (() => void)[] = [];
  let isHeld = false;
  function pass(step: () => void): void {
    if (isHeld) held.push(step);
    else step();
  }
  from.setNoDelay(true);
  from.on('data', (chunk: Buffer) => {
    see(chunk);
    pass(() => void to.write(chunk));
  });
  from.on('close', () => pass(() => void to.end()));
  // A close follows, which is all that the other side may know.
  from.on('error', () => {});
  return {
    hold(on: boolean) {
      isHeld = on;
      if (!on) for (const step of held.splice(0)) step();
    },
  };
}

/** In RESP 3 pushes confirm a subscription, one for each channel: there is no reply. */
const HAS_NO_REPLY = /SUBSCRIBE$/;

function createTraffic() {
  const commands = new Map<string, number>();
  let [connections, roundTrips, requestBytes, replyBytes] = [0, 0, 0, 0];

  function createMeter(): Meter {
    connections += 1;
    let outstanding = 0;
    const readRequests = createRespReader((request) => {
      // *2 $3 GET $3 key, each on a line of its own.
      const name = (request.toString('latin1', 0, 80).split('\r\n')[2] ?? '').toUpperCase();
      commands.set(name, (commands.get(name) ?? 0) + 1);
      if (outstanding === 0) roundTrips += 1;
      if (!HAS_NO_REPLY.test(name)) outstanding += 1;
    });
    const readReplies = createRespReader((reply) => {
      const isPush = reply[0] === '>'.charCodeAt(0);
      if (!isPush) outstanding = Math.max(0, outstanding - 1);
    });
    return {
      takeRequest(chunk) {
        requestBytes += chunk.length;
        readRequests(chunk);
      },
      takeReply(chunk) {
        replyBytes += chunk.length;
        readReplies(chunk);
      },
    };
  }
  return {
    createMeter,
    counts: (): TrafficCounts => ({
      ...{ connections, roundTrips, requestBytes, replyBytes },
      commands: new Map(commands),
    }),
    reset() {
      [connections, roundTrips, requestBytes, replyBytes] = [0, 0, 0, 0];
      commands.clear();
    },
  };
}

const LINES = '+-:_,#(';
const BULKS = '$=!';
/** How many parts follow for each that is counted. An attribute precedes the value that it belongs to. */
const PARTS: Readonly<Record<string, number>> = { '*': 1, '~': 1, '>': 1, '%': 2, '|': 2 };

/**
 * Splits the bytes of a connection into the values of RESP 2 and 3.
 * @see https://redis.io/docs/latest/develop/reference/protocol-spec/
 */
function createRespReader(onValue: (value: Buffer) => void): (chunk: Buffer) => void {
  let rest = Buffer.alloc(0);
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    let at = 0;
    for (let end = endOfValue(rest, at); end !== undefined; end = endOfValue(rest, at)) {
      onValue(rest.subarray(at, end));
      at = end;
    }
    rest = rest.subarray(at);
  };
}

/** Where the value ends; undefined if it is incomplete. */
function endOfValue(bytes: Buffer, at: number): number | undefined {
  const lineEnd = bytes.indexOf('\r\n', at);
  if (at >= bytes.length || lineEnd === -1) return undefined;
  const type = bytes.toString('latin1', at, at + 1);
  let end: number | undefined = lineEnd + 2;
  if (LINES.includes(type)) return end;
  // -1 stands for null in RESP 2.
  const length = Number(bytes.toString('latin1', at + 1, lineEnd));
  if (BULKS.includes(type)) {
    if (length >= 0) end += length + 2;
    return end <= bytes.length ? end : undefined;
  }
  const perPart = PARTS[type];
  if (perPart === undefined) throw new Error(`no RESP: ${type}`);
  const parts = Math.max(length, 0) * perPart + (type === '|' ? 1 : 0);
  for (let part = 0; part < parts && end !== undefined; part += 1) end = endOfValue(bytes, end);
  return end;
}
