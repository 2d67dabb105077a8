/**
 * The kinds of response, and which status, text or page each refusal becomes. The errors of
 * the device grant are in oauth-responses.ts.
 *
 * Headers are plain objects. A `Headers` object that several responses share would stay
 * one object under @hono/node-server, and a cookie set in it would go to every user.
 */
import { Buffer } from 'node:buffer';
import { MAX_WAIT_SECONDS } from '../limits.ts';
import type { ProviderError } from '../monitor.ts';
import { HAS_CODE_FORM, type Names, type OutcomeName } from '../pages/outcome.tsx';
import type { Pages } from '../pages/pages.ts';
import type { Picture } from '../pages/picture.ts';
import { contentSecurityPolicy } from '../pages/style.ts';
import { OPEN_SERVICE } from '../providers/open.ts';
import { isCapability, signInIdOf } from '../sign-ins/secrets.ts';
import type { TokenResult } from '../sign-ins/session.ts';
import type { RelayRequest } from './request.ts';

export type HeaderFields = Readonly<Record<string, string>>;

const BASE_HEADERS = {
  // URLs of the relay contain secrets in their query. RFC 9700 §4.2.4.
  'Cache-Control': 'no-store, private',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
} as const;

export const DATA_HEADERS = {
  ...BASE_HEADERS,
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
} as const;

const TEXT_HEADERS = { ...DATA_HEADERS, 'Content-Type': 'text/plain; charset=utf-8' };
export const JSON_RESPONSE = {
  status: 200,
  headers: { ...DATA_HEADERS, 'Content-Type': 'application/json' },
};
export const JSON_ERROR = { ...JSON_RESPONSE, status: 400 };
const EMPTY_RESPONSE = { status: 204, headers: DATA_HEADERS };

export function jsonResponse(body: object, init = JSON_RESPONSE): Response {
  return new Response(JSON.stringify(body), init);
}

export function emptyResponse(): Response {
  return new Response(null, EMPTY_RESPONSE);
}

export function textResponse(status: number, text: string, headers?: HeaderFields): Response {
  const all = headers === undefined ? TEXT_HEADERS : { ...TEXT_HEADERS, ...headers };
  return new Response(text, { status, headers: all });
}

/** A redirect that a browser follows with GET; after a POST it is 303. RFC 9700 §4.12. */
export function redirectResponse(location: string, status: 302 | 303 = 302): Response {
  // Node sends an empty body in chunks unless the length is set.
  const headers = { ...DATA_HEADERS, Location: location, 'Content-Length': '0' };
  return new Response(null, { status, headers });
}

/** The refusals of the relay's own protocol: a status and a line of text. */
export const REFUSALS = {
  invalid_client_address: { status: 400, text: 'Invalid client address' },
  invalid_json: { status: 400, text: 'Invalid JSON' },
  invalid_size: { status: 400, text: 'Invalid size' },
  invalid_wait: { status: 400, text: `Invalid wait: a whole number from 0 to ${MAX_WAIT_SECONDS}` },
  invalid_challenge: { status: 400, text: 'Invalid challenge' },
  challenge_not_supported: { status: 400, text: 'Challenge not supported' },
  challenge_required: { status: 400, text: 'Challenge required' },
  unknown_service: { status: 400, text: 'Unknown service' },
  malformed_request: { status: 400, text: 'Bad request' },
  /** A page of another site sends the request: CORS_ORIGINS. */
  origin_not_allowed: { status: 403, text: 'Origin not allowed' },
  not_found: { status: 404, text: '404 page not found' },
  method_not_allowed: { status: 405, text: 'Method not allowed' },
  body_too_large: { status: 413, text: 'Body too large' },
  session_not_found: { status: 410, text: 'Session not found' },
  rate_limited: { status: 429, text: 'Rate limited' },
  /** The limit on sessions is reached, or there was a fault. */
  busy: { status: 503, text: 'Server busy' },
  draining: { status: 503, text: 'Server busy' },
  /** The provider is not discovered yet. */
  undiscovered: { status: 503, text: 'Server busy' },
  /** The token may still be valid: the device keeps it, and tries again. RFC 7009 §2.2.1. */
  undecided: { status: 503, text: 'Server busy' },
  not_configured: { status: 503, text: 'OAuth proxy not configured' },
} as const;

export type TextRefusalName = keyof typeof REFUSALS;

/** A ProviderError is the provider's decision about a token. */
export type RefusalName = TextRefusalName | ProviderError;

/** Returned by an endpoint instead of a response. Its route makes the response. */
export interface Refusal {
  readonly ok: false;
  readonly refusal: RefusalName;
  readonly retryAfterMs?: number | undefined;
  /** The provider's own words about a refresh. */
  readonly description?: string | undefined;
}

export function refuse(refusal: RefusalName, retryAfterMs?: number): Refusal {
  return { ok: false, refusal, retryAfterMs };
}

/** A refresh or a revocation failed without a decision of the provider. */
export function undecided(retryAfterMs = 5_000): Refusal {
  return refuse('undecided', retryAfterMs);
}

export function errorResponse(refusal: TextRefusalName, headers?: HeaderFields): Response {
  const { status, text } = REFUSALS[refusal];
  return textResponse(status, `${text}\n`, headers);
}

/** The response to a refusal on routes of the relay's own protocol. */
export function textResponseTo({ refusal, retryAfterMs, description }: Refusal): Response {
  if (!isKeyOf(REFUSALS, refusal)) {
    return jsonResponse({ error: refusal, error_description: description }, JSON_ERROR);
  }
  return errorResponse(refusal, retryAfter(retryAfterMs));
}

export function isKeyOf<Table extends object>(
  table: Table,
  name: PropertyKey,
): name is keyof Table {
  return Object.hasOwn(table, name);
}

/** RFC 9110 §10.2.3, in whole seconds. */
export function retryAfter(retryAfterMs: number | undefined): HeaderFields {
  if (retryAfterMs === undefined) return {};
  return { 'Retry-After': String(Math.max(1, Math.ceil(retryAfterMs / 1_000))) };
}

/** Tokens in the relay's own protocol; with `details` all that the provider gave. */
export function describeTokens(tokens: TokenResult, details: boolean): object {
  const { accessToken, refreshToken, expiresIn, tokenType, scope, idToken } = tokens;
  const usual = { accessToken, refreshToken, expiresIn };
  return details ? { ...usual, tokenType, scope, idToken } : usual;
}

/** The pages that end a sign-in, or refuse one. */
const PAGE_STATUS: Readonly<Record<OutcomeName, number>> = {
  signed_in: 200,
  access_denied: 200,
  declined: 200,
  authorization_failed: 200,
  authorization_refused: 200,
  user_cancelled: 200,
  missing_code: 400,
  user_cancelled_without_error: 400,
  exchange_failed: 502,
  exchange_refused: 502,
  link_invalid: 404,
  other_browser: 404,
  origin_hidden: 403,
  /* The user comes back to a sign-in that cannot be continued. */
  in_progress: 200,
  failed: 200,
  cancelled: 404,
  /* The code is not spent, so trying again may work, here or at another instance. */
  busy: 503,
  undiscovered: 503,
  fault: 503,
  rate_limited: 429,
};

/** Outcomes that are not errors: their pages show no id. */
const NON_ERRORS: ReadonlySet<OutcomeName> = new Set([
  ...(['signed_in', 'access_denied', 'declined', 'in_progress', 'cancelled'] as const),
  ...(['user_cancelled', 'user_cancelled_without_error'] as const),
]);

export type PageResponses = ReturnType<typeof createPageResponses>;

export interface PageDetails {
  readonly names?: Names;
  /** The pages of an open sign-in do not name the operator's app. */
  readonly service?: string;
  readonly headers?: HeaderFields;
  /** An error page shows the id of this sign-in. Default: `state` of the request. */
  readonly browserState?: string | undefined;
}

export function createPageResponses({ find, style }: Pages) {
  const policy = (formAction?: "'none'" | "'self'") => ({
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': contentSecurityPolicy(style, formAction),
    // For browsers that ignore `frame-ancestors`. RFC 9700 §4.16.
    'X-Frame-Options': 'DENY',
  });
  // With `no-referrer` a browser also hides the Origin of a form, by which another site's form is recognized.
  const withOrigin = { ...BASE_HEADERS, 'Referrer-Policy': 'same-origin' };
  const withoutForm = { ...BASE_HEADERS, ...policy("'none'") };
  /** By what the form on the page is for. */
  const headersOf = {
    code: { ...withOrigin, ...policy("'self'") },
    choice: { ...withOrigin, ...policy() },
  };
  // The URL of an outcome may contain a state and a code.
  const withoutReferer = { ...headersOf.code, 'Referrer-Policy': 'no-referrer' };
  const pagesFor = (request: RelayRequest) => find(request.header('accept-language'));

  /** Responds with the page of an outcome, in the language of the request. */
  function respondWithPage(
    outcome: OutcomeName,
    request: RelayRequest,
    { names, service, headers, browserState = request.query('state') }: PageDetails = {},
  ): Response {
    const hasId =
      !NON_ERRORS.has(outcome) && browserState !== undefined && isCapability(browserState);
    const usual = HAS_CODE_FORM.has(outcome) ? withoutReferer : withoutForm;
    const all = headers === undefined ? usual : { ...usual, ...headers };
    const page = pagesFor(request).outcome(outcome, {
      ...names,
      ...(hasId && { reference: signInIdOf(browserState) }),
      isOpen: service === OPEN_SERVICE,
    });
    return new Response(page, { status: PAGE_STATUS[outcome], headers: all });
  }

  return {
    pagesFor,
    respond: (status: number, page: string, form: keyof typeof headersOf) =>
      new Response(page, { status, headers: headersOf[form] }),
    respondWithPage,
    /** The response to a refusal on routes of pages: its page if it has one, otherwise text. */
    responseTo(refused: Refusal, request: RelayRequest, browserState?: string): Response {
      const { refusal, retryAfterMs } = refused;
      if (refusal === 'unknown_service') return errorResponse('not_found');
      if (!isKeyOf(PAGE_STATUS, refusal)) return textResponseTo(refused);
      const headers = retryAfter(retryAfterMs);
      return respondWithPage(refusal, request, { headers, browserState });
    },
  };
}

/** The logo or the favicon: the same for everyone, without a secret in its URL. */
export function createPictureResponse({ mediaType, base64 }: Picture): () => Response {
  const bytes = Buffer.from(base64, 'base64');
  const headers = {
    ...BASE_HEADERS,
    'Cache-Control': 'public, max-age=86400',
    'Content-Type': mediaType,
    // An SVG that a user opens by itself must run and load nothing.
    'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
  };
  return () => new Response(bytes, { headers });
}
