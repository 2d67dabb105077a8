/** The relay on Node, with the adapter of Hono between node:http and a fetch handler. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import { refuse } from './http/responses.ts';
import { HEADERS_DEADLINE_MS } from './limits.ts';
import type { ListenAddress, Listener, ListenOptions, Runtime } from './listen.ts';
import { describeError, log } from './log.ts';
import { codeOf } from './providers/connect-problem.ts';

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
  const onRequest = getRequestListener(
    (request, env) => {
      const { remoteAddress: address } = (env as HttpBindings).incoming.socket;
      return handle(request, { requestIP: () => (address === undefined ? null : { address }) });
    },
    {
      errorHandler(error) {
        log.error('request_fault', describeError(error));
        return refuse('busy');
      },
    },
  );
  const common = { keepAliveTimeout: idleSeconds * 1_000, headersTimeout: HEADERS_DEADLINE_MS };
  const tlsServer = certificate && createTlsServer({ ...common, ...certificate }, onRequest);
  const server = tlsServer ?? createServer(common, onRequest);
  server.listen('unix' in at ? { path: at.unix } : { host: at.hostname, port: at.port });
  await once(server, 'listening');
  return {
    url: 'unix' in at ? `unix:${at.unix}` : originOf(server.address() as AddressInfo, !!tlsServer),
    renew: (renewed) => tlsServer?.setSecureContext(renewed),
    stop: () => new Promise((resolve) => server.close(resolve)),
    cut: () => server.closeAllConnections(),
  };
}

function originOf({ address, port, family }: AddressInfo, isTls: boolean): string {
  const host = family === 'IPv6' ? `[${address}]` : address;
  return `${isTls ? 'https' : 'http'}://${host}:${port}`;
}
