/** The configuration of a provider as plain data, and the function that sends requests to providers. */
import type { Grant, ProviderError } from '../monitor.ts';

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
  /** Where refresh tokens go. Default: to the token endpoint (RFC 6749 §6). */
  readonly refreshUrl?: string;
  readonly clientId: string;
  /** Sent only to the token endpoint. */
  readonly clientSecret?: string;
  readonly clientAuth: ClientAuthentication;
  readonly pkce: PkceMethod;
  /** The `scope` parameter, as sent. Not sent if absent. */
  readonly scope?: string;
  /** Further parameters for the authorization endpoint, such as `access_type=offline`. */
  readonly authorizeParams: Readonly<Record<string, string>>;
  /** How its token endpoint differs from RFC 6749. */
  readonly quirks?: ProviderQuirks;
  /** What its errors mean, where they are not those of RFC 6749 §5.2. */
  readonly knownErrors?: readonly KnownError[];
  /** What `iss` of a callback must be, if the provider was discovered. RFC 9207 §2.4. */
  readonly callbackIssuer?: { readonly url: string; readonly isRequired: boolean };
  /** Absent if the provider has none, or none is known. */
  readonly revocation?: Revocation;
  /** Where a user removes the app at the provider: a URL, or the way through its settings. */
  readonly removeAt?: string;
}

/** The revocation endpoint, and how its requests differ from RFC 7009 §2.1. */
export interface Revocation {
  /** May contain `[client id]`, which the relay replaces. */
  readonly url: string;
  /** Default: access and refresh tokens. */
  readonly takes?: 'access tokens';
  /** Default: POST. */
  readonly method?: 'DELETE';
  /** Default: that of token requests. `client_id`: without the secret. `none`: the token suffices. */
  readonly clientAuth?: ClientAuthentication | 'client_id' | 'none';
  /** Default: `token`. `bearer`: in the `Authorization` header, without a body. */
  readonly tokenIn?: 'access_token' | 'bearer';
  /** Default: as in token requests. */
  readonly body?: 'json';
}

/** What some token endpoints require beyond RFC 6749. profiles.ts says whose. */
export interface ProviderQuirks {
  /** Token requests are JSON, not a form. */
  readonly tokenRequest?: 'json';
  /** A header that contains the client id too. */
  readonly clientIdHeader?: string;
  /** The `User-Agent` of token requests instead of USER_AGENT: some providers want it to name the app. */
  readonly userAgent?: string;
  /** True if a refresh needs the redirect URI, as the exchange does. */
  readonly refreshesWithRedirectUri?: true;
  /** True if commas separate the scopes of a response. */
  readonly commaInScope?: true;
}

/** A response that means an error of RFC 6749, although it has another error or none. */
export interface KnownError {
  /** RFC 6749 §5.2 has no error for a redirect URI that is not registered, and for a fault that passes. */
  readonly means: ProviderError | 'redirect_uri_mismatch' | 'temporarily_unavailable';
  /** Default: any below 500, except 429. */
  readonly status?: number;
  /** Default: any. */
  readonly grant?: Grant;
  /** True if the request must have named a scope, false if it must not. Default: either. */
  readonly hasScope?: boolean;
  /** Members that the body must have, exactly. */
  readonly body: Expected;
}

/** What a member must be. One element of a list must match. */
export type Expected = string | number | boolean | { readonly [name: string]: Expected };

/** Whether devices may, or must, exchange the code themselves. */
export type BlindPolicy = 'allow' | 'never' | 'always';

/**
 * True if a device can exchange the code itself, and refresh at the same endpoint: with its own
 * verifier, and without a client secret. Assumed true until discovery reports the PKCE method.
 */
export function mayTakeChallenge({
  pkce = 'S256',
  clientSecret,
  refreshUrl,
}: Partial<Pick<ProviderConfig, 'pkce' | 'clientSecret' | 'refreshUrl'>>): boolean {
  return pkce === 'S256' && clientSecret === undefined && refreshUrl === undefined;
}

/** The prefix of a provider's settings: `MY_ACME_` for `my-acme`. */
export function prefixOf(provider: string): string {
  return `${provider.toUpperCase().replaceAll('-', '_')}_`;
}

/** The default `User-Agent`: GitHub answers 403 to requests without one, and Cloudflare Workers send none. */
export const USER_AGENT = 'sign-in-relay';

/** A request to a provider. No redirect is followed, and each has a deadline. */
export interface FetchInit {
  readonly method?: 'POST' | 'DELETE';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly redirect: 'manual';
  /** False for a connection of its own, which is not reused. */
  readonly keepalive?: boolean;
  readonly signal: AbortSignal;
}

export type Fetch = (url: string, init: FetchInit) => Promise<ProviderResponse>;

/** The part of a `Response` that is read. A real one cannot have every status that servers send, such as 999. */
export type ProviderResponse = Pick<Response, 'status' | 'headers' | 'body' | 'text'>;
