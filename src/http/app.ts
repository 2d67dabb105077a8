/**
 * Passes each request to its handler by the table in routes.ts. Methods, HEAD, OPTIONS, CORS
 * and faults are handled only here. Uses no API of a particular runtime.
 *
 * A handler has no deadline here. Everything that it awaits has one: a body
 * (request.ts), a command to the store (stores/redis/commands.ts), a poll
 * (sign-ins/polls.ts), a request to a provider (providers/token-endpoint.ts), another
 * instance's refresh (providers/refreshes.ts).
 */
import { describeError, log } from '../log.ts';
import { StoreUnavailable } from '../sign-ins/store.ts';
import { type Addresses, RelayRequest, readPath } from './request.ts';
import { DATA_HEADERS, errorResponse, type Refusal, refuse, textResponseTo } from './responses.ts';

/** If it throws, the route responds as after a fault. */
export type Handler = (request: RelayRequest) => Response | Refusal | Promise<Response | Refusal>;

export interface Route {
  /**
   * An exact path, or one with a parameter (`/auth/:service/callback`), or with any text at an
   * end (`/oauth2/*`). Paths are compared without decoding.
   */
  readonly path: string;
  /** The handler of each method. If absent, `respond` handles every method; if that is absent too, the path is not found. */
  readonly methods?: Readonly<Record<string, Handler>>;
  readonly respond?: (request: RelayRequest) => Response;
  /** True if the parameter has a known value. Otherwise the next route is tried. */
  readonly isKnown?: (parameter: string) => boolean;
  /** Makes the response to a refusal. Default: text. */
  readonly onRefusal?: (refusal: Refusal, request: RelayRequest) => Response;
  /** Responds after a fault. */
  readonly onFault?: (request: RelayRequest) => Response;
  /** True if devices use it: then web apps of CORS_ORIGINS may use it too. */
  readonly isForDevices?: boolean;
}

/**
 * A fetch handler for any runtime. `addresses` finds the address of the client. Never throws.
 */
export type HandleRequest = (
  request: Request,
  addresses: Addresses,
) => Response | Promise<Response>;

export interface AppOptions {
  /** The origins of the web apps that may use the routes for devices. `*`: all. */
  readonly corsOrigins?: readonly string[];
  /** Path of the base URL. A proxy may remove it from requests, or pass it on. */
  readonly basePath?: string;
  /** Called when a request got a 5xx, or its handler failed. */
  readonly onFailure?: OnFailure;
}

type OnFailure = (route: Route) => void;

export function createApp(
  routes: readonly Route[],
  { corsOrigins = [], basePath = '', onFailure = () => {} }: AppOptions = {},
): HandleRequest {
  const exact = new Map<string, RouteMatch>();
  const patterns: Pattern[] = [];
  for (const route of routes) {
    const [prefix = '', suffix] = route.path.split(/:\w+|\*/);
    if (suffix === undefined) exact.set(prefix, { route, parameter: '' });
    else patterns.push({ route, prefix, suffix });
  }
  const removeBasePath = basePath === '' ? undefined : createRemoveBasePath(routes, basePath);

  return (raw, addresses) => {
    // The runtime joins two Host headers with a comma. RFC 9112 §3.2.
    if (raw.headers.get('host')?.includes(',')) return errorResponse('malformed_request');
    const { url } = raw;
    const sentPath = readPath(url);
    const path = removeBasePath === undefined ? sentPath : removeBasePath(sentPath);
    const found = exact.get(path) ?? findPattern(patterns, path);
    if (found === undefined) return errorResponse('not_found');
    const { route, parameter } = found;
    const request = new RelayRequest(raw, url, path, parameter, addresses);
    const response =
      route.isForDevices && corsOrigins.length > 0
        ? runWithCors(corsOrigins, route, request, onFailure)
        : run(route, request, onFailure);
    return raw.method === 'HEAD' ? withoutContent(response) : response;
  };
}

interface RouteMatch {
  readonly route: Route;
  /** The value of the parameter. Empty for an exact path. */
  readonly parameter: string;
}

/** A path with a parameter, or with `*`. */
interface Pattern {
  readonly route: Route;
  /** The path before and after the parameter or `*`. */
  readonly prefix: string;
  readonly suffix: string;
}

/** The first pattern that matches. A parameter has at least one character, and no slash. */
function findPattern(patterns: readonly Pattern[], path: string): RouteMatch | undefined {
  for (const { route, prefix, suffix } of patterns) {
    if (!path.startsWith(prefix) || !path.endsWith(suffix)) continue;
    const parameter = path.slice(prefix.length, path.length - suffix.length);
    const isSegment = parameter !== '' && !parameter.includes('/');
    const fits = route.path.includes('*') || (isSegment && (route.isKnown?.(parameter) ?? true));
    if (fits) return { route, parameter };
  }
  return undefined;
}

/** A well-known path comes before the path of its issuer, not after it. RFC 8414 §3. */
export const METADATA_PATH = '/.well-known/oauth-authorization-server';

/** Removes the base path if a proxy passed it on. */
function createRemoveBasePath(
  routes: readonly Route[],
  basePath: string,
): (path: string) => string {
  const home = [basePath, `${basePath}/`];
  // Removed only before the relay's own paths, because the base path itself may be `/auth`.
  const starts = routes.map(({ path }) => basePath + path.replace(/[:*].*/, ''));
  return (path) => {
    if (home.includes(path)) return '/';
    if (path.startsWith(`${METADATA_PATH}${basePath}/oauth2/`)) {
      return METADATA_PATH + path.slice(METADATA_PATH.length + basePath.length);
    }
    // A path that lacks the base path belongs to another issuer.
    if (path.startsWith(`${METADATA_PATH}/`)) return PATH_OF_NO_ROUTE;
    const isOwn = starts.some((start) => !home.includes(start) && path.startsWith(start));
    return isOwn ? path.slice(basePath.length) : path;
  };
}

/** No request has it, because a path has no spaces. */
const PATH_OF_NO_ROUTE = '/.well-known/no route';

const NOT_FOUND = refuse('not_found');
const METHOD_NOT_ALLOWED = refuse('method_not_allowed');

async function run(route: Route, request: RelayRequest, onFailure: OnFailure): Promise<Response> {
  const { methods, respond, onRefusal = textResponseTo } = route;
  if (methods === undefined) return respond?.(request) ?? onRefusal(NOT_FOUND, request);
  const handler = Object.hasOwn(methods, request.method) ? methods[request.method] : undefined;
  if (handler === undefined) {
    const response = onRefusal(METHOD_NOT_ALLOWED, request);
    // RFC 9110 §15.5.6.
    response.headers.set('Allow', Object.keys(methods).join(', '));
    return response;
  }
  try {
    const answer = await handler(request);
    const response = 'refusal' in answer ? onRefusal(answer, request) : answer;
    if (response.status >= 500) onFailure(route);
    return response;
  } catch (error) {
    logFault(error, request, route.path);
    onFailure(route);
    return route.onFault?.(request) ?? errorResponse('busy');
  }
}

/** How long a browser may cache a preflight: Chromium's maximum. */
const PREFLIGHT_SECONDS = 7_200;

/**
 * Televisions load web apps from a host, from a package (origin `null`) or from a file (`file://`).
 * An origin that is not listed gets no header, and a 405 for its preflight. Credentials are not
 * allowed: a device's secrets are in its requests, not in cookies. The Fetch standard, §3.2.
 */
async function runWithCors(
  origins: readonly string[],
  route: Route,
  request: RelayRequest,
  onFailure: OnFailure,
): Promise<Response> {
  const allowsAll = origins.includes('*');
  const origin = allowsAll ? '*' : (request.header('origin') ?? '');
  const isPreflight = request.method === 'OPTIONS' && origins.includes(origin);
  const response = isPreflight
    ? new Response(null, { status: 204, headers: DATA_HEADERS })
    : await run(route, request, onFailure);
  if (!origins.includes(origin)) return response;
  const { headers } = response;
  headers.set('Access-Control-Allow-Origin', origin);
  headers.set('Access-Control-Expose-Headers', 'Preference-Applied,Retry-After');
  if (!allowsAll) headers.append('Vary', 'Origin');
  if (!isPreflight) return response;
  headers.set('Access-Control-Max-Age', String(PREFLIGHT_SECONDS));
  headers.set('Access-Control-Allow-Methods', 'GET,POST');
  headers.set('Access-Control-Allow-Headers', 'Authorization,Content-Type,Prefer');
  headers.append('Vary', 'Access-Control-Request-Headers');
  return response;
}

/** RFC 9110 §9.3.2: no response to HEAD has content. */
async function withoutContent(response: Response | Promise<Response>): Promise<Response> {
  return new Response(null, await response);
}

export function logFault(error: unknown, request: RelayRequest, route: string): void {
  // The store logs its outage once. Every request would repeat it here.
  const level = error instanceof StoreUnavailable ? 'debug' : 'error';
  log[level]('handler_fault', { requestId: request.id, route, ...describeError(error) });
}
