/** Why a provider sent a user back without a code, in words that are safe to log. */

const NAMES: ReadonlySet<string> = new Set([
  /* RFC 6749 §4.1.2.1. */
  'invalid_request',
  'unauthorized_client',
  'access_denied',
  'unsupported_response_type',
  'invalid_scope',
  'server_error',
  'temporarily_unavailable',
  /* OpenID Connect Core §3.1.2.6. */
  'interaction_required',
  'login_required',
  'account_selection_required',
  'consent_required',
  'invalid_request_uri',
  'invalid_request_object',
  'request_not_supported',
  'request_uri_not_supported',
  'registration_not_supported',
]);

/** The error if it is a standard one: anybody can put other words into a callback. */
export function nameAuthorizationError(error: string): string {
  return NAMES.has(error) ? error : 'other';
}
