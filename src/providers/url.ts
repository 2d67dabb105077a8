/**
 * The rules for URLs to which the relay sends secrets, the same for settings and for
 * discovery documents.
 */

/** Undefined unless the text is an absolute http(s) URL that the parser need not correct. */
export function parseUrl(text: string): URL | undefined {
  // The parser would correct `https:host`, backslashes and spaces, which are probably mistakes.
  if (!/^https?:\/\/[^/?#\s\\][^\s\\]*$/i.test(text)) return undefined;
  // It accepts these in a host or a path, but no URL contains them (RFC 3986 §2).
  if (/[\p{Cc}\p{Cs}"<>]/u.test(text)) return undefined;
  return URL.canParse(text) ? new URL(text) : undefined;
}

/** True for hosts on this machine, to which plain http is harmless. */
export function isLoopback({ hostname }: Pick<URL, 'hostname'>): boolean {
  return /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);
}

/** True if others on the network path can read what is sent there. */
export function isUnencrypted(url: URL): boolean {
  return url.protocol === 'http:' && !isLoopback(url);
}

/** True if the URL contains a user name or password, even an empty one. */
export function hasUserInfo(text: string): boolean {
  return /^https?:\/\/[^/?#]*@/i.test(text);
}

/**
 * What is wrong with an endpoint or an issuer of a provider. Codes and secrets are sent
 * there, so it must be https or on this machine.
 * @see RFC 6749 §3.1, §3.2 (TLS, no fragment) https://www.rfc-editor.org/rfc/rfc6749#section-3.1
 */
export function findUrlProblem(text: string): string | undefined {
  const url = parseUrl(text);
  if (!url) return 'must be a URL such as https://provider.example/path';
  if (hasUserInfo(text)) return 'must not contain a user name or password';
  if (text.includes('#')) return 'must not contain a fragment (#)';
  if (isUnencrypted(url)) {
    return 'must be https: plain http would send codes and secrets unencrypted';
  }
  return undefined;
}

/** The parameters of each request that the relay sets itself. */
const OWN_PARAMETERS = {
  /** RFC 6749 §4.1.1, §3.3, RFC 7636 §4.3. */
  authorization_endpoint: [
    'response_type',
    'client_id',
    'redirect_uri',
    'state',
    'code_challenge',
    'code_challenge_method',
    'scope',
  ],
  /** RFC 6749 §4.1.3, §6, §2.3.1, RFC 7636 §4.5. */
  token_endpoint: [
    'grant_type',
    'code',
    'redirect_uri',
    'client_id',
    'client_secret',
    'code_verifier',
    'refresh_token',
    'scope',
  ],
  /** RFC 7009 §2.1, RFC 6749 §2.3.1, and SoundCloud's. */
  revocation_endpoint: ['token', 'token_type_hint', 'access_token', 'client_id', 'client_secret'],
} as const;

/** An endpoint by its name in RFC 8414 §2. */
export type Endpoint = keyof typeof OWN_PARAMETERS;

/** The first parameter of the query that the relay sets itself: none may appear twice (RFC 6749 §3.1). */
export function findOwnParameter(endpoint: Endpoint, query: URLSearchParams): string | undefined {
  return OWN_PARAMETERS[endpoint].find((name) => query.has(name));
}

export function findEndpointUrlProblem(endpoint: Endpoint, text: string): string | undefined {
  const problem = findUrlProblem(text);
  if (problem !== undefined) return problem;
  const name = findOwnParameter(endpoint, new URL(text).searchParams);
  return name && `must not contain ${name}: the relay sets it`;
}
