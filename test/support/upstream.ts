/** Token endpoints that behave as a test says, and what an exchange with one comes to. Real servers, the real fetch. */
import { createServer, type Server, type Socket } from 'node:net';
import { exchangeCode } from '../../src/providers/exchange.ts';
import { keepConnections } from '../../src/providers/kept-connections.ts';
import type { Provider } from '../../src/providers/provider.ts';
import { createRequestTokens } from '../../src/providers/token-endpoint.ts';
import { systemClock } from '../../src/relay/clock.ts';
import { fetchUpstream } from '../../src/serve.ts';

/** As the relay asks. */
const fetch = keepConnections(fetchUpstream);

export const GRANT = { code: 'the code', redirectUri: 'https://relay.test/auth/x/callback' };

export interface Upstream {
  readonly url: string;
  readonly requests: { method: string; headers: Headers; body: string }[];
}

const cleanUps: (() => void)[] = [];

/** For `afterEach`. */
export function stopUpstreams(): void {
  for (const cleanUp of cleanUps.splice(0)) cleanUp();
}

export function serveUpstream(
  answer: (request: Request) => Response | Promise<Response>,
): Upstream {
  const requests: Upstream['requests'] = [];
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const { method, headers } = request;
      requests.push({ method, headers, body: await request.text() });
      return answer(request);
    },
  });
  cleanUps.push(() => void server.stop(true));
  return { url: `${server.url.origin}/token`, requests };
}

/** An upstream that speaks in bytes; `nth` counts the requests of one connection, from 1. */
export async function serveBytes(
  onRequest: (socket: Socket, nth: number, request: string) => void,
): Promise<string> {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    let requests = 0;
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('data', (request) => {
      requests += 1;
      onRequest(socket, requests, String(request));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanUps.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return `http://127.0.0.1:${address.port}/token`;
}

export function providerAt(tokenUrl: string, overrides: Partial<Provider> = {}): Provider {
  return {
    name: 'x',
    displayName: 'X',
    authorizeUrl: 'https://provider.test/authorize',
    tokenUrl,
    clientId: 'client',
    clientAuth: 'post',
    pkce: 'none',
    authorizeParams: {},
    ...overrides,
  };
}

export function exchangeAt(url: string, timeoutMs?: number) {
  const requestTokens = createRequestTokens(
    fetch,
    systemClock,
    timeoutMs === undefined ? {} : { timeoutMs },
  );
  return exchangeCode(requestTokens, providerAt(url), GRANT);
}

/** The failure in one word, or 'tokens'. */
export async function outcomeAt(url: string, timeoutMs?: number): Promise<string> {
  const outcome = await exchangeAt(url, timeoutMs);
  return outcome.ok ? 'tokens' : outcome.failure.reason;
}
