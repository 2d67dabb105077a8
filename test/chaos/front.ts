/** A load balancer in front of the relays: each connection to the next one in turn, and some of them cut. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { type History, nowMs } from './history.ts';

/** What the network does to one connection. */
export interface Fate {
  /** The request is lost before any relay has it. */
  readonly losesRequest?: boolean;
  /** So many bytes of the response are passed on; then the connection is cut. */
  readonly cutAfter?: number;
}

export interface Front extends Disposable {
  readonly url: string;
  /** Cuts every connection. */
  cutAll(): void;
}

/** The header by which the history knows a request. */
export const REQUEST_ID = 'x-request-id';

const ID = new RegExp(`^${REQUEST_ID}: (\\S+)\\r$`, 'im');

export async function startFront(
  ports: readonly number[],
  decide: () => Fate,
  history: History,
): Promise<Front> {
  const sockets = new Set<Socket>();
  let turn = 0;

  function keep(socket: Socket): Socket {
    sockets.add(socket);
    // A close follows.
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
    return socket;
  }
  /** To the next relay that accepts the connection, as load balancers do: nothing was sent yet. */
  async function open(): Promise<{ readonly relay: number; readonly socket: Socket } | undefined> {
    for (let tries = 0; tries < ports.length; tries += 1) {
      const relay = turn++ % ports.length;
      const socket = keep(connect(ports[relay] ?? 0, '127.0.0.1'));
      const isOpen = await once(socket, 'connect').then(
        () => true,
        () => false,
      );
      if (isOpen) return { relay, socket };
    }
    return undefined;
  }
  async function carry(client: Socket, first: Buffer): Promise<void> {
    const { losesRequest, cutAfter = Number.POSITIVE_INFINITY } = decide();
    client.pause();
    const opened = losesRequest ? undefined : await open();
    if (opened === undefined) return void client.destroy();
    const { relay, socket } = opened;
    // It may have left while the relay was called: no close follows that we would see.
    if (client.destroyed) return void socket.destroy();
    const id = ID.exec(first.toString('latin1'))?.[1];
    if (id) history.record({ type: 'forwarded', id, relay, atMs: nowMs() });
    let passed = 0;
    socket.write(first);
    client.on('data', (chunk) => void socket.write(chunk));
    client.on('close', () => socket.destroy());
    client.resume();
    socket.on('data', (chunk: Buffer) => {
      const part = chunk.subarray(0, cutAfter - passed);
      passed += chunk.length;
      client.write(part, () => {
        if (passed >= cutAfter) client.destroy();
      });
    });
    socket.on('close', () => client.end());
  }

  const server = createServer((client) => {
    keep(client);
    client.once('data', (first: Buffer) => void carry(client, first));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  function cutAll(): void {
    for (const socket of sockets) socket.destroy();
  }
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cutAll,
    [Symbol.dispose]() {
      server.close();
      cutAll();
    },
  };
}
