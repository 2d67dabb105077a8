/** A TCP proxy that fails like networks do, and keeps every byte in both directions. */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { endWithFile } from './cleanup.ts';
import { findFreePort } from './process.ts';

export async function startCuttingProxy(targetPort: number) {
  const links = new Set<ReturnType<typeof createLink>>();
  let current = targetPort;
  let parts: Buffer[] = [];
  let isStalled = false;
  let onChunk: (chunk: Buffer) => void = () => {};

  function stall(on: boolean): void {
    isStalled = on;
    for (const link of links) link.hold(on);
  }
  function see(chunk: Buffer): void {
    parts.push(chunk);
    onChunk(chunk);
  }
  function stallFrom(argument: string): Promise<void> {
    return new Promise((came) => {
      onChunk = (chunk) => {
        if (!chunk.includes(`\r\n${argument}\r\n`)) return;
        onChunk = () => {};
        stall(true);
        came();
      };
    });
  }
  function cutAll(): void {
    for (const link of links) link.cut();
  }
  const server = createServer((client) => {
    const link = createLink(client, connect(current, '127.0.0.1'), see);
    link.hold(isStalled);
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
    /** Holds replies back, of new connections too, until `false`: Redis has executed what was asked, and the client does not learn of it. */
    stall,
    /**
     * The same from the next command on with this argument, such as the name of a script. So a test
     * need not know what a client asks before it.
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
  /** In order, the end of the connection included: a network that stalls hides that too. */
  const held: (() => void)[] = [];
  let isHeld = false;
  function pass(step: () => void): void {
    if (isHeld) held.push(step);
    else step();
  }
  for (const socket of [client, target]) {
    socket.setNoDelay(true);
    socket.on('data', see);
    // A close follows, which is all that the other side may know.
    socket.on('error', () => {});
  }
  client.on('data', (chunk) => void target.write(chunk));
  client.on('close', () => void target.end());
  target.on('data', (chunk) => pass(() => void client.write(chunk)));
  target.on('close', () => pass(() => void client.end()));
  return {
    hold(on: boolean) {
      isHeld = on;
      if (!on) for (const step of held.splice(0)) step();
    },
    cut() {
      client.destroy();
      target.destroy();
    },
  };
}
