/**
 * CORS for apps that are web pages. Televisions load them from a host, from a package
 * (origin `null`) or from a file (`file://`). The headers are sent only to origins in
 * CORS_ORIGINS, and only on routes that devices use. The Fetch standard, §3.2.
 */
import type { RelayRequest } from './request.ts';
import { DATA_HEADERS } from './responses.ts';

/** How long a browser may cache a preflight: Chromium's maximum. */
const MAX_AGE_SECONDS = 7_200;

export type Cors = NonNullable<ReturnType<typeof createCors>>;

/** Credentials are not allowed: a device's secrets are in its requests, not in cookies. */
export function createCors(origins: readonly string[]) {
  if (origins.length === 0) return undefined;
  const allowsAll = origins.includes('*');

  /** Lets a page of this origin read the response. */
  function allow(response: Response, origin: string): Response {
    const { headers } = response;
    headers.set('Access-Control-Allow-Origin', origin);
    headers.set('Access-Control-Expose-Headers', 'Preference-Applied,Retry-After');
    if (!allowsAll) headers.append('Vary', 'Origin');
    return response;
  }

  return {
    /** The origin that may read the response. Undefined if the request's origin is not listed. */
    originOf(request: RelayRequest): string | undefined {
      if (allowsAll) return '*';
      const origin = request.header('origin') ?? '';
      return origins.includes(origin) ? origin : undefined;
    },
    preflight(origin: string): Response {
      const response = allow(new Response(null, { status: 204, headers: DATA_HEADERS }), origin);
      response.headers.set('Access-Control-Max-Age', String(MAX_AGE_SECONDS));
      response.headers.set('Access-Control-Allow-Methods', 'GET,POST');
      response.headers.set('Access-Control-Allow-Headers', 'Authorization,Content-Type,Prefer');
      response.headers.append('Vary', 'Access-Control-Request-Headers');
      return response;
    },
    allow,
  };
}
