/** Where the door of RFC 8628 is. */

export const AUTHORIZATION_ROUTE = '/oauth2/:service/device_authorization';
export const TOKEN_ROUTE = '/oauth2/:service/token';

/** RFC 8414 §3 puts the name before the issuer's path, OpenID Connect Discovery §4 behind it. */
export const METADATA_ROUTES = [
  '/.well-known/oauth-authorization-server/oauth2/:service',
  '/oauth2/:service/.well-known/openid-configuration',
] as const;
