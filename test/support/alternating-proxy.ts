/**
 * A load balancer at its worst: every request goes to the other relay than the
 * request before, so no two requests of a sign-in meet the same process.
 */
import {
  createServer,
  type IncomingMessage,
  request as requestHttp,
  type ServerResponse,
} from 'node:http';

/** Where it connects to the relays from; they should trust it (`TRUSTED_PROXY_CIDRS`). */
export const PROXY_ADDRESS = '127.255.0.2';

export interface AlternatingProxy {
  readonly baseUrl: string;
  stop(): void;
}

/** Listens on 127.0.0.1; port 0 takes any free one. */
export async function startAlternatingProxy(
  ports: readonly number[],
  port = 0,
): Promise<AlternatingProxy> {
  let turn = 0;
  const server = createServer((request, response) => {
    const relayPort = ports[turn % ports.length] ?? 0;
    turn += 1;
    passOn(request, response, relayPort);
  });
  // A poll is held longer than the runtime would let it wait.
  server.requestTimeout = 0;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  const address = server.address();
  const listening = typeof address === 'object' && address !== null ? address.port : port;
  return {
    baseUrl: `http://127.0.0.1:${listening}`,
    stop() {
      server.close();
      server.closeAllConnections();
    },
  };
}

function passOn(request: IncomingMessage, response: ServerResponse, port: number): void {
  const { method, url, headers, socket } = request;
  const forwardedFor = [headers['x-forwarded-for'], socket.remoteAddress]
    .filter(Boolean)
    .join(', ');
  const relay = requestHttp({
    host: '127.0.0.1',
    port,
    localAddress: PROXY_ADDRESS,
    agent: false,
    ...(method !== undefined && { method }),
    ...(url !== undefined && { path: url }),
    headers: { ...headers, 'x-forwarded-for': forwardedFor },
  });
  relay.on('response', (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
  });
  // Whoever is gone, client or relay: the other is told at once.
  relay.on('error', () => response.destroy());
  response.on('close', () => relay.destroy());
  request.pipe(relay);
}
