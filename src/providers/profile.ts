/**
 * The facts about one provider: what the relay sends to it, what an operator has to do before
 * signing in works, and where that was read. profiles/ has one file for each, of at most 45 lines.
 */
import type { ClientAuthentication, PkceMethod, ProviderQuirks, Revocation } from './config.ts';
import type { RedirectKind } from './redirect-uris.ts';

/** Placeholder for the address of a server that people host themselves. */
export const OWN_URL = '[url]';

export interface Profile {
  /** How the provider writes its name. */
  readonly displayName: string;
  /** What the relay sends unless the operator sets something else. All URLs may contain OWN_URL. */
  readonly authorizeUrl: string;
  readonly tokenUrl: string;
  /** Where refresh tokens go, if not to the token endpoint. */
  readonly refreshUrl?: string;
  /** What replaces OWN_URL unless the operator sets another. Absent: it must be set. */
  readonly defaultUrl?: string;
  readonly pkce: PkceMethod;
  /** Absent: post. */
  readonly clientAuth?: ClientAuthentication;
  /** Absent: it is required. `optional`: PKCE suffices. `none`: it issues none. */
  readonly clientSecret?: 'optional' | 'none';
  /** Absent: the parameter is not sent. */
  readonly scope?: string;
  /** Absent: a space (RFC 6749 §3.3). */
  readonly scopeSeparator?: ',';
  /** Such as those with which it gives a refresh token. */
  readonly authorizeParams?: Readonly<Record<string, string>>;
  readonly quirks?: ProviderQuirks;
  /** What the `User-Agent` of token requests should name, if it requires one. */
  readonly userAgentNames?: string;
  /** Absent: it has no revocation endpoint, or none is known. */
  readonly revocation?: Revocation;
  /** Where a user removes the app: a URL, or the way through its settings. */
  readonly removeAt?: string;
  readonly refreshToken:
    | 'never'
    | {
        /** `sometimes`: `unverified` or a trap says to whom. */
        readonly given:
          | 'always'
          | 'with the parameters above'
          | 'with the scope above'
          | 'sometimes';
        /** Whether a refresh gives another refresh token, so that the device must store it. */
        readonly rotates: 'yes' | 'no' | 'sometimes';
      };
  readonly lifetime: string;
  /** Its own device flow, with which some apps do not need the relay. Absent: none was found. */
  readonly deviceFlow?: string;
  /** Which redirect URIs it refuses. Absent: no rule is known. */
  readonly refusedRedirects?: readonly RedirectKind[];
  /** What it asks before everybody may sign in. Absent: nothing is known. */
  readonly review?: string;
  /** The page on which an app is registered. */
  readonly registration: string;
  /** What to enter there, step by step. The guide adds the redirect URI, unless a step names it. */
  readonly register: readonly string[];
  /** What goes wrong there, and what to do. */
  readonly traps: readonly string[];
  /** Where it publishes its endpoints: RFC 8414 §3, OpenID Connect Discovery 1.0 §4. `npm run check-profiles` compares them. */
  readonly metadata?: string;
  /** The pages on which the facts were read. */
  readonly sources: readonly string[];
  /** The day on which somebody last compared the facts with the sources. */
  readonly checked: string;
  /** Facts that may be wrong, and why: the sources differ, or none was found. */
  readonly unverified?: Readonly<Record<string, string>>;
}
