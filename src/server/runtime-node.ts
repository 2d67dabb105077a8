/** The relay on Node, with the adapter of Hono between node:http and a fetch handler. */
import { Buffer } from 'node:buffer';
import { once } from 'node:events';
import {
  type ClientRequest,
  createServer,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http';
import { Agent as TlsAgent, request as tlsRequest } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { type Duplex, Readable } from 'node:stream';
import { getRequestListener, type HttpBindings, RequestError } from '@hono/node-server';
import { refuse } from '../http/responses.ts';
import { HEADERS_CHECK_MS, HEADERS_DEADLINE_MS, REQUEST_BODY_BYTES } from '../limits.ts';
import { describeError, log } from '../log.ts';
import type { FetchInit } from '../providers/config.ts';
import { decode } from './decode.ts';
import type { Listener, ListenOptions, Runtime } from './runtime.ts';

export const node: Runtime = {
  name: `Node ${process.versions.node}`,
  // docs/performance.md "On Node".
  hint: 'Bun is the fast way, then Node 24: on Node a sign-in takes two to three times the processor time (docs/install.md)',
  fetch,
  listen,
};

/** Uses node:http: Node's own fetch would take more than half of the processor time of a sign-in. */
function fetch(url: string, init: FetchInit): Promise<Response> {
  const { method = 'GET', keepalive = true, signal, body } = init;
  const isTls = /^https:/i.test(url);
  const request = isTls ? tlsRequest : httpRequest;
  const kept = isTls ? tlsAgent : httpAgent;
  return new Promise((resolve, reject) => {
    const sent = request(url, {
      method,
      headers: {
        'User-Agent': 'node',
        ...init.headers,
        // Node adds none to a DELETE, and its body would count as the next request.
        ...(body !== undefined && { 'Content-Length': Buffer.byteLength(body) }),
      },
      agent: keepalive && kept,
      rejectUnauthorized: true,
      signal,
    });
    // Whoever reads the body gets an error that comes after the headers.
    sent.on('error', reject);
    sent.once('response', (incoming) => resolve(toResponse(incoming)));
    // After a 101 with `Upgrade` Node emits neither of them, and its deadline would not end it.
    sent.once('close', () => reject(new Error('closed without a response')));
    sent.end(body);
  });
}

function toResponse(incoming: IncomingMessage): Response {
  const { statusCode: status = 0, rawHeaders } = incoming;
  const headers = new Headers();
  for (let at = 0; at < rawHeaders.length; at += 2) {
    headers.append(rawHeaders[at] ?? '', rawHeaders[at + 1] ?? '');
  }
  const body = WITHOUT_BODY.has(status) ? null : Readable.toWeb(incoming);
  if (body === null) incoming.destroy();
  const response = new Response(body as ReadableStream | null, { headers });
  // A constructor takes 200 to 599 alone, and some servers send 999.
  Object.defineProperty(response, 'status', { value: status });
  return decode(response);
}

/** `Response` allows none for them. */
const WITHOUT_BODY = new Set([204, 205, 304]);

/** How long an idle connection is kept, unless the provider asks for less (`Keep-Alive: timeout`). */
const IDLE_CONNECTION_MS = 60_000;

const httpAgent = closeAtStrayBytes(
  new HttpAgent({ keepAlive: true, timeout: IDLE_CONNECTION_MS }),
);
const tlsAgent = closeAtStrayBytes(new TlsAgent({ keepAlive: true, timeout: IDLE_CONNECTION_MS }));

/** Bytes on an idle connection are the response to no request. docs/protocol.md §9. */
function closeAtStrayBytes<Agent extends HttpAgent>(agent: Agent): Agent {
  const { keepSocketAlive, reuseSocket } = HttpAgent.prototype;
  return Object.assign(agent, {
    keepSocketAlive(socket: Duplex) {
      socket.on('data', destroy);
      return keepSocketAlive.call(agent, socket);
    },
    reuseSocket(socket: Duplex, request: ClientRequest) {
      socket.off('data', destroy);
      reuseSocket.call(agent, socket, request);
    },
  });
}

function destroy(this: Duplex): void {
  this.destroy();
}

async function listen(options: ListenOptions): Promise<Listener> {
  const { hostname, port, handle, idleSeconds } = options;
  const respond = getRequestListener(
    (request, env) => {
      const { headers, socket } = (env as HttpBindings).incoming;
      if (Number(headers['content-length']) > REQUEST_BODY_BYTES) return refuse('body_too_large');
      const { remoteAddress: address } = socket;
      return handle(request, { requestIP: () => (address === undefined ? null : { address }) });
    },
    {
      errorHandler(error) {
        // A request target that is no path, such as `*`.
        if (error instanceof RequestError) return refuse('malformed_request');
        log.error('request_fault', describeError(error));
        return refuse('busy');
      },
    },
  );
  function onRequest(incoming: IncomingMessage, outgoing: ServerResponse): void {
    // The adapter makes a URL of these, and fails if it is invalid.
    incoming.headers.host = 'localhost';
    incoming.url = originForm(incoming.url ?? '');
    void respond(incoming, outgoing);
  }
  const server = createServer(
    {
      keepAliveTimeout: idleSeconds * 1_000,
      headersTimeout: HEADERS_DEADLINE_MS,
      connectionsCheckingInterval: HEADERS_CHECK_MS,
    },
    inTurn(onRequest),
  );
  // Their size is limited. Node would ignore those after the 2000th, which a proxy may have set.
  server.maxHeadersCount = 0;
  server.listen({ host: hostname, port });
  await once(server, 'listening');
  return {
    url: originOf(server.address() as AddressInfo),
    stop: () => new Promise((resolve) => server.close(resolve)),
    cut: () => server.closeAllConnections(),
  };
}

/**
 * Requests of one connection that are in progress or wait (pipelining). Browsers and proxies
 * wait for each response; more than a few would fill the memory behind a poll that is held.
 */
const MAX_PIPELINED = 16;

/**
 * Serves the requests of a connection one after the other, and closes it at more than
 * MAX_PIPELINED. Node would begin all at once, and tell only the first that the connection
 * has closed: a poll behind it would take a result for a device that has left.
 */
function inTurn(serve: RequestListener): RequestListener {
  const lines = new WeakMap<Socket, (() => void)[]>();
  return (incoming, outgoing) => {
    const { socket } = incoming;
    const line = lines.get(socket) ?? [];
    lines.set(socket, line);
    outgoing.once('finish', () => {
      line.shift();
      line[0]?.();
    });
    line.push(() => serve(incoming, outgoing));
    if (line.length === 1) line[0]?.();
    else if (line.length > MAX_PIPELINED) socket.destroy();
  };
}

/** Path and query. A target without a path stays as it is. RFC 9112 §3.2. */
function originForm(target: string): string {
  const rest = target.replace(/^https?:\/\/[^/?#]*/i, '');
  if (rest === target && !target.startsWith('/')) return target;
  const { pathname, search } = new URL(`http://localhost${rest}`);
  return pathname + search;
}

function originOf({ address, port, family }: AddressInfo): string {
  const host = family === 'IPv6' ? `[${address}]` : address;
  return `http://${host}:${port}`;
}
