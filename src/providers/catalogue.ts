/** What is known of providers before an operator registers with one: a profile, or the addresses alone. */
import { ADDRESSES } from './addresses.ts';
import { findProfile, PROFILE_NAMES } from './profiles/index.ts';
import type { Profile } from './profiles/profile.ts';
import type { ClientAuthentication, PkceMethod, ProviderQuirks } from './provider.ts';

export interface ProviderFacts {
  /** How the provider writes its name. Absent: its name with a capital. */
  readonly displayName?: string;
  /** May contain SUBDOMAIN, which the operator replaces. */
  readonly authorizeUrl: string;
  readonly tokenUrl: string;
  /** Absent: `post`. */
  readonly clientAuth?: ClientAuthentication;
  /** Absent: not known, so none is used. */
  readonly pkce?: PkceMethod;
  /** Absent: none is sent. */
  readonly scope?: string;
  readonly authorizeParams?: Readonly<Record<string, string>>;
  readonly quirks?: ProviderQuirks;
}

/** What `PROVIDERS` lists unless it is set. */
export const DEFAULT_NAMES: readonly string[] = ['mal', 'anilist'];

/** Providers of which little more than the addresses is known. */
export const ADDRESS_NAMES: readonly string[] = Object.keys(ADDRESSES);

export const KNOWN_NAMES: readonly string[] = [...PROFILE_NAMES, ...ADDRESS_NAMES];

export function findAddresses(name: string): ProviderFacts | undefined {
  return Object.hasOwn(ADDRESSES, name) ? ADDRESSES[name] : undefined;
}

export function findFacts(name: string): ProviderFacts | undefined {
  const profile = findProfile(name);
  return profile ? factsOf(profile) : findAddresses(name);
}

/** Sent where a provider wants a `User-Agent` and the operator has set none. */
const USER_AGENT = 'sign-in-relay';

function factsOf(profile: Profile): ProviderFacts {
  const { tokenRequest, clientIdHeader, userAgent, refreshesWithRedirectUri } = profile;
  const quirks: ProviderQuirks = {
    ...(tokenRequest && { tokenRequest: tokenRequest.value }),
    ...(clientIdHeader && { clientIdHeader: clientIdHeader.value }),
    ...(userAgent && { userAgent: USER_AGENT }),
    ...(refreshesWithRedirectUri && { refreshesWithRedirectUri: true }),
  };
  return {
    displayName: profile.displayName,
    authorizeUrl: profile.authorizeUrl.value,
    tokenUrl: profile.tokenUrl.value,
    clientAuth: profile.clientAuth.value,
    pkce: profile.pkce.value,
    ...(profile.scope.value !== '' && { scope: profile.scope.value }),
    ...(profile.authorizeParams && { authorizeParams: profile.authorizeParams.value }),
    ...(Object.keys(quirks).length > 0 && { quirks }),
  };
}
