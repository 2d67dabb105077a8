/** Which door a request goes through. Knows Hono, but no runtime. */
import { Hono } from 'hono';
import { describeError, log } from '../operate/log.ts';
import { createPages, type FindPages } from '../pages/pages.ts';
import { AUTH_PREFIX, createAuthDoor } from './auth/door.ts';
import { allowOrigins } from './cors.ts';
import type { OAuthDoorOptions } from './door-options.ts';
import { refuse, refuseMethod } from './errors.ts';
import { createOAuthDoor } from './oauth2/door.ts';
import { createPersonDoor } from './person/door.ts';
import { createQrDoor } from './qr/door.ts';
import { type Env, PlainContext } from './request-context.ts';
import { basePathOf, createPathOf, MALFORMED } from './request-path.ts';
import { DATA_HEADERS } from './security-headers.ts';

export interface AppOptions {
  /** Absent: the relay is not configured. `protocol.md` §1. */
  readonly auth?: OAuthDoorOptions;
  /** False while draining, so that a balancer sends nobody here any more. */
  readonly isReady: () => boolean;
}

/**
 * A fetch handler that any runtime can mount: the request, and how to learn whose
 * socket it came from, asked at once or never. Never throws.
 */
export type HandleRequest = (
  request: Request,
  findPeerAddress: () => string | undefined,
) => Response | Promise<Response>;

export function createApp({ auth, isReady }: AppOptions): HandleRequest {
  const pathOf = createPathOf(auth === undefined ? '' : basePathOf(auth.baseUrl));
  const app = new Hono<Env>({ getPath: pathOf });
  app.all('/health', (c) => answerHealth(c.req.method, isReady()));
  app.all(MALFORMED, () => refuse('malformed_request'));
  app.notFound(() => refuse('not_found'));
  // Hono's own would print the error, message and all.
  app.onError((error) => {
    log.error('request_fault', describeError(error));
    return refuse('busy');
  });
  const route: HandleRequest = (request, findPeerAddress) =>
    app.fetch(request, { findPeerAddress });
  if (auth === undefined) {
    app.all('/oauth2/*', () => refuse('not_configured'));
    app.all('/auth/*', (c) => refuse(c.req.path === '/auth' ? 'not_found' : 'not_configured'));
    return route;
  }
  const { appName, baseUrl, corsOrigins } = auth;
  const findPages = createPages({ appName, codeAction: `${basePathOf(baseUrl)}/link` });
  const answerAuth = createAuthDoor(auth, findPages);
  allowOrigins(app, corsOrigins);
  app.all(`${AUTH_PREFIX}*`, ({ req, env }) =>
    answerAuth(new PlainContext(req.raw, req.path, env)),
  );
  openDoors(app, auth, findPages);
  // Past Hono, unless it has something to add.
  if (corsOrigins.length > 0) return route;
  return (request, findPeerAddress) => {
    const path = pathOf(request);
    return path.startsWith(AUTH_PREFIX)
      ? answerAuth(new PlainContext(request, path, { findPeerAddress }))
      : route(request, findPeerAddress);
  };
}

function openDoors(app: Hono<Env>, auth: OAuthDoorOptions, findPages: FindPages): void {
  app.route('/', createPersonDoor(auth, findPages));
  app.route('/', createOAuthDoor(auth));
  app.route('/', createQrDoor(auth));
  let loading: Promise<(method: string) => Response> | undefined;
  app.all('/openapi.json', async ({ req }) => {
    // Loaded when somebody asks, as hardly anybody does.
    loading ??= import('./openapi/document.ts').then(({ createAnswerDocument }) =>
      createAnswerDocument(auth.baseUrl),
    );
    const answerDocument = await loading;
    return answerDocument(req.method);
  });
}

function answerHealth(method: string, ready: boolean): Response {
  if (method !== 'GET' && method !== 'HEAD') return refuseMethod('GET, HEAD');
  return new Response(ready ? 'ok' : 'draining', {
    status: ready ? 200 : 503,
    headers: { ...DATA_HEADERS, 'Content-Type': 'text/plain; charset=utf-8' },
  });
}
