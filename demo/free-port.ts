import { createServer } from 'node:net';

/**
 * A port of 127.0.0.1 that was free a moment ago. The relay must be told its
 * public address before it listens, so it cannot choose the port itself.
 */
export function findFreePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      const port = typeof address === 'object' && address ? address.port : 0;
      server.close(() => resolve(port));
    });
  });
}
