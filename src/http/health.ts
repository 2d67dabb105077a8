/** Routes for health checks, and those of a relay that is not configured. */
import type { StoreProblem } from '../sign-ins/store.ts';
import type { Handler, Route } from './app.ts';
import { errorResponse, textResponse } from './responses.ts';

/** Readiness: with 'degraded' some requests fail, but `/ready` gets a 200; with 'down' it gets a 503. */
export type Readiness = { readonly status: 'ready' } | StoreProblem;

/** The reason while the relay drains. */
export const DRAINING = 'draining';

/**
 * /health gets a 503 while draining, /ready also for any other reason, which it names. A load
 * balancer then sends requests elsewhere. Health checks compare the whole body, so it has no newline. docs/operating.md "Health".
 */
export function createHealthRoutes(readiness: () => Readiness): Route[] {
  const health: Handler = () => {
    const now = readiness();
    return now.status === 'down' && now.reason === DRAINING
      ? textResponse(503, DRAINING)
      : textResponse(200, 'ok');
  };
  const ready: Handler = () => {
    const now = readiness();
    if (now.status === 'down') return textResponse(503, now.reason);
    const suffix = now.status === 'degraded' ? `, but some requests fail: ${now.reason}` : '';
    return textResponse(200, `ready${suffix}`);
  };
  return [
    { path: '/health', methods: { GET: health, HEAD: health } },
    { path: '/ready', methods: { GET: ready, HEAD: ready } },
  ];
}

export const NOT_CONFIGURED = 'not configured: OAUTH_BASE_URL is not set';

/** Every sign-in gets a 503, and `/ready` says why. */
export function createDisabledRoutes(reason: string): Route[] {
  return [
    ...createHealthRoutes(() => ({ status: 'down', reason })),
    ...['/services', '/refresh', '/revoke', '/auth/*', '/oauth2/*'].map((path) => ({
      path,
      respond: () => errorResponse('not_configured'),
    })),
  ];
}
