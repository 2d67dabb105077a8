/** A proxy of a few lines, for tests that say where each request goes and with which headers. */
import {
  createServer,
  type IncomingMessage,
  type RequestOptions,
  request as requestHttp,
} from 'node:http';

/** `route` names the server of a request, and the headers with which it is sent. */
export async function startForwarder(
  port: number,
  route: (request: IncomingMessage) => RequestOptions,
): Promise<AsyncDisposable> {
  const server = createServer((request, response) => {
    const { method = '', url = '' } = request;
    const relay = requestHttp({ agent: false, method, path: url, ...route(request) });
    relay.on('response', (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    // When one side is gone, the other learns of it at once.
    // Not `response.destroy()`: before any header Bun 1.4.5 would answer 200.
    relay.on('error', () => request.socket.destroy());
    response.on('close', () => relay.destroy());
    request.pipe(relay);
  });
  // Polls are held longer than the default.
  server.requestTimeout = 0;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  return {
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** What a proxy that appends makes of X-Forwarded-For. */
export function forwardedFor({ headers, socket }: IncomingMessage): string {
  return [headers['x-forwarded-for'], socket.remoteAddress].filter(Boolean).join(', ');
}
