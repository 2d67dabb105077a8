/** Asks over a new connection each millisecond until there is an answer. */

export const HEALTH = 'GET /health HTTP/1.1\r\nHost: relay.test\r\nConnection: close\r\n\r\n';
export const PING = 'PING\r\n';

const PATIENCE_MS = 20_000;

export async function untilAnswered(port: number, request: string): Promise<void> {
  const endMs = performance.now() + PATIENCE_MS;
  while (performance.now() < endMs) {
    if (await isAnswered(port, request)) return;
    await Bun.sleep(1);
  }
  throw new Error(`nobody answers on port ${port}`);
}

function isAnswered(port: number, request: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = Bun.connect({
    hostname: '127.0.0.1',
    port,
    socket: {
      open: (opened) => void opened.write(request),
      data(opened) {
        resolve(true);
        opened.end();
      },
      close: () => resolve(false),
      connectError: () => resolve(false),
      error: () => resolve(false),
    },
  });
  socket.catch(() => resolve(false));
  return promise;
}
