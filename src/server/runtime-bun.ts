/** The relay on Bun. The only file that uses Bun. */
import { refuse } from '../http/responses.ts';
import { MAX_IDLE_SECONDS, REQUEST_BODY_BYTES } from '../limits.ts';
import { describeError, log } from '../log.ts';
import { codeOf } from '../providers/connect-problem.ts';
import { decode } from './decode.ts';
import type { ListenAddress, Listener, ListenOptions, Runtime } from './runtime.ts';

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
  listen: async (at, options) => listen(at, options),
  /** By fetch, because node:net on Bun 1.4.5 says ECONNREFUSED whatever the reason is. */
  async tryToConnect(unix) {
    const signal = AbortSignal.timeout(CONNECT_TIMEOUT_MS);
    try {
      await fetch('http://localhost/health', { unix, signal });
    } catch (error) {
      return codeOf(error) || undefined;
    }
    return undefined;
  },
};

/** A program that accepts a connection need not answer. */
const CONNECT_TIMEOUT_MS = 1_000;

function listen(at: ListenAddress, options: ListenOptions): Listener {
  let server = serve(at, options, false);
  // With PORT=0, the port that was free.
  const place = 'unix' in at ? at : { ...at, port: server.port ?? at.port };
  const stopping: Promise<unknown>[] = [];
  if (options.certificate) {
    // The port was free. From now on only a program of the same user could share it, but no
    // second relay, which would first listen without `reusePort`, as above.
    server.stop(true).catch(() => {});
    server = serve(place, options, true);
  }
  return {
    url: 'unix' in at ? `unix:${at.unix}` : server.url.origin,
    renew(certificate) {
      const old = server;
      // Bun 1.4.5 cannot give a server another certificate: `reload` ignores it. So a second
      // server takes the port, and the first one finishes its requests. At a Unix socket the
      // first one stops earlier, because it removes the socket.
      const isSocket = 'unix' in place;
      if (isSocket) stopping.push(old.stop());
      server = serve(place, { ...options, certificate }, true);
      if (!isSocket) stopping.push(old.stop());
    },
    stop: () => Promise.all([...stopping, server.stop()]),
    cut() {
      // Not awaited: while half a body is missing it never resolves (Bun 1.4.5).
      server.stop(true).catch(() => {});
    },
  };
}

function serve(
  at: ListenAddress,
  { handle, idleSeconds, certificate }: ListenOptions,
  reusePort: boolean,
): Bun.Server<unknown> {
  const options = {
    // Bun sets SO_REUSEPORT by default, and two relays would share a port unnoticed.
    ...('unix' in at ? at : { ...at, reusePort }),
    // Never 0, which would keep dead connections for ever.
    idleTimeout: Math.min(idleSeconds, MAX_IDLE_SECONDS),
    maxRequestBodySize: REQUEST_BODY_BYTES,
    // In development Bun's error page would show the error to the client.
    development: false,
    fetch: (request: Request, server: Bun.Server<unknown>) =>
      URL.canParse(request.url)
        ? handle(request, server)
        : handle(withUrl(request), { requestIP: () => server.requestIP(request) }),
    error(error: unknown) {
      log.error('request_fault', describeError(error));
      return refuse('busy');
    },
    ...(certificate && { tls: certificate }),
  };
  // The types know no idle timeout of a Unix socket, but it has one (Bun 1.4.5).
  return Bun.serve(options as Bun.Serve.Options<unknown>);
}

/**
 * Without a valid Host, the URL of Bun's request is only a path, or invalid. The target of
 * CONNECT may have no path.
 */
function withUrl(request: Request): Request {
  const { url } = request;
  const start = url.startsWith('/') ? 0 : url.indexOf('/', url.indexOf('://') + 3);
  const path = start === -1 ? '/' : url.slice(start);
  return new Request(new URL(`http://localhost${path}`), request);
}
