/**
 * Apps that are web pages: televisions run them from a host, from a package
 * (`null`) or from a file (`file://`). Nothing of it unless CORS_ORIGINS lists
 * the page's origin, and only where devices ask. The Fetch standard, §3.2.
 */
import type { Hono, MiddlewareHandler } from 'hono';
import { cors } from 'hono/cors';
import { CORS_MAX_AGE_SECONDS } from '../limits.ts';
import type { Env } from './request-context.ts';
import { DATA_HEADERS } from './security-headers.ts';

/** What devices ask for; never what a browser opens. */
const DEVICE_ROUTES = [
  '/auth/start',
  '/auth/result',
  '/oauth2/*',
  '/.well-known/oauth-authorization-server/*',
  '/qr/*',
  '/openapi.json',
];

/** Before the doors, so that a preflight is answered in their place. */
export function allowOrigins(app: Hono<Env>, origins: readonly string[]): void {
  if (origins.length === 0) return;
  const answer = createCors(origins);
  for (const route of DEVICE_ROUTES) app.use(route, answer);
}

/** No credentials: what a device holds is in its requests, not in a cookie. */
function createCors(origins: readonly string[]): MiddlewareHandler<Env> {
  const allowsAll = origins.includes('*');
  const isListed = (origin: string) => allowsAll || origins.includes(origin);
  const answer = cors({
    origin: allowsAll ? '*' : (origin) => origin,
    allowMethods: ['GET', 'POST'],
    allowHeaders: ['Authorization', 'Content-Type', 'Prefer'],
    exposeHeaders: ['Preference-Applied', 'Retry-After'],
    maxAge: CORS_MAX_AGE_SECONDS,
  });
  return async (c, next) => {
    if (!isListed(c.req.header('origin') ?? '')) return next();
    const preflight = await answer(c, next);
    if (preflight instanceof Response) {
      for (const [name, value] of Object.entries(DATA_HEADERS)) preflight.headers.set(name, value);
    }
    return preflight;
  };
}
