/** The path that a request names, as the doors know it. */

/** What no path is: for a request that must be refused. */
export const MALFORMED = '/malformed request';

/** RFC 8414 §3: a well-known path stands before the issuer's own, not behind it. */
const METADATA = '/.well-known/oauth-authorization-server';

/** A path that no door knows. */
const MISPLACED = '/misplaced metadata';

const OURS = ['/auth/', '/oauth2/', '/qr/', '/link', '/L/', '/l/', '/health', '/openapi.json'];

/** The relay may be mounted under a path, and a proxy may or may not have removed it. */
export function basePathOf(baseUrl: string): string {
  const { pathname } = new URL(baseUrl);
  return pathname === '/' ? '' : pathname;
}

/**
 * The path as it was sent: neither decoded, so that `%73tart` is not `start`,
 * nor believed to have a host before it, because a request without Host has
 * none (HTTP/1.0, HAProxy's probe). MALFORMED for one with two Hosts, which the
 * runtime joins with a comma and RFC 9112 §3.2 refuses.
 */
export function createPathOf(basePath: string): (request: Request) => string {
  // Only before what is ours, as the base path itself may be `/auth`.
  const ours = OURS.map((start) => basePath + start);
  const home = new Set([basePath, `${basePath}/`]);
  const metadata = `${METADATA}${basePath}/oauth2/`;
  return ({ url, headers }) => {
    if (headers.get('host')?.includes(',')) return MALFORMED;
    const start = url.startsWith('/') ? 0 : url.indexOf('/', url.indexOf('://') + 3);
    const end = url.slice(start).search(/[?#]/);
    const path = end === -1 ? url.slice(start) : url.slice(start, start + end);
    if (basePath === '') return path;
    if (home.has(path)) return '/';
    if (path.startsWith(metadata)) return METADATA + path.slice(METADATA.length + basePath.length);
    // Without the base path it is the address of another issuer.
    if (path.startsWith(`${METADATA}/`)) return MISPLACED;
    return ours.some((start) => path.startsWith(start)) ? path.slice(basePath.length) : path;
  };
}
