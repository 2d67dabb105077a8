/** A TCP proxy that fails like networks do, and keeps every byte in both directions. */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { endWithFile } from './ending.ts';
import { findFreePort } from './process.ts';

/** `requests`: the server does not receive them. `replies`: it has executed the request, and the client does not learn of it. */
type Direction = 'requests' | 'replies';

export type CuttingProxy = Awaited<ReturnType<typeof startCuttingProxy>>;

export async function startCuttingProxy(targetPort: number) {
  const links = new Set<ReturnType<typeof createLink>>();
  let current = targetPort;
  let parts: Buffer[] = [];
  let stalled: Direction | false = false;
  let onChunk: (chunk: Buffer) => void = () => {};

  function stall(what: Direction | false): void {
    stalled = what;
    for (const link of links) link.stall(what);
  }
  function see(chunk: Buffer): void {
    parts.push(chunk);
    onChunk(chunk);
  }
  function stallFrom(argument: string, what: Direction): Promise<Buffer> {
    return new Promise((came) => {
      onChunk = (chunk) => {
        if (!chunk.includes(`\r\n${argument}\r\n`)) return;
        onChunk = () => {};
        stall(what);
        came(chunk);
      };
    });
  }
  function cutAll(): void {
    for (const link of links) link.cut();
  }
  const server = createServer((client) => {
    const link = createLink(client, connect(current, '127.0.0.1'), see);
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
  endWithFile(stop);
  return {
    /** As REDIS_URL has it, without user and password. */
    url: `redis://127.0.0.1:${port}`,
    port,
    /** Destroys every connection; bytes that are held back are lost. */
    cutAll,
    /** Holds bytes back, of new connections too, until `false`. */
    stall,
    /**
     * The same from the next command on with this argument, such as the name of a script. Resolves with
     * what was sent with that command. So a test need not know what a client asks before it.
     */
    stallFrom,
    stop,
    [Symbol.asyncDispose]: stop,
    /** New connections go to this port, as when a name or address has moved. Those that are open stay where they are. */
    moveTo(port: number) {
      current = port;
    },
    /** All that was sent in either direction since the start or the last call of `forgetBytes`. */
    bytes: () => Buffer.concat(parts),
    forgetBytes() {
      parts = [];
    },
  };
}

function createLink(client: Socket, target: Socket, see: (chunk: Buffer) => void) {
  const requests = createDirection(client, target, see);
  const replies = createDirection(target, client, see);
  return {
    stall(what: Direction | false) {
      requests.hold(what === 'requests');
      replies.hold(what === 'replies');
    },
    cut() {
      client.destroy();
      target.destroy();
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
