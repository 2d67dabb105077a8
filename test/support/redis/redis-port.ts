import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/**
 * Below the ports that Linux gives to outgoing connections (32768 and up): one
 * of those could take the port of a server that is down for a moment, and a
 * client that keeps knocking at it can even end up connected to itself.
 */
const FIRST_PORT = 10_000;
const LAST_PORT = 22_000;

/** Nodes of a Cluster talk to each other here. */
export const BUS_OFFSET = 10_000;

/** Between the look for a free port and its use another process may take it. */
const MAX_TRIES = 5;

const given = new Set<number>();

/** A port of 127.0.0.1 that is free, and whose Cluster bus port is. Never the same one twice. */
export async function findRedisPort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST_PORT, LAST_PORT);
    if (given.has(port)) continue;
    given.add(port);
    if ((await isFree(port)) && (await isFree(port + BUS_OFFSET))) return port;
  }
}

/** Starts something on a free port, and again on another when that one was taken after all. */
export async function onFreePort<Started>(
  start: (port: number) => Promise<Started>,
): Promise<Started> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await start(await findRedisPort());
    } catch (error) {
      if (tries === MAX_TRIES || !String(error).includes('Address already in use')) throw error;
    }
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
