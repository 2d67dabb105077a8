/** Routes for health checks, and those of a relay that is not configured. */
import type { Handler, Route } from './app.ts';
import { refuse, textResponseWithoutNewline } from './responses.ts';

export interface Health {
  isDraining(): boolean;
  /** Why `/ready` gets a 503. Undefined: it gets a 200. */
  findUnreadiness(): string | undefined;
  /** Why some requests fail, although `/ready` gets a 200. */
  findLimitation(): string | undefined;
}

/**
 * Each gets a 503, so that a load balancer sends requests elsewhere: /health while
 * draining, /ready also for any other reason, which it names. docs/operating.md "Health".
 */
export function createHealthRoutes({
  isDraining,
  findUnreadiness,
  findLimitation,
}: Health): Route[] {
  const health: Handler = () =>
    isDraining()
      ? textResponseWithoutNewline(503, 'draining')
      : textResponseWithoutNewline(200, 'ok');
  const ready: Handler = () => {
    const reason = findUnreadiness();
    if (reason !== undefined) return textResponseWithoutNewline(503, reason);
    const limitation = findLimitation();
    const suffix = limitation === undefined ? '' : `, but some requests fail: ${limitation}`;
    return textResponseWithoutNewline(200, `ready${suffix}`);
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
    ...createHealthRoutes({
      isDraining: () => false,
      findUnreadiness: () => reason,
      findLimitation: () => undefined,
    }),
    ...['/services', '/refresh', '/revoke', '/auth/*', '/oauth2/*'].map((path) => ({
      path,
      respond: () => refuse('not_configured'),
    })),
  ];
}
