/**
 * Responses of the device grant, and what each refusal becomes there. Polls are refused with 400,
 * because standard clients treat any other status as final. RFC 6749 §5, RFC 8628 §3.5.
 */
import type { TokenResult } from '../sign-ins/session.ts';
import {
  DATA_HEADERS,
  errorResponse,
  type HeaderFields,
  isKeyOf,
  REFUSALS,
  type Refusal,
  retryAfter,
} from './responses.ts';

/** RFC 6749 §5.1 requires Cache-Control and Pragma. */
const OAUTH_HEADERS = {
  ...DATA_HEADERS,
  'Content-Type': 'application/json',
  Pragma: 'no-cache',
} as const;

const ERRORS = {
  /* RFC 6749 §5.2. */
  invalid_request: 'The request is incomplete or malformed',
  invalid_client: 'The provider does not accept this relay',
  invalid_grant: 'The code or token is not valid here',
  unauthorized_client: 'The provider does not allow this relay to do that',
  unsupported_grant_type: 'Only device_code and refresh_token are granted',
  invalid_scope: 'The provider does not accept the scope',
  /* RFC 7009 §2.2.1. */
  unsupported_token_type: 'The provider does not revoke such tokens',
  /* RFC 8628 §3.5. */
  authorization_pending: 'The user has not signed in yet',
  slow_down: 'Too many requests; wait five seconds longer',
  access_denied: 'The user declined',
  expired_token: 'The sign-in has expired, or its result was delivered; start again',
  /* The relay's own: docs/device-grant.md "Errors". */
  authorization_failed: 'The provider did not sign the user in',
  missing_code: 'The provider sent the user back without a code',
  exchange_failed: 'The provider gave no tokens for its code',
  /* RFC 6749 §4.1.2.1. */
  temporarily_unavailable: 'Not possible now; try again later',
  /* RFC 6749 §8.5 allows further errors. */
  not_found: 'There is no such endpoint',
  method_not_allowed: 'The method is not allowed here',
} as const;

type OAuthError = keyof typeof ERRORS;

export function oauthResponse(body: object, headers?: HeaderFields, status = 200): Response {
  return new Response(JSON.stringify(body), { status, headers: { ...OAUTH_HEADERS, ...headers } });
}

/** RFC 7009 §2.2. */
export function revokedResponse(): Response {
  const { 'Content-Type': _, ...headers } = OAUTH_HEADERS;
  return new Response(null, { headers });
}

/** `description`: instead of the usual one. Contains nothing from the request. */
export function oauthErrorResponse(
  error: OAuthError,
  details: { status?: number; headers?: HeaderFields; description?: string | undefined } = {},
): Response {
  const { status = 400, description = ERRORS[error], headers } = details;
  return oauthResponse({ error, error_description: description }, headers, status);
}

export const missingParameter = (name: string) =>
  oauthErrorResponse('invalid_request', { description: `${name} is missing` });

/**
 * For routes of the device grant. `limitedStatus` is the status for an address above its rate
 * limit. After a 503 a load balancer may try another instance, which may not be stopping, or may
 * have discovered the provider.
 */
export function oauthResponseTo(
  { refusal, retryAfterMs, description }: Refusal,
  limitedStatus = 400,
): Response {
  const headers = retryAfter(retryAfterMs);
  switch (refusal) {
    case 'rate_limited':
      return oauthErrorResponse('slow_down', { headers, status: limitedStatus });
    case 'origin_not_allowed':
      // Only browsers get this refusal, and no page may read it.
      return errorResponse(refusal);
    case 'invalid_client_address':
      return oauthErrorResponse('invalid_request', { description: 'Invalid client address' });
    case 'not_found':
    case 'method_not_allowed':
      return oauthErrorResponse(refusal, { status: REFUSALS[refusal].status });
    case 'busy':
      return oauthErrorResponse('temporarily_unavailable');
    case 'draining':
    case 'undiscovered':
    case 'undecided':
      return oauthErrorResponse('temporarily_unavailable', { headers, status: 503, description });
    default:
      return oauthErrorResponse(isKeyOf(ERRORS, refusal) ? refusal : 'invalid_request', {
        description,
      });
  }
}

/** RFC 6749 §5.1. Always with `scope`, because some clients fail without it. */
export function describeOAuthTokens(tokens: TokenResult): object {
  return {
    access_token: tokens.accessToken,
    token_type: tokens.tokenType ?? 'Bearer',
    expires_in: tokens.expiresIn,
    refresh_token: tokens.refreshToken,
    scope: tokens.scope ?? '',
    id_token: tokens.idToken,
  };
}
