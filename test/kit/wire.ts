/** A TCP proxy that keeps every byte in both directions. */
import { connect, createServer, type Socket } from 'node:net';
import { findFreePort } from './process.ts';

export interface RecordingProxy extends Disposable {
  readonly url: string;
  /** All bytes so far. */
  bytes(): Buffer;
  /** From now on to this port. */
  forwardTo(port: number): void;
}

/** Listens at once, and connects to a port that is told later. */
export async function startRecordingProxy(): Promise<RecordingProxy> {
  const port = await findFreePort();
  const parts: Buffer[] = [];
  const sockets = new Set<Socket>();
  let target = 0;
  const server = createServer((near) => {
    const far = connect(target, '127.0.0.1');
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on('error', () => to.destroy());
      from.on('data', (part) => parts.push(Buffer.from(part)));
      from.pipe(to);
    }
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${port}`,
    bytes: () => Buffer.concat(parts),
    forwardTo(next) {
      target = next;
    },
    [Symbol.dispose]() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
