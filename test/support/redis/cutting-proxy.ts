/** A TCP proxy in this process, in front of a Redis, that fails as networks do. */
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { createLink, type ProxyLink, type Stalled } from './proxy-link.ts';
import { findRedisPort } from './redis-port.ts';
import { createTraffic, type TrafficCounts } from './traffic.ts';

export interface CuttingProxy {
  readonly port: number;
  /** Without user and password. */
  readonly url: string;
  /** Connections that are open now. */
  open(): number;
  /** Destroys every connection; what is held is lost. */
  cutAll(): void;
  /** Whether new connections are refused; those that are open stay. Resolves when it is so. */
  refuse(on: boolean): Promise<void>;
  /**
   * Holds bytes back, of connections to come too, until it is told `false`.
   * `requests`: Redis does not hear of them. `replies`: Redis has done what it
   * was asked, and nobody learns it.
   */
  stall(what: Stalled): void;
  /** Holds replies back from the next request on that holds `text`, such as a script's SHA-1. Resolves when it came. */
  stallRepliesTo(text: string): Promise<void>;
  /** Since the start or the last reset. Nothing is counted of TLS but connections and bytes. */
  traffic(): TrafficCounts;
  resetTraffic(): void;
  stop(): Promise<void>;
}

export async function startCuttingProxy(targetPort: number): Promise<CuttingProxy> {
  const port = await findRedisPort();
  const links = new Set<ProxyLink>();
  const traffic = createTraffic();
  let stalled: Stalled = false;
  let awaited: { readonly text: string; readonly came: () => void } | undefined;

  function take(client: Socket): void {
    const redis = connect(targetPort, '127.0.0.1');
    const meter = traffic.createMeter();
    const link = createLink(client, redis, {
      ...meter,
      takeRequest(chunk) {
        meter.takeRequest(chunk);
        if (awaited === undefined || !chunk.includes(awaited.text)) return;
        stall('replies');
        awaited.came();
        awaited = undefined;
      },
    });
    link.stall(stalled);
    links.add(link);
    client.once('close', () => links.delete(link));
  }
  const door = createDoor(port, take);
  function stall(what: Stalled): void {
    stalled = what;
    for (const link of links) link.stall(what);
  }
  function cutAll(): void {
    for (const link of links) link.cut();
  }

  await door.open();
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    open: () => links.size,
    cutAll,
    refuse: (on) => (on ? door.close() : door.open()),
    stall,
    stallRepliesTo: (text) =>
      new Promise((came) => {
        awaited = { text, came };
      }),
    traffic: traffic.counts,
    resetTraffic: traffic.reset,
    async stop() {
      await door.close();
      cutAll();
    },
  };
}

/** Where connections come in. Closed, the kernel refuses them, as for a Redis that is not there. */
function createDoor(port: number, take: (client: Socket) => void) {
  let server: Server | undefined;
  return {
    async open(): Promise<void> {
      if (server !== undefined) return;
      server = createServer(take);
      server.listen(port, '127.0.0.1');
      await once(server, 'listening');
    },
    async close(): Promise<void> {
      // Its own promise waits for the connections, which stay.
      server?.close();
      server = undefined;
    },
  };
}
