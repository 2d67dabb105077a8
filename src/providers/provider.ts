/**
 * A provider: its configuration as plain data, and its operations: authorize, exchange, refresh,
 * revoke. All providers share one flow; where they differ, the configuration has a field.
 */
import { hash } from 'node:crypto';
import type { ExchangeOutcome } from '../relay/relay.ts';
import type { RevocationOutcome, RevocationScope, TokenKind } from '../relay/revoke.ts';
import type { CodeResult } from '../relay/session.ts';
import type { Authorization } from '../relay/store.ts';
import type { TokenEndpoint, TokenFailure } from './token-endpoint.ts';
import { formEncode } from './token-endpoint.ts';

/** How the verifier becomes the challenge. RFC 7636 §4.2. */
export type PkceMethod = 'none' | 'plain' | 'S256';

/** Where the client secret goes in a token request. RFC 6749 §2.3.1. */
export type ClientAuthentication = 'post' | 'basic';

export interface ProviderConfig {
  /** The `service` of the protocol, and a path segment of its URLs. */
  readonly name: string;
  /** What users see. */
  readonly displayName: string;
  readonly authorizeUrl: string;
  readonly tokenUrl: string;
  readonly clientId: string;
  /** Sent only to the token endpoint. */
  readonly clientSecret?: string;
  readonly clientAuth: ClientAuthentication;
  readonly pkce: PkceMethod;
  /** The `scope` parameter, as sent. Absent: the parameter is not sent. */
  readonly scope?: string;
  /** Further parameters for the authorization endpoint, such as `access_type=offline`. */
  readonly authorizeParams: Readonly<Record<string, string>>;
  /** How its token endpoint differs from RFC 6749. */
  readonly quirks?: ProviderQuirks;
  /** Absent: the provider has none, or none is known. */
  readonly revocation?: Revocation;
  /** Where a user removes the app at the provider: a URL, or the way through its settings. */
  readonly removeAt?: string;
}

/** The revocation endpoint, and how its requests differ from RFC 7009 §2.1. */
export interface Revocation {
  /** May contain `[client id]`, which the relay replaces. */
  readonly url: string;
  /** Absent: access and refresh tokens. */
  readonly takes?: 'access tokens';
  /** Absent: POST. */
  readonly method?: 'DELETE';
  /** Absent: that of token requests. `client_id`: without the secret. `none`: the token suffices. */
  readonly clientAuth?: ClientAuthentication | 'client_id' | 'none';
  /** Absent: `token`. `bearer`: in the `Authorization` header, without a body. */
  readonly tokenIn?: 'access_token' | 'bearer';
  /** Absent: a form. Trakt's is JSON because all its token requests are. */
  readonly body?: 'json';
}

/** What some token endpoints require beyond RFC 6749. */
export interface ProviderQuirks {
  /** Token requests are JSON, not a form. Trakt, Notion. */
  readonly tokenRequest?: 'json';
  /** A header that contains the client id too. Trakt. */
  readonly clientIdHeader?: string;
  /** The `User-Agent` of token requests. Reddit, Shikimori, Bangumi and others. */
  readonly userAgent?: string;
  /** A refresh has the redirect URI, as the exchange has. Trakt, Bangumi, GitLab. */
  readonly refreshesWithRedirectUri?: true;
}

/** Whether devices may, or must, exchange the code themselves. */
export type BlindPolicy = 'allow' | 'never' | 'always';

/**
 * Whether a device can exchange the code itself: with its own verifier, and without a client
 * secret. True before discovery, which tells the PKCE method.
 */
export function mayTakeChallenge({
  pkce = 'S256',
  clientSecret,
}: Partial<Pick<ProviderConfig, 'pkce' | 'clientSecret'>>): boolean {
  return pkce === 'S256' && clientSecret === undefined;
}

export interface Provider {
  readonly name: string;
  readonly displayName: string;
  /** Whether a device may bring its own challenge. */
  readonly takesChallenge: boolean;
  /** Host of the authorization endpoint, for users. */
  readonly host: string;
  /** Whether a new session needs a verifier. */
  readonly usesPkce: boolean;
  /** What the operator registers at the provider. */
  readonly redirectUri: string;
  /** Host and port of the token endpoint, for the operator. */
  readonly tokenHost: string;
  readonly hasClientSecret: boolean;
  /** Which tokens can be revoked there. Undefined: none. */
  readonly revokes: RevocationScope | undefined;
  /** Host and port of the revocation endpoint, for the operator. */
  readonly revocationHost: string | undefined;
  readonly removeAt: string | undefined;
  /** RFC 6749 §4.1.1, RFC 7636 §4.3. */
  authorizeUrl(browserState: string, authorization: Authorization): string;
  /** Reserves one request. Returns false at the limit. */
  reserve(): boolean;
  release(): void;
  /** What a device needs to exchange the code itself. */
  codeForDevice(code: string): CodeResult;
  /** Sends a code to the token endpoint, once. Never rejects. RFC 6749 §4.1.3. */
  exchange(code: string, verifier: string | undefined): Promise<ExchangeOutcome<TokenFailure>>;
  /** Sends a refresh token to the token endpoint, once. Never rejects. RFC 6749 §6. */
  refresh(refreshToken: string, scope: string | undefined): Promise<ExchangeOutcome<TokenFailure>>;
  /** Sends a token to the revocation endpoint, once. Never rejects. RFC 7009 §2.1. */
  revoke(token: string, kind: TokenKind | undefined): Promise<RevocationOutcome<TokenFailure>>;
}

/** Placeholder in the URL of GitHub's revocation endpoint. */
const CLIENT_ID = '[client id]';

/** The prefix of a provider's settings: `MY_ACME_` for `my-acme`. */
export function prefixOf(provider: string): string {
  return `${provider.toUpperCase().replaceAll('-', '_')}_`;
}

/** The redirect URI, as the operator must register it at the provider. */
export function redirectUriOf(name: string, baseUrl: string): string {
  return `${baseUrl}/auth/${name}/callback`;
}

export function createProvider(
  config: ProviderConfig,
  baseUrl: string,
  tokenEndpoint: TokenEndpoint,
): Provider {
  const { name, displayName, pkce, scope } = config;
  const revocation = config.revocation && {
    ...config.revocation,
    url: config.revocation.url.replace(CLIENT_ID, encodeURIComponent(config.clientId)),
  };
  const redirectUri = redirectUriOf(name, baseUrl);
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: config.clientId,
    redirect_uri: redirectUri,
    ...(scope !== undefined && { scope }),
    ...config.authorizeParams,
  });
  const separator = config.authorizeUrl.includes('?') ? '&' : '?';
  const authorizePrefix = `${config.authorizeUrl}${separator}${query}&state=`;
  const redirectParameter = `&redirect_uri=${formEncode(redirectUri)}`;

  return {
    name,
    displayName,
    host: new URL(config.authorizeUrl).host.replace(/^www\./, ''),
    usesPkce: pkce !== 'none',
    takesChallenge: mayTakeChallenge(config),
    redirectUri,
    tokenHost: new URL(config.tokenUrl).host,
    hasClientSecret: config.clientSecret !== undefined,
    revokes: revocation && (revocation.takes ?? 'any token'),
    revocationHost: revocation && new URL(revocation.url).host,
    removeAt: config.removeAt,

    authorizeUrl(browserState, { verifier, challenge }) {
      // All are base64url, so nothing needs escaping.
      if (challenge !== undefined) return authorizePrefix + browserState + s256Query(challenge);
      const proof = verifier === undefined ? '' : challengeQuery(verifier, pkce);
      return authorizePrefix + browserState + proof;
    },

    reserve: () => tokenEndpoint.reserve(name),
    release: () => tokenEndpoint.release(name),

    codeForDevice: (code) => {
      const { tokenUrl, clientId } = config;
      const revocationUrl = revocation && isStandard(revocation) ? revocation.url : undefined;
      return {
        code,
        tokenUrl,
        clientId,
        redirectUri,
        ...(revocationUrl !== undefined && { revocationUrl }),
      };
    },

    exchange(code, verifier) {
      const grant = `grant_type=authorization_code&code=${formEncode(code)}${redirectParameter}`;
      const proof = verifier === undefined ? '' : `&code_verifier=${verifier}`;
      return tokenEndpoint.request(config, 'exchange', grant + proof);
    },

    refresh(refreshToken, narrowerScope) {
      const grant = `grant_type=refresh_token&refresh_token=${formEncode(refreshToken)}`;
      const scopes = narrowerScope === undefined ? '' : `&scope=${formEncode(narrowerScope)}`;
      const redirect = config.quirks?.refreshesWithRedirectUri ? redirectParameter : '';
      return tokenEndpoint.request(config, 'refresh', grant + scopes + redirect);
    },

    revoke(token, kind) {
      if (revocation === undefined) throw new Error(`${name} has no revocation endpoint`);
      return tokenEndpoint.revoke(config, revocation, token, kind);
    },
  };
}

/** Whether a device can revoke without the relay: with `token` and `client_id` in a form. */
function isStandard({ takes, method, tokenIn, body }: Revocation): boolean {
  return !takes && !method && !tokenIn && !body;
}

/**
 * A session keeps the verifier or the challenge with which it was started, even if the setting
 * has changed before its link is opened or its code exchanged: a provider requires a verifier
 * if and only if it got a challenge (RFC 9700 §2.1.1).
 */
function challengeQuery(verifier: string, method: PkceMethod): string {
  // With 'plain' the browser sees the verifier, but some providers support nothing else. RFC 7636 §7.2.
  if (method === 'plain') return `&code_challenge=${verifier}&code_challenge_method=plain`;
  return s256Query(hash('sha256', verifier, 'base64url'));
}

function s256Query(challenge: string): string {
  return `&code_challenge=${challenge}&code_challenge_method=S256`;
}
