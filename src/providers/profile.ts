/** The facts about one provider that a program reads: a row of profiles.ts. */
import type {
  ClientAuthentication,
  PkceMethod,
  ProviderQuirks,
  Refusal,
  Revocation,
} from './config.ts';
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
  /** What replaces OWN_URL unless the operator sets another. Absent if it must be set. */
  readonly defaultUrl?: string;
  readonly pkce: PkceMethod;
  /** Default: post. */
  readonly clientAuth?: ClientAuthentication;
  /** Default: it is required. `optional`: PKCE suffices. `none`: it issues none. */
  readonly clientSecret?: 'optional' | 'none';
  /** Not sent if absent. */
  readonly scope?: string;
  /** Default: a space (RFC 6749 §3.3). */
  readonly scopeSeparator?: ',';
  /** Such as those with which it gives a refresh token. */
  readonly authorizeParams?: Readonly<Record<string, string>>;
  readonly quirks?: ProviderQuirks;
  /** What its refusals mean, where they are not those of RFC 6749 §5.2. */
  readonly refusals?: readonly Refusal[];
  /** What the `User-Agent` of token requests should name, if it requires one. */
  readonly userAgentNames?: string;
  /** Absent if it has no revocation endpoint, or none is known. */
  readonly revocation?: Revocation;
  /** Where a user removes the app: a URL, or the way through its settings. */
  readonly removeAt?: string;
  /** True if it gives one, if the relay sends what the profile says. */
  readonly refreshToken: 'yes' | 'sometimes' | 'never';
  /** True if it has a device flow, with which some apps do not need the relay. */
  readonly hasDeviceFlow?: true;
  /** Which redirect URIs it refuses. Absent if no rule is known. */
  readonly refusedRedirects?: readonly RedirectKind[];
  /** Facts that may be wrong. The guide says why. */
  readonly unverified?: readonly string[];
}
