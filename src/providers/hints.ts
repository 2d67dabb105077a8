/**
 * What an operator can do about a failure: which setting to change, or what to check. A hint
 * contains no text from a provider. docs/reference.md lists the events.
 */
import { EXCHANGE_TIMEOUT_MS, TOKEN_RESPONSE_BYTES } from '../limits.ts';
import type { Grant, ProviderError } from '../monitor.ts';
import type { ExpiredStage } from '../sign-ins/session.ts';
import { type ClientAuthentication, prefixOf } from './config.ts';
import type { Provider } from './provider.ts';
import type { TokenFailure } from './token-response.ts';

/**
 * An error in the body takes precedence over the status: a server that names an error is at the
 * right address, even with a 404.
 */
export function hintForTokenFailure(
  provider: Provider,
  failure: TokenFailure,
  grant: Grant,
): string {
  const { displayName, name } = provider;
  const { reason, status = 200, answer, providerError = failure.refusal } = failure;
  const { host, url, kind } = endpointOf(provider, grant);
  if (reason === 'timeout') {
    return `${displayName} did not answer at ${host} within ${EXCHANGE_TIMEOUT_MS / 1_000} s: try again later, or check for a firewall in between`;
  }
  if (reason === 'unreachable') return hintForConnection(provider, failure, grant);
  if (reason === 'too_large') {
    return `the response of ${host} is longer than ${TOKEN_RESPONSE_BYTES / 1_024} KiB, ${NO_SETTING}: ask for fewer scopes or claims`;
  }
  if (status === 429) {
    return `${displayName} limits requests (429): try again later, or ask it for a higher limit`;
  }
  if (status >= 500) {
    const error = providerError === undefined ? '' : ` and ${providerError}`;
    return `${displayName} has an internal error (it answered ${status}${error}): try again later`;
  }
  if (providerError !== undefined) return hintForError(provider, providerError, grant);
  if (status >= 300 && status < 400) return `${host} redirects: ${remedyForAddress(provider, url)}`;
  // The body may be JSON: gateways send such errors.
  if (status === 404 || status === 405) {
    return `${host} has no ${kind} endpoint there (${status}): ${remedyForAddress(provider, url)}`;
  }
  switch (answer) {
    case 'tokens':
      return `${displayName} answers ${status}, but RFC 6749 §5.1 requires 200, ${NO_SETTING}`;
    case 'nested':
      return `${displayName} sends the tokens inside another member of its JSON, not at the top as in RFC 6749 §5.1, ${NO_SETTING}`;
    case 'form':
    case 'jsonp': {
      const what = answer === 'form' ? 'a form' : 'JSONP';
      return `${displayName} answers with ${what} instead of JSON (RFC 6749 §5.1), ${NO_SETTING}`;
    }
    case 'compressed':
      return `the relay cannot decompress the response of ${host}, which it asked for without compression: ${displayName} or a proxy in between is faulty`;
    case 'temporary':
      return `${displayName} asks the relay to try again later`;
    case 'error':
      return `${displayName} answered ${status} with an error that is not OAuth's: ${causesOf(provider, grant, clientSettings(provider))}`;
  }
  if (status === 403 && answer === 'html') {
    return `${displayName} refuses this machine (403): it may block the address of your server`;
  }
  if (status !== 200) {
    return `${displayName} answered ${status} without an OAuth error: ${causesOf(provider, grant, `${url}, ${prefixOf(name)}CLIENT_ID`)}`;
  }
  return answer === 'json'
    ? `${displayName} answered 200 without an access token: check ${url} and ${prefixOf(name)}CLIENT_AUTH`
    : `the response of ${host} is not that of a token endpoint: ${displayName} may be down; if every sign-in fails, ${remedyForAddress(provider, url)}`;
}

/** An issuer may have moved its endpoint since the relay read its metadata. */
const remedyForAddress = ({ name, isDiscovered }: Provider, url: string) =>
  isDiscovered
    ? `restart the relay, which then reads the metadata of ${prefixOf(name)}ISSUER again, or correct ${url}`
    : `correct ${url}`;

const NO_SETTING = 'and no setting of the relay changes that';

/** What to check if a response does not say what was wrong. */
function causesOf({ redirectUri }: Provider, grant: Grant, settings: string): string {
  if (grant === 'revoke') return `check ${settings}`;
  return grant === 'refresh'
    ? `the refresh token may no longer be valid; if every refresh fails, check ${settings}`
    : `check ${settings} and the redirect URI ${redirectUri}`;
}

/** The host and port of an endpoint, and the setting that names it. */
function endpointOf(provider: Provider, grant: Grant) {
  const { name, tokenHost, refreshHost, revocationHost: host = '' } = provider;
  const prefix = prefixOf(name);
  if (grant === 'revoke') return { host, url: `${prefix}REVOKE_URL`, kind: 'revocation' };
  return grant === 'refresh' && refreshHost !== undefined
    ? { host: refreshHost, url: `${prefix}REFRESH_URL`, kind: 'refresh' }
    : { host: tokenHost, url: `${prefix}TOKEN_URL`, kind: 'token' };
}

function hintForConnection(provider: Provider, failure: TokenFailure, grant: Grant) {
  const { displayName } = provider;
  const { host, url } = endpointOf(provider, grant);
  const code = failure.code === undefined ? '' : ` (${failure.code})`;
  switch (failure.cause) {
    case 'dns':
      return `this machine cannot resolve the name ${host}${code}: check its DNS, and ${url}`;
    case 'refused':
      return `nothing listens at ${host}${code}: ${displayName} may be down, or check ${url} and the firewall`;
    case 'tls':
      if (/EPROTO|WRONG_VERSION/.test(code))
        return `${host} does not speak TLS${code}: correct ${url}`;
      if (code.includes('ALTNAME'))
        return `the certificate of ${host} is for another name${code}: correct ${url}`;
      if (code.includes('EXPIRED'))
        return `the certificate of ${host} has expired${code}: ${displayName} has to renew it, unless the clock of this machine is wrong`;
      return `TLS with ${host} failed${code}: check the clock and the CA certificates of this machine; name the CA of a proxy that inspects TLS in NODE_EXTRA_CA_CERTS`;
    case 'closed':
      return `${host} closes the connection${code}: ${displayName} may be down, or a firewall closes it`;
    case 'malformed':
      return `the response of ${host} is not HTTP, or has more than 16 KB of headers${code}: ${displayName} or a proxy in between is faulty`;
    default:
      return `${displayName} could not be reached at ${host}${code}: check the network of this machine`;
  }
}

/** The hint for an error of RFC 6749 §5.2. */
function hintForError(
  provider: Provider,
  error: ProviderError | 'redirect_uri_mismatch',
  grant: Grant,
): string {
  const { displayName, name, redirectUri, hasClientSecret, clientAuth } = provider;
  const prefix = prefixOf(name);
  switch (error) {
    case 'redirect_uri_mismatch':
      return hintForAuthorizationError(provider, error);
    case 'invalid_client': {
      const refuses = hasClientSecret
        ? `${displayName} refuses ${prefix}CLIENT_SECRET or ${prefix}CLIENT_ID, or needs ${prefix}CLIENT_AUTH=${otherAuth(clientAuth)}`
        : `${displayName} refuses ${prefix}CLIENT_ID; ${prefix}CLIENT_SECRET is not set, and may be needed`;
      return grant === 'exchange'
        ? `${refuses}; some providers say so too if the redirect URI registered there is not ${redirectUri}`
        : refuses;
    }
    case 'invalid_grant':
      return grant === 'refresh'
        ? `${displayName} refuses the refresh token: it has expired, was revoked, or is that of another ${prefix}CLIENT_ID, so the user signs in again`
        : `${displayName} refuses the code: if this happens at every sign-in, check ${prefix}PKCE, and ${registration(provider)}`;
    case 'unauthorized_client':
      if (grant === 'revoke') return `${displayName} does not let ${prefix}CLIENT_ID revoke tokens`;
      return `${displayName} does not allow this grant to ${prefix}CLIENT_ID: allow ${grant === 'refresh' ? 'refresh tokens' : 'the authorization code grant'} at its registration`;
    case 'invalid_scope':
      return `${displayName} refuses the scopes: correct ${prefix}SCOPE`;
    case 'unsupported_grant_type':
      return `${displayName} does not support this grant at this endpoint: correct ${endpointOf(provider, grant).url}`;
    case 'unsupported_token_type':
      return `${displayName} does not revoke tokens of this kind`;
    case 'invalid_request':
      if (grant === 'revoke') {
        return `${displayName} rejects the revocation as invalid: check ${prefix}REVOKE_URL and ${prefix}CLIENT_AUTH`;
      }
      if (grant === 'refresh') {
        return `${displayName} rejects the refresh as invalid: ${causesOf(provider, grant, clientSettings(provider))}`;
      }
      return `${displayName} rejects the request as invalid: check ${prefix}PKCE and ${prefix}CLIENT_AUTH, and ${registration(provider)}`;
  }
}

function clientSettings({ name, hasClientSecret }: Provider): string {
  const prefix = prefixOf(name);
  return hasClientSecret ? `${prefix}CLIENT_ID and ${prefix}CLIENT_SECRET` : `${prefix}CLIENT_ID`;
}

const registration = ({ redirectUri }: Provider) =>
  `register exactly this redirect URI: ${redirectUri}`;

export const otherAuth = (used: ClientAuthentication): ClientAuthentication =>
  used === 'post' ? 'basic' : 'post';

/** The hint for an error of the authorization endpoint, or for one of http/endpoints/callback.ts. RFC 6749 §4.1.2.1. */
export function hintForAuthorizationError(provider: Provider, error: string): string {
  const { displayName, name } = provider;
  const prefix = prefixOf(name);
  const registered = registration(provider);
  const unknownRedirect = `${displayName} does not know the redirect URI: with ${prefix}CLIENT_ID, ${registered}`;
  const ownFault = `${displayName} has an internal error: try again later`;
  const needsPage = `${displayName} has to show the user a page, which prompt=none forbids: remove it from ${prefix}AUTHORIZE_PARAMS`;
  const hints: Readonly<Record<string, string>> = {
    redirect_uri_mismatch: unknownRedirect,
    invalid_redirect_uri: unknownRedirect,
    invalid_scope: `${displayName} refuses the scopes: correct ${prefix}SCOPE, or allow them at the registration of ${prefix}CLIENT_ID`,
    invalid_client: `${displayName} refuses ${prefix}CLIENT_ID: correct it, and ${registered}`,
    unauthorized_client: `${displayName} does not allow the authorization code grant to ${prefix}CLIENT_ID: allow it at its registration, and ${registered}`,
    unsupported_response_type: `${displayName} does not allow response_type=code: check ${prefix}AUTHORIZE_URL, and the type of the client at its registration`,
    invalid_request: `${displayName} rejects the request as invalid: check ${prefix}PKCE and ${prefix}AUTHORIZE_PARAMS, and ${registered}`,
    server_error: ownFault,
    temporarily_unavailable: ownFault,
    interaction_required: needsPage,
    login_required: needsPage,
    account_selection_required: needsPage,
    consent_required: needsPage,
    other_issuer: `the callback does not name ${displayName} as its sender (iss, RFC 9207): the code may come from another provider; if every sign-in fails, set ${prefix}AUTHORIZE_URL and ${prefix}TOKEN_URL instead of ${prefix}ISSUER`,
    error_code: `${displayName} refuses the app with an error_code instead of an OAuth error: finish its registration there, publish it, and ${registered}`,
    none: `${displayName} sent the user back without a code: check ${prefix}AUTHORIZE_URL and ${prefix}AUTHORIZE_PARAMS`,
  };
  return (
    hints[error] ??
    `${displayName} sent the user back with an error: check ${prefix}CLIENT_ID and ${prefix}SCOPE, and ${registered}; a sign-in of your own shows what it says`
  );
}

/** `provider` is undefined if it is not discovered. */
export function hintForExpired(provider: Provider | undefined, stage: ExpiredStage): string {
  switch (stage) {
    case 'started':
      return 'nobody opened the link: that is common; if it happens every time, check that users can reach OAUTH_BASE_URL';
    case 'opened':
      return provider === undefined
        ? 'the user did not come back from the provider'
        : `the user did not come back from ${provider.displayName}: if it happens every time, the redirect URI registered there is not ${provider.redirectUri}, or ${prefixOf(provider.name)}CLIENT_ID is wrong`;
    case 'called_back':
      return 'the device did not fetch its result: it was switched off, or a proxy ends polls before POLL_SECONDS';
  }
}
