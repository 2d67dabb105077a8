/**
 * Discovers a provider's endpoints from its issuer.
 * @see OpenID Connect Discovery 1.0 §4 https://openid.net/specs/openid-connect-discovery-1_0.html#ProviderConfig
 * @see RFC 8414 §3 https://www.rfc-editor.org/rfc/rfc8414#section-3
 */
import { readAtMost } from '../body.ts';
import { DISCOVERY_BYTES, DISCOVERY_TIMEOUT_MS } from '../limits.ts';
import {
  type ClientAuthentication,
  type Fetch,
  type PkceMethod,
  type ProviderConfig,
  prefixOf,
  type Revocation,
  USER_AGENT,
} from './config.ts';
import { describeConnectProblem } from './connect-problem.ts';
import { parseObject } from './token-response.ts';
import { type Endpoint, findEndpointUrlProblem } from './url.ts';

/** A provider that is configured by `<PROVIDER>_ISSUER`. Settings override what the issuer announces. */
export type ProviderToDiscover = Partial<ProviderConfig> &
  Pick<ProviderConfig, 'name' | 'displayName' | 'clientId' | 'authorizeParams'> & {
    readonly issuer: string;
  };

export type EnabledProvider = ProviderConfig | ProviderToDiscover;

export const mustDiscover = (provider: EnabledProvider): provider is ProviderToDiscover =>
  'issuer' in provider;

export type Discovery =
  | { readonly provider: ProviderConfig; readonly problem?: undefined }
  /** Why the provider cannot be used, for the log. Contains no secret. */
  | { readonly problem: string; readonly provider?: undefined };

export type Metadata = NonNullable<ReturnType<typeof parseMetadata>>;

/**
 * The provider as its issuer describes it, or why it cannot be used. Never throws, and follows
 * no redirect. `timeoutMs` bounds the requests to both well-known URLs together.
 */
export async function discoverProvider(
  provider: ProviderToDiscover,
  fetch: Fetch,
  timeoutMs: number = DISCOVERY_TIMEOUT_MS,
): Promise<Discovery> {
  const signal = AbortSignal.timeout(timeoutMs);
  // OpenID appends the well-known path to the issuer's; RFC 8414 §3.1 puts it before. Both drop a final slash.
  const { origin, pathname } = new URL(provider.issuer);
  const path = withoutFinalSlash(pathname);
  const problems: string[] = [];
  for (const url of [
    `${origin}${path}/.well-known/openid-configuration`,
    `${origin}/.well-known/oauth-authorization-server${path}`,
  ]) {
    const found = await readMetadata(url, fetch, signal);
    if ('problem' in found) {
      problems.push(found.problem);
      if (!found.isMissing) break;
    } else {
      const { authorizeUrl, tokenUrl } = provider;
      const named = [found.authorization_endpoint, found.token_endpoint, authorizeUrl, tokenUrl];
      // Some issuers have an OpenID document for other purposes, such as their keys.
      if (named.some(Boolean)) return describeProvider(provider, found);
      problems.push(`${url} has no endpoints`);
    }
  }
  return { problem: problems.join('; ') };
}

const withoutFinalSlash = (text: string) => text.replace(/\/$/, '');

interface Unread {
  readonly problem: string;
  /** True if there is no such document, so another may be tried. */
  readonly isMissing: boolean;
  readonly status?: number;
}

export async function readMetadata(
  url: string,
  fetch: Fetch,
  signal: AbortSignal,
): Promise<Metadata | Unread> {
  const failed = (problem: string, isMissing = false): Unread => {
    return { problem: `${url} ${problem}`, isMissing };
  };
  try {
    const response = await fetch(url, {
      // A compressed document could become far longer than the limit.
      headers: {
        Accept: 'application/json',
        'Accept-Encoding': 'identity',
        'User-Agent': USER_AGENT,
      },
      redirect: 'manual',
      // Otherwise the first exchange may get this connection just as the provider closes it.
      keepalive: false,
      signal,
    });
    if (response.status !== 200 || response.body === null) {
      await response.body?.cancel();
      const { status } = response;
      return { ...failed(`answered ${status}`, status >= 400 && status < 500), status };
    }
    const { text, isTruncated } = await readAtMost(response.body.getReader(), DISCOVERY_BYTES);
    if (isTruncated) return failed(`is longer than ${DISCOVERY_BYTES} bytes`);
    return parseMetadata(text) ?? failed('is not a discovery document', true);
  } catch (error) {
    if (signal.aborted) return failed('took too long');
    const { cause, code = 'no connection' } = describeConnectProblem(error);
    const hint =
      cause === 'tls'
        ? ': if its certificate is from your own CA, name that in NODE_EXTRA_CA_CERTS'
        : '';
    return failed(`could not be read (${code})${hint}`);
  }
}

/** Reads members by name, so that unknown ones have no effect. Undefined if it is not a discovery document. RFC 8414 §2. */
function parseMetadata(text: string) {
  const json = parseObject(text) ?? {};
  const { issuer, code_challenge_methods_supported, token_endpoint_auth_methods_supported } = json;
  const authorization_endpoint = json.authorization_endpoint ?? '';
  const token_endpoint = json.token_endpoint ?? '';
  if (!isString(issuer) || !isString(authorization_endpoint) || !isString(token_endpoint)) {
    return undefined;
  }
  if (!isListOrAbsent(code_challenge_methods_supported)) return undefined;
  if (!isListOrAbsent(token_endpoint_auth_methods_supported)) return undefined;
  return {
    issuer,
    authorization_endpoint,
    token_endpoint,
    code_challenge_methods_supported,
    token_endpoint_auth_methods_supported,
    revocation_endpoint: json.revocation_endpoint,
    revocation_endpoint_auth_methods_supported: json.revocation_endpoint_auth_methods_supported,
    authorization_response_iss_parameter_supported:
      json.authorization_response_iss_parameter_supported,
    require_pushed_authorization_requests: json.require_pushed_authorization_requests,
  };
}

const isString = (value: unknown): value is string => typeof value === 'string';
const isStringList = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every(isString);
/** Some servers write null for what they don't have. */
const isListOrAbsent = (value: unknown): value is readonly string[] | null | undefined =>
  value == null || isStringList(value);

function describeProvider(provider: ProviderToDiscover, metadata: Metadata): Discovery {
  const { issuer, ...given } = provider;
  // Compared exactly, so that no issuer can impersonate another. RFC 8414 §3.3.
  if (metadata.issuer !== issuer) {
    const isSlash = withoutFinalSlash(metadata.issuer) === withoutFinalSlash(issuer);
    const remedy = `${isSlash ? 'write exactly that in' : 'check'} ${prefixOf(provider.name)}ISSUER`;
    return {
      problem: `the metadata of ${issuer} names the issuer ${quote(metadata.issuer)}: ${remedy}`,
    };
  }
  const authorizeUrl = given.authorizeUrl ?? metadata.authorization_endpoint;
  const tokenUrl = given.tokenUrl ?? metadata.token_endpoint;
  // The operator's own endpoints were checked with the settings.
  const problem =
    (given.authorizeUrl === undefined &&
      findDiscoveredProblem(issuer, 'authorization_endpoint', authorizeUrl)) ||
    (given.tokenUrl === undefined && findDiscoveredProblem(issuer, 'token_endpoint', tokenUrl));
  if (problem) return { problem: `${issuer}: ${problem}` };
  // RFC 9126 §5. Bluesky and other servers of the AT Protocol: https://atproto.com/specs/oauth
  if (metadata.require_pushed_authorization_requests === true) {
    return {
      problem: `${issuer} accepts only pushed authorization requests, which the relay does not send`,
    };
  }
  const { token_endpoint_auth_methods_supported: methods } = metadata;
  const clientAuth = given.clientAuth ?? chooseClientAuth(given.clientSecret, methods);
  if (!clientAuth)
    return { problem: `${issuer} does not accept client_secret_post or client_secret_basic` };
  const pkce = given.pkce ?? choosePkce(metadata);
  const revocation = given.revocation ?? findRevocation(metadata, given.clientSecret);
  const isRequired = metadata.authorization_response_iss_parameter_supported === true;
  return {
    provider: {
      ...given,
      callbackIssuer: { url: issuer, isRequired },
      authorizeUrl,
      tokenUrl,
      clientAuth,
      pkce,
      ...(revocation !== undefined && { revocation }),
    },
  };
}

/** Undefined also if the endpoint cannot be used: users can sign in without it. RFC 8414 §2. */
function findRevocation(
  {
    issuer,
    revocation_endpoint: url,
    revocation_endpoint_auth_methods_supported: methods,
  }: Metadata,
  clientSecret: string | undefined,
): Revocation | undefined {
  if (!isString(url) || findDiscoveredProblem(issuer, 'revocation_endpoint', url)) return undefined;
  // An issuer that lists no methods expects those of its token endpoint.
  if (!isStringList(methods)) return { url };
  const clientAuth = chooseClientAuth(clientSecret, methods);
  return clientAuth && { url, clientAuth };
}

function findDiscoveredProblem(issuer: string, field: Endpoint, url: string): string | undefined {
  const isPlain = (text: string) => new URL(text).protocol === 'http:';
  // Plain http is accepted only on this machine, and only from an issuer on this machine.
  const problem =
    findEndpointUrlProblem(field, url) ??
    (isPlain(url) && !isPlain(issuer) ? 'must be https, as its issuer is' : undefined);
  return problem && `${field} is ${quote(url)}: it ${problem}`;
}

/** An issuer that lists no methods does not support PKCE. RFC 8414 §2, `code_challenge_methods_supported`. */
function choosePkce({ code_challenge_methods_supported: methods }: Metadata): PkceMethod {
  if (methods?.includes('S256')) return 'S256';
  return methods?.includes('plain') ? 'plain' : 'none';
}

/** An issuer that lists no methods expects `client_secret_basic`. OpenID Connect Discovery 1.0 §3. */
function chooseClientAuth(
  clientSecret: string | undefined,
  methods: readonly string[] | null | undefined,
): ClientAuthentication | undefined {
  // A client that has no secret sends its id in the form, so there is nothing to choose.
  if (!clientSecret || methods?.includes('client_secret_post')) return 'post';
  return !methods || methods.includes('client_secret_basic') ? 'basic' : undefined;
}

/** Text from the issuer, safe on one line of the log. */
function quote(text: string): string {
  return JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}…` : text);
}
