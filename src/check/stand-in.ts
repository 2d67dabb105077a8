/**
 * Listens in place of the relay while the relay does not run, to see what arrives of a
 * request to the public address: whether it arrives here, with which path, and from whom.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Arrival {
  /** With the query. */
  readonly url: string;
  readonly peerAddress: string | undefined;
  readonly forwardedFor: string | undefined;
}

export interface StandIn {
  readonly port: number;
  /** The requests whose query has this word. */
  arrivalsOf(word: string): readonly Arrival[];
  stop(): void;
}

/** In the answer, so that whoever asks knows that it came from here. */
export const STAND_IN_TEXT = 'sign-in-relay check';

/** Holds requests whose query has `hold=1` for `holdMs`. Rejects when the port is taken. */
export function startStandIn(
  { host, port }: { readonly host?: string; readonly port: number },
  holdMs: number,
): Promise<StandIn> {
  const arrivals: Arrival[] = [];
  const server = createServer((request, response) => {
    const { url = '', socket, headers } = request;
    arrivals.push({
      url,
      peerAddress: socket.remoteAddress,
      forwardedFor: headers['x-forwarded-for']?.toString(),
    });
    const answer = () => void response.end(STAND_IN_TEXT);
    if (url.includes('hold=1')) setTimeout(answer, holdMs).unref();
    else answer();
  });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, ...(host !== undefined && { host }) }, () => {
      resolve({
        port: (server.address() as AddressInfo).port,
        arrivalsOf: (word) => arrivals.filter(({ url }) => url.includes(word)),
        stop() {
          server.close();
          server.closeAllConnections();
        },
      });
    });
  });
}
