/** A row of profiles.ts: what the relay knows about one provider. */
import type { ProviderConfig } from './config.ts';
import type { RedirectKind } from './redirect-uris.ts';

/** Placeholder for the address of a server that people host themselves. */
export const OWN_URL = '[url]';

/** What the relay uses unless the operator sets something else. URLs may contain OWN_URL. */
type Defaults = Omit<
  Partial<ProviderConfig>,
  'name' | 'clientId' | 'clientSecret' | 'callbackIssuer'
> &
  Pick<ProviderConfig, 'displayName' | 'authorizeUrl' | 'tokenUrl' | 'pkce'>;

export interface Profile extends Defaults {
  /** What replaces OWN_URL unless the operator sets another. Absent if it must be set. */
  readonly defaultUrl?: string;
  /** Default: it is required. `optional`: PKCE suffices. `none`: it issues none. */
  readonly clientSecret?: 'optional' | 'none';
  /** Default: a space (RFC 6749 §3.3). */
  readonly scopeSeparator?: ',';
  /** What the `User-Agent` of token requests should name, if it requires one. */
  readonly userAgentNames?: string;
  /** Which sign-ins give a refresh token, if the relay sends what the profile says. Default: all. */
  readonly refreshToken?: 'sometimes' | 'never';
  /** When a refresh gives a new refresh token. Default: always. */
  readonly rotation?: 'sometimes' | 'never';
  /** Which redirect URIs it refuses. Absent if no rule is known. */
  readonly refusedRedirects?: readonly RedirectKind[];
}
