/** The relay on Bun. The only file that uses Bun. */
import { readPath } from '../http/request.ts';
import { errorResponse } from '../http/responses.ts';
import { MAX_IDLE_SECONDS, REQUEST_BODY_BYTES } from '../limits.ts';
import { describeError, log } from '../log.ts';
import { decode } from './decode.ts';
import type { Listener, ListenOptions, Runtime } from './runtime.ts';

export const bun: Runtime = {
  name: `Bun ${Bun.version}`,
  /** `verbose` would print secrets. */
  fetch: async (url, init) =>
    decode(
      await fetch(url, {
        ...init,
        decompress: false,
        verbose: false,
        tls: { rejectUnauthorized: true },
      }),
    ),
  // Bun reads the variable when the process starts, so it cannot be set from here.
  fetchesAtOnce: Number(process.env.BUN_CONFIG_MAX_HTTP_REQUESTS) || 256,
  listen,
};

async function listen(options: ListenOptions): Promise<Listener> {
  const { hostname, port, handle, idleSeconds } = options;
  const server = Bun.serve({
    hostname,
    port,
    // Bun sets SO_REUSEPORT by default, and two relays would share a port unnoticed.
    reusePort: false,
    // Never 0, which would keep dead connections open indefinitely.
    idleTimeout: Math.min(idleSeconds, MAX_IDLE_SECONDS),
    maxRequestBodySize: REQUEST_BODY_BYTES,
    // In development Bun's error page would show the error to the client.
    development: false,
    fetch: (request, server) =>
      URL.canParse(request.url)
        ? handle(request, server)
        : handle(withUrl(request), { requestIP: () => server.requestIP(request) }),
    error(error) {
      log.error('request_fault', describeError(error));
      return errorResponse('busy');
    },
  });
  return {
    url: server.url.origin,
    stop: () => server.stop(),
    cut() {
      // Not awaited: while half a body is missing it never resolves (Bun 1.4.5,
      // https://github.com/oven-sh/bun/issues/40043).
      server.stop(true).catch(() => {});
    },
  };
}

/**
 * If Host is missing or invalid, the URL of Bun's request is only a path, or invalid (Bun 1.4.5,
 * https://github.com/oven-sh/bun/pull/33721). The target of CONNECT may have no path.
 */
function withUrl(request: Request): Request {
  const { url } = request;
  const [query = ''] = /\?.*/.exec(url) ?? [];
  return new Request(new URL(`http://localhost${readPath(url) || '/'}${query}`), request);
}
