/**
 * The kinds of response, and the one place that says which status, text or page each
 * refusal becomes. The device grant's JSON errors are in oauth-responses.ts.
 *
 * Headers are plain objects. A `Headers` object that several responses share would stay
 * one object under @hono/node-server, and a cookie set in it would go to every user.
 */
import { Buffer } from 'node:buffer';
import { DISCOVERY_RETRY_MS } from '../limits.ts';
import type { LanguagePages, Names, OutcomeName, Pages } from '../pages/pages.ts';
import type { Picture } from '../pages/picture.ts';
import { contentSecurityPolicy } from '../pages/style.ts';
import type { ProviderError } from '../providers/token-endpoint.ts';
import type { Completion } from '../relay/relay.ts';
import { isCapability, signInIdOf } from '../relay/secrets.ts';
import type { SessionOutcome, TokenResult } from '../relay/session.ts';
import type { RelayRequest } from './request.ts';

export type Headers = Readonly<Record<string, string>>;

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
  body_too_large: { status: 413, text: 'Body too large' },
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
  authorization_failed: { status: 200, page: 'failedThere' },
  authorization_refused: { status: 200, page: 'failedRefused' },
  missing_code: { status: 400, page: 'incomplete' },
  exchange_failed: { status: 502, page: 'notExchanged' },
  exchange_refused: { status: 502, page: 'notExchangedRefused' },
  link_invalid: { status: 404, page: 'linkInvalid' },
  /** For a user who comes back to a sign-in that they cannot continue any more. */
  in_progress: { status: 200, page: 'inProgress' },
  failed: { status: 200, page: 'failedBefore' },
  /** The device ended the sign-in. */
  cancelled: { status: 404, page: 'cancelledOnDevice' },
  /** The code is not spent, so trying again may work, here or at the next instance. */
  busy: { status: 503, page: 'notCompleted' },
  undiscovered: { status: 503, page: 'notCompleted' },
  fault: { status: 503, page: 'notCompleted' },
  too_many_tries: { status: 429, page: 'tooManyTries' },
} as const satisfies Record<
  | Completion
  | SessionOutcome
  | 'undiscovered'
  | 'fault'
  | 'too_many_tries'
  | `${'authorization' | 'exchange'}_refused`,
  { status: number; page: OutcomeName }
>;

/** Outcomes that are no error, so their page shows no id. */
const GOOD: ReadonlySet<keyof typeof PAGES> = new Set([
  ...(['signed_in', 'access_denied', 'in_progress', 'cancelled'] as const),
]);

/** Whether a page has a form, and who answers it: the relay, or the provider to which the relay redirects. */
export type FormKind = 'none' | 'answered' | 'leaving';

export interface PageResponses {
  pagesFor(request: RelayRequest): LanguagePages;
  respond(status: number, page: string, form: FormKind): Response;
  /** Responds with the page of an outcome, in the language of the request. */
  readonly respondWithPage: RespondWithPage;
}

export type RespondWithPage = (
  outcome: keyof typeof PAGES,
  request: RelayRequest,
  more?: {
    readonly names?: Names;
    readonly headers?: Headers;
    /** Of the sign-in whose id the page of an error shows. Absent: `state` of the request. */
    readonly browserState?: string | undefined;
  },
) => Response;

export function createPageResponses({ find, style }: Pages): PageResponses {
  const policy = (formAction?: "'none'" | "'self'") => ({
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': contentSecurityPolicy(style, formAction),
  });
  // With `no-referrer` a browser also hides the Origin of a form, by which another site's form is recognized.
  const withOrigin = { ...EVERYWHERE, 'Referrer-Policy': 'same-origin' };
  const headersOf: Readonly<Record<FormKind, Headers>> = {
    none: { ...EVERYWHERE, ...policy("'none'") },
    answered: { ...withOrigin, ...policy("'self'") },
    leaving: { ...withOrigin, ...policy() },
  };
  const pagesFor = (request: RelayRequest) => find(request.header('accept-language'));

  return {
    pagesFor,
    respond: (status, page, form) => new Response(page, { status, headers: headersOf[form] }),
    respondWithPage(outcome, request, more = {}) {
      const { status, page } = PAGES[outcome];
      const { names, headers, browserState = request.query('state') } = more;
      const hasId = !GOOD.has(outcome) && browserState !== undefined && isCapability(browserState);
      const all = headers === undefined ? headersOf.none : { ...headersOf.none, ...headers };
      return new Response(
        pagesFor(request).outcome(
          page,
          hasId ? { ...names, reference: signInIdOf(browserState) } : names,
        ),
        { status, headers: all },
      );
    },
  };
}

/** A picture of the pages: the same for everyone, and without a secret in its address. */
export function createPictureResponse({ mediaType, base64 }: Picture): () => Response {
  const bytes = Buffer.from(base64, 'base64');
  const headers = {
    ...EVERYWHERE,
    'Cache-Control': 'public, max-age=86400',
    'Content-Type': mediaType,
    // An SVG that a user opens alone runs nothing, and loads nothing.
    'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
  };
  return () => new Response(bytes, { headers });
}
