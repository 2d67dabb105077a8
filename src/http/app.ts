/** Which door a request goes through. Knows Hono, but no runtime. */
import { Hono } from 'hono';
import { describeError, log } from '../operate/log.ts';
import { createAuthDoor } from './auth.ts';
import type { AuthDoorOptions } from './auth-options.ts';
import { refuse, refuseMethod } from './errors.ts';
import type { Env } from './guard.ts';
import { createQrDoor } from './qr.ts';
import { DATA_HEADERS } from './security-headers.ts';

export interface AppOptions {
  /** Absent: the relay is not configured. `protocol.md` §1. */
  readonly auth?: AuthDoorOptions;
  /** False while draining, so that a balancer sends nobody here any more. */
  readonly isReady: () => boolean;
}

/**
 * A fetch handler that any runtime can mount: the request, and whose socket it
 * came from. Never throws.
 */
export type HandleRequest = (
  request: Request,
  peerAddress: string | undefined,
) => Response | Promise<Response>;

export function createApp({ auth, isReady }: AppOptions): HandleRequest {
  const basePath = auth === undefined ? '' : basePathOf(auth.baseUrl);
  const app = new Hono<Env>({ getPath: (request) => pathOf(request, basePath) ?? MALFORMED });
  app.all('/health', (c) => answerHealth(c.req.method, isReady()));
  if (auth === undefined) {
    app.all('/auth/*', (c) => refuse(c.req.path === '/auth' ? 'not_found' : 'not_configured'));
  } else {
    app.route('/', createAuthDoor(auth));
    app.route('/', createQrDoor(auth));
  }
  app.all(MALFORMED, () => refuse('malformed_request'));
  app.notFound(() => refuse('not_found'));
  // Hono's own would print the error, message and all.
  app.onError((error) => {
    log.error('request_fault', describeError(error));
    return refuse('busy');
  });
  return (request, peerAddress) => app.fetch(request, { peerAddress });
}

const MALFORMED = '/malformed request';

/**
 * The path as it was sent: neither decoded, so that `%73tart` is not `start`,
 * nor believed to have a host before it, because a request without Host has
 * none (HTTP/1.0, HAProxy's probe). Undefined for one with two Hosts, which the
 * runtime joins with a comma and RFC 9112 §3.2 refuses.
 */
function pathOf({ url, headers }: Request, basePath: string): string | undefined {
  if (headers.get('host')?.includes(',')) return undefined;
  const start = url.startsWith('/') ? 0 : url.indexOf('/', url.indexOf('://') + 3);
  const path = /^[^?#]*/.exec(url.slice(start))?.[0] ?? '';
  // Only before what is ours, as the base path itself may be `/auth`.
  const ours = [`${basePath}/auth/`, `${basePath}/qr/`, `${basePath}/health`];
  return ours.some((start) => path.startsWith(start)) ? path.slice(basePath.length) : path;
}

/** The relay may be mounted under a path, and a proxy may or may not have removed it. */
function basePathOf(baseUrl: string): string {
  const { pathname } = new URL(baseUrl);
  return pathname === '/' ? '' : pathname;
}

function answerHealth(method: string, ready: boolean): Response {
  if (method !== 'GET' && method !== 'HEAD') return refuseMethod('GET, HEAD');
  return new Response(ready ? 'ok' : 'draining', {
    status: ready ? 200 : 503,
    headers: { ...DATA_HEADERS, 'Content-Type': 'text/plain; charset=utf-8' },
  });
}
