/**
 * What the relay knows of a provider, as plain data. Whatever differs between
 * providers is a field here; there is one flow for all of them.
 */

/** How the verifier becomes the challenge. RFC 7636 §4.2. */
export type PkceMethod = 'none' | 'plain' | 'S256';

/** Where the client secret goes in the exchange. RFC 6749 §2.3.1. */
export type ClientAuthentication = 'post' | 'basic';

export interface Provider {
  /** The `service` of the protocol and the segment in its addresses. */
  readonly name: string;
  /** What people are shown. */
  readonly displayName: string;
  readonly authorizeUrl: string;
  readonly tokenUrl: string;
  readonly clientId: string;
  /** Sent in the exchange when there is one, never anywhere else. */
  readonly clientSecret?: string;
  readonly clientAuth: ClientAuthentication;
  readonly pkce: PkceMethod;
  /** The `scope` parameter, as sent; absent means the parameter is not sent. */
  readonly scope?: string;
  /** Further parameters of the authorize address, such as `access_type=offline`. */
  readonly authorizeParams: Readonly<Record<string, string>>;
}
