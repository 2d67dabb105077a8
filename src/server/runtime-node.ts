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
} from 'node:http';
import { Agent as TlsAgent, request as tlsRequest } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { type Duplex, Readable } from 'node:stream';
import { getRequestListener, type HttpBindings, RequestError } from '@hono/node-server';
import { REQUEST_BODY_DEADLINE_MS } from '../http/request.ts';
import { errorResponse } from '../http/responses.ts';
import { HEADERS_CHECK_MS, HEADERS_DEADLINE_MS, REQUEST_BODY_BYTES } from '../limits.ts';
import { describeError, log } from '../log.ts';
import type { FetchInit, ProviderResponse } from '../providers/config.ts';
import { decode } from './decode.ts';
import type { Listener, ListenOptions, Runtime } from './runtime.ts';

/** Older versions are past their end of life, and no test runs on them. */
const OLDEST_SUPPORTED = 22;

const isSupported = Number.parseInt(process.versions.node, 10) >= OLDEST_SUPPORTED;

export const node: Runtime = {
  name: `Node ${process.versions.node}`,
  ...(!isSupported && { problem: 'not supported: install Node 24 or Bun (docs/install.md "npm")' }),
  // docs/performance.md "On Node".
  hint: 'Bun is the fast way, then Node 24: on Node a sign-in takes two to three times the processor time (docs/install.md)',
  fetch,
  listen,
};

/** Uses node:http: a request by Node's own fetch takes 2.5 times the processor time (Node 24.21). */
function fetch(url: string, init: FetchInit): Promise<ProviderResponse> {
  const { method = 'GET', keepalive = true, signal, body } = init;
  const isTls = /^https:/i.test(url);
  const request = isTls ? tlsRequest : httpRequest;
  const kept = isTls ? tlsAgent : httpAgent;
  return new Promise((resolve, reject) => {
    const sent = request(url, {
      method,
      headers: {
        ...init.headers,
        // Node adds none to a DELETE, and its body would count as the next request (Node 26.10,
        // https://github.com/nodejs/node/issues/27880).
        ...(body !== undefined && { 'Content-Length': Buffer.byteLength(body) }),
      },
      agent: keepalive && kept,
      rejectUnauthorized: true,
      signal,
    });
    // An error after the headers reaches the reader of the body.
    sent.on('error', reject);
    sent.once('response', (incoming) => resolve(toResponse(incoming)));
    // After a 101 with `Upgrade` Node closes the connection and emits no error or response
    // (https://nodejs.org/api/http.html#event-upgrade).
    sent.once('close', () => reject(new Error('closed without a response')));
    sent.end(body);
  });
}

function toResponse(incoming: IncomingMessage): ProviderResponse {
  const { statusCode: status = 0, rawHeaders } = incoming;
  const headers = new Headers();
  for (let at = 0; at < rawHeaders.length; at += 2) {
    headers.append(rawHeaders[at] ?? '', rawHeaders[at + 1] ?? '');
  }
  const body = Readable.toWeb(incoming) as unknown as ReadableStream;
  return decode({ status, headers, body, text: () => new Response(body).text() });
}

/** How long an idle connection is kept, unless the provider asks for less (`Keep-Alive: timeout`). */
const IDLE_CONNECTION_MS = 60_000;

const POOL = { keepAlive: true, timeout: IDLE_CONNECTION_MS };
const httpAgent = destroyOnUnsolicitedData(new HttpAgent(POOL));
const tlsAgent = destroyOnUnsolicitedData(new TlsAgent(POOL));

/**
 * Bytes that arrive on an idle connection belong to no request, and would be taken for the response
 * to the next one (docs/protocol.md §9). Node itself closes the connection since 22.23 and 24.17
 * (https://www.cve.org/CVERecord?id=CVE-2026-48931).
 */
function destroyOnUnsolicitedData<Agent extends HttpAgent>(agent: Agent): Agent {
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
      if (Number(headers['content-length']) > REQUEST_BODY_BYTES)
        return errorResponse('body_too_large');
      const { remoteAddress: address } = socket;
      return handle(request, { requestIP: () => (address === undefined ? null : { address }) });
    },
    {
      // The HTTP/1.0 requests of some health checks have no Host.
      hostname: 'localhost',
      errorHandler(error) {
        // A request target that is no path, such as `*`.
        if (error instanceof RequestError) return errorResponse('malformed_request');
        log.error('request_fault', describeError(error));
        return errorResponse('busy');
      },
    },
  );
  const server = createServer(
    {
      keepAliveTimeout: idleSeconds * 1_000,
      headersTimeout: HEADERS_DEADLINE_MS,
      // Also for a body that no handler reads. Node's default is 300 s.
      requestTimeout: HEADERS_DEADLINE_MS + REQUEST_BODY_DEADLINE_MS,
      connectionsCheckingInterval: HEADERS_CHECK_MS,
    },
    inTurn((incoming, outgoing) => void respond(incoming, outgoing)),
  );
  // Headers are limited by their size. Node would ignore those after the 2000th, which a proxy may have set
  // (https://nodejs.org/api/http.html#servermaxheaderscount).
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
 * MAX_PIPELINED. Node would serve all at once, however many there are. Before 24.16, and in 22, it
 * also aborts only the first when the connection closes, and a poll behind it would take a result
 * for a device that has left (https://github.com/nodejs/node/pull/62534).
 */
function inTurn(serve: RequestListener): RequestListener {
  const queues = new WeakMap<Socket, (() => void)[]>();
  return (incoming, outgoing) => {
    const { socket } = incoming;
    const queue = queues.get(socket) ?? [];
    queues.set(socket, queue);
    outgoing.once('finish', () => {
      queue.shift();
      queue[0]?.();
    });
    queue.push(() => serve(incoming, outgoing));
    if (queue.length === 1) queue[0]?.();
    else if (queue.length > MAX_PIPELINED) socket.destroy();
  };
}

function originOf({ address, port, family }: AddressInfo): string {
  const host = family === 'IPv6' ? `[${address}]` : address;
  return `http://${host}:${port}`;
}
