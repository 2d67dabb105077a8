/** The relay on Node, with the adapter of Hono between node:http and a fetch handler. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import { getRequestListener, type HttpBindings, RequestError } from '@hono/node-server';
import { refuse } from '../http/responses.ts';
import { HEADERS_CHECK_MS, HEADERS_DEADLINE_MS, REQUEST_BODY_BYTES } from '../limits.ts';
import { describeError, log } from '../log.ts';
import { codeOf } from '../providers/connect-problem.ts';
import type { ListenAddress, Listener, ListenOptions, Runtime } from './runtime.ts';

export const node: Runtime = {
  fetch: (url, init) => fetch(url, init),
  listen,
  tryToConnect: (path) =>
    new Promise((resolve) => {
      const socket = connect(path, () => {
        socket.destroy();
        resolve(undefined);
      });
      socket.once('error', (error) => resolve(codeOf(error)));
    }),
};

async function listen(
  at: ListenAddress,
  { handle, idleSeconds, certificate }: ListenOptions,
): Promise<Listener> {
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
  const common = {
    keepAliveTimeout: idleSeconds * 1_000,
    headersTimeout: HEADERS_DEADLINE_MS,
    connectionsCheckingInterval: HEADERS_CHECK_MS,
  };
  const tlsServer = certificate && createTlsServer({ ...common, ...certificate }, onRequest);
  const server = tlsServer ?? createServer(common, onRequest);
  // Their size is limited. Node would ignore those after the 2000th, which a proxy may have set.
  server.maxHeadersCount = 0;
  server.listen('unix' in at ? { path: at.unix } : { host: at.hostname, port: at.port });
  await once(server, 'listening');
  return {
    url: 'unix' in at ? `unix:${at.unix}` : originOf(server.address() as AddressInfo, !!tlsServer),
    renew: (renewed) => tlsServer?.setSecureContext(renewed),
    stop: () => new Promise((resolve) => server.close(resolve)),
    cut: () => server.closeAllConnections(),
  };
}

/** Path and query. A target without a path stays as it is. RFC 9112 §3.2. */
function originForm(target: string): string {
  const rest = target.replace(/^https?:\/\/[^/?#]*/i, '');
  if (rest === target && !target.startsWith('/')) return target;
  const { pathname, search } = new URL(`http://localhost${rest}`);
  return pathname + search;
}

function originOf({ address, port, family }: AddressInfo, isTls: boolean): string {
  const host = family === 'IPv6' ? `[${address}]` : address;
  return `${isTls ? 'https' : 'http'}://${host}:${port}`;
}
