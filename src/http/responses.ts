/**
 * The kinds of response, and the one place that says which status, text or page each
 * refusal becomes. The device grant's JSON errors are in oauth-responses.ts.
 *
 * Headers are plain objects. A `Headers` object that several responses share would stay
 * one object under @hono/node-server, and a cookie set in it would go to every user.
 */
import { DISCOVERY_RETRY_MS } from '../limits.ts';
import { withSignInId } from '../pages/outcome.tsx';
import type { FindPages, LanguagePages } from '../pages/pages.ts';
import { contentSecurityPolicy } from '../pages/style.ts';
import type { ProviderError } from '../providers/token-endpoint.ts';
import type { Completion } from '../relay/relay.ts';
import { isCapability, signInIdOf } from '../relay/secrets.ts';
import type { TokenResult } from '../relay/session.ts';
import type { RelayRequest } from './request.ts';

type Headers = Readonly<Record<string, string>>;

const EVERYWHERE = {
  // Addresses of the relay contain secrets in their query. RFC 9700 §4.2.4.
  'Cache-Control': 'no-store, private',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
} as const;

export const DATA_HEADERS = {
  ...EVERYWHERE,
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
} as const;

const TEXT_HEADERS = { ...DATA_HEADERS, 'Content-Type': 'text/plain; charset=utf-8' };
const JSON_RESPONSE = {
  status: 200,
  headers: { ...DATA_HEADERS, 'Content-Type': 'application/json' },
};
const EMPTY_RESPONSE = { status: 204, headers: DATA_HEADERS };

const PAGE_HEADERS = {
  ...EVERYWHERE,
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': contentSecurityPolicy("'none'"),
} as const;

/** With `no-referrer` a browser also hides the Origin of a form, by which another site's form is recognized. */
const WITH_ORIGIN = { 'Referrer-Policy': 'same-origin' } as const;

/** For a page whose form is answered by the relay. */
export const FORM_HEADERS = {
  ...WITH_ORIGIN,
  'Content-Security-Policy': contentSecurityPolicy("'self'"),
} as const;

/** For a page whose form redirects to a provider. */
export const LEAVING_FORM_HEADERS = {
  ...WITH_ORIGIN,
  'Content-Security-Policy': contentSecurityPolicy(),
} as const;

export function jsonResponse(body: object): Response {
  return new Response(JSON.stringify(body), JSON_RESPONSE);
}

/** An error of RFC 6749 §5.2, which is what the provider decided. */
export function jsonErrorResponse(error: ProviderError): Response {
  return new Response(JSON.stringify({ error }), { ...JSON_RESPONSE, status: 400 });
}

export function jsonTextResponse(json: string): Response {
  return new Response(json, JSON_RESPONSE);
}

export function emptyResponse(): Response {
  return new Response(null, EMPTY_RESPONSE);
}

/** The message followed by a newline. */
export function textResponse(status: number, text: string, headers?: Headers): Response {
  const all = headers === undefined ? TEXT_HEADERS : { ...TEXT_HEADERS, ...headers };
  return new Response(`${text}\n`, { status, headers: all });
}

/** For health checks that compare the whole body. */
export function textResponseWithoutNewline(status: number, text: string): Response {
  return new Response(text, { status, headers: TEXT_HEADERS });
}

/** A redirect that a browser follows with GET; after a POST it is 303. RFC 9700 §4.12. */
export function redirectResponse(location: string, status: 302 | 303 = 302): Response {
  return new Response(null, { status, headers: { ...DATA_HEADERS, Location: location } });
}

/** Without `headers` the page has those for a page without a form. */
export function pageResponse(status: number, page: string, headers?: Headers): Response {
  const all = headers === undefined ? PAGE_HEADERS : { ...PAGE_HEADERS, ...headers };
  return new Response(page, { status, headers: all });
}

const REFUSALS = {
  invalid_client_address: { status: 400, text: 'Invalid client address' },
  invalid_json: { status: 400, text: 'Invalid JSON' },
  invalid_size: { status: 400, text: 'Invalid size' },
  invalid_wait: { status: 400, text: 'Invalid wait: a whole number from 0 to 50' },
  invalid_challenge: { status: 400, text: 'Invalid challenge' },
  challenge_not_supported: { status: 400, text: 'Challenge not supported' },
  challenge_required: { status: 400, text: 'Challenge required' },
  unknown_service: { status: 400, text: 'Unknown service' },
  malformed_request: { status: 400, text: 'Bad request' },
  not_found: { status: 404, text: '404 page not found' },
  method_not_allowed: { status: 405, text: 'Method not allowed' },
  session_not_found: { status: 410, text: 'Session not found' },
  rate_limited: { status: 429, text: 'Rate limited' },
  /** The limit on sessions is reached, the relay is draining, or there was a fault. */
  busy: { status: 503, text: 'Server busy' },
  not_configured: { status: 503, text: 'OAuth proxy not configured' },
} as const;

export function refuse(refusal: keyof typeof REFUSALS, headers?: Headers): Response {
  const { status, text } = REFUSALS[refusal];
  return textResponse(status, text, headers);
}

/** RFC 9110 §10.2.3, in whole seconds. */
export function retryAfter(retryAfterMs: number): Headers {
  return { 'Retry-After': String(Math.max(1, Math.ceil(retryAfterMs / 1_000))) };
}

/** While a provider is undiscovered: until its issuer is asked again. */
export const RETRY_DISCOVERY = retryAfter(DISCOVERY_RETRY_MS);

/** Tokens as the relay's own protocol has them; with `details` all that the provider gave. */
export function describeTokens(tokens: TokenResult, details: boolean): object {
  const { accessToken, refreshToken, expiresIn, tokenType, scope, idToken } = tokens;
  const usual = { accessToken, refreshToken, expiresIn };
  return details ? { ...usual, tokenType, scope, idToken } : usual;
}

/** What the user sees at the end of a sign-in, or in place of it. */
const PAGES = {
  signed_in: { status: 200, page: 'signedIn' },
  access_denied: { status: 200, page: 'cancelled' },
  authorization_failed: { status: 200, page: 'failed' },
  missing_code: { status: 400, page: 'incomplete' },
  exchange_failed: { status: 502, page: 'notCompleted' },
  link_invalid: { status: 404, page: 'linkInvalid' },
  /** The device ended the sign-in. */
  cancelled: { status: 404, page: 'cancelledOnDevice' },
  /** The code is not spent, so trying again may work, here or at the next instance. */
  busy: { status: 503, page: 'notCompleted' },
  undiscovered: { status: 503, page: 'notCompleted' },
  fault: { status: 503, page: 'notCompleted' },
  declined: { status: 200, page: 'declined' },
  too_many_tries: { status: 429, page: 'tooManyTries' },
} as const satisfies Record<
  Completion | 'undiscovered' | 'fault' | 'declined' | 'too_many_tries',
  { status: number; page: keyof LanguagePages }
>;

/** Outcomes that are no error, so their page shows no id. */
const GOOD: ReadonlySet<keyof typeof PAGES> = new Set(['signed_in', 'declined']);

/**
 * Responds with the page of an outcome, in the language of the request. The page of an
 * error shows the id of the sign-in, where `browserState` is one.
 */
export type RespondWithPage = (
  outcome: keyof typeof PAGES,
  request: RelayRequest,
  headers?: Headers,
  browserState?: string,
) => Response;

export function createRespondWithPage(findPages: FindPages): RespondWithPage {
  return (outcome, request, headers, browserState = request.query('state')) => {
    const { status, page } = PAGES[outcome];
    const text = findPages(request.header('accept-language'))[page];
    const hasId = !GOOD.has(outcome) && browserState !== undefined && isCapability(browserState);
    return pageResponse(
      status,
      hasId ? withSignInId(text, signInIdOf(browserState)) : text,
      headers,
    );
  };
}
