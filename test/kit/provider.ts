/** Mock providers: what a relay meets at a token endpoint or at an issuer. Real servers, and bytes where HTTP does not suffice. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { endWithFile } from './cleanup.ts';
import { plantSecret } from './secrets.ts';
import { createGate } from './wait.ts';

/** `using` stops it, or the end of the file. */
function stoppable(stop: () => unknown) {
  const stopNow = () => void stop();
  endWithFile(stopNow);
  return { stop: stopNow, [Symbol.dispose]: stopNow };
}

/** A token endpoint that grants `tokenFor(code)`, and counts. */
export function startTokenEndpoint() {
  const gate = createGate();
  const { url, requests, ...stop } = serveUpstream(async (_, body) => {
    await gate.pass();
    return Response.json({ access_token: tokenFor(codeIn(body)) });
  });
  return {
    ...stop,
    tokenUrl: url,
    /** While it is closed, it holds every request. */
    gate,
    /** How often this code, or refresh token, was received. */
    requestsFor: (code: string) => requests.filter(({ body }) => codeIn(body) === code).length,
  };
}

function codeIn(body: string): string {
  const form = new URLSearchParams(body);
  return form.get('code') ?? form.get('refresh_token') ?? '';
}

const tokenFor = (code: string) => plantSecret(`token-for-${code}`);

/** What a device receives for that code. */
export const tokensFor = (code: string) => ({ accessToken: tokenFor(code) });

/** An issuer that is asked for its discovery document, and answers once the test says so, or never. */
export function startSilentIssuer() {
  const gate = createGate();
  const held = gate.close();
  const { origin: issuer, ...stop } = serveUpstream(async () => {
    await gate.pass();
    return Response.json(discoveryDocumentOf(issuer));
  });
  return {
    ...stop,
    issuer,
    /** Resolves when it is asked for the first time. */
    asked: held.arrived,
    answer: held.release,
  };
}

export function discoveryDocumentOf(issuer: string) {
  return {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
  };
}

/** A server that answers as the test says, such as a relay or an app. `url` is that of a token endpoint. */
export function serveUpstream(
  answer: (request: Request, body: string) => Response | Promise<Response>,
  tls?: { readonly key: string; readonly cert: string },
) {
  const requests: { method: string; path: string; headers: Headers; body: string }[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 0,
    ...(tls && { tls }),
    async fetch(request) {
      const { method, url, headers } = request;
      const { pathname, search } = new URL(url);
      const body = await request.text();
      requests.push({ method, path: pathname + search, headers, body });
      return answer(request, body);
    },
  });
  return {
    origin: server.url.origin,
    url: `${server.url.origin}/token`,
    port: server.port,
    requests,
    ...stoppable(() => server.stop(true)),
  };
}

/** A server that speaks in bytes. `nth` counts the requests of one connection, from 1. */
export async function serveBytes(
  onRequest: (socket: Socket, nth: number, request: string) => void,
  onConnection: (socket: Socket) => void = () => {},
) {
  const sockets = new Set<Socket>();
  let requests = 0;
  const server = createServer((socket) => {
    let nth = 0;
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('data', (request) => {
      nth += 1;
      requests += 1;
      onRequest(socket, nth, String(request));
    });
    onConnection(socket);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    url: `http://127.0.0.1:${port}/token`,
    port,
    /** Requests so far, as far as each arrives in one piece. */
    requests: () => requests,
    ...stoppable(() => {
      for (const socket of sockets) socket.destroy();
      server.close();
    }),
  };
}
