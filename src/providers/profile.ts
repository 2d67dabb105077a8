/**
 * The facts about one provider: what the relay sends to it, what an operator has to do before
 * signing in works, and where each fact was read. profiles/ has one file for each.
 */
import type { ClientAuthentication, PkceMethod, ProviderQuirks, Revocation } from './provider.ts';
import type { RedirectKind } from './redirect-uris.ts';

/** Placeholder for the address of a server that people host themselves. */
export const OWN_URL = '[url]';

export interface Profile {
  /** How the provider writes its name. */
  readonly displayName: string;
  /** What the relay sends unless the operator sets something else. All URLs may contain OWN_URL. */
  readonly authorizeUrl: string;
  readonly tokenUrl: string;
  /** What replaces OWN_URL unless the operator sets another. Absent: it must be set. */
  readonly defaultUrl?: string;
  readonly clientAuth: ClientAuthentication;
  readonly pkce: PkceMethod;
  /** Absent: the parameter is not sent. */
  readonly scope?: string;
  /** Absent: a space (RFC 6749 §3.3). */
  readonly scopeSeparator?: ',';
  /** Such as those with which it gives a refresh token. */
  readonly authorizeParams?: Readonly<Record<string, string>>;
  readonly quirks?: ProviderQuirks;
  /** Absent: it has no revocation endpoint, or none is known. */
  readonly revocation?: Revocation;
  /** Where a user removes the app: a URL, or the way through its settings. */
  readonly removeAt?: string;
  /** `optional`: PKCE suffices. `none`: it issues none. */
  readonly clientSecret: 'required' | 'optional' | 'none';
  /** What the `User-Agent` of token requests should name, if it requires one. */
  readonly userAgentNames?: string;
  readonly refreshToken: 'always' | 'with the parameters above' | 'with the scope above' | 'never';
  /** Whether a refresh gives another refresh token, so that the device must store it. */
  readonly rotates: 'yes' | 'no' | 'sometimes' | 'no refresh tokens';
  readonly lifetime: string;
  /** Its own device flow, with which some apps do not need the relay. */
  readonly deviceFlow: string;
  /** How its token responses differ from RFC 6749 §5. The relay accepts them. */
  readonly responses?: readonly string[];
  /** Which redirect URIs it refuses. Absent: no rule is known. */
  readonly refusedRedirects?: readonly RedirectKind[];
  /** What it asks before everybody may sign in. Absent: nothing is known. */
  readonly review?: string;
  /** The page on which an app is registered. */
  readonly registration: string;
  /** What to enter there, step by step. The redirect URI is always one of them. */
  readonly register: readonly string[];
  /** What goes wrong there, and what to do. */
  readonly traps: readonly string[];
  readonly evidence: Evidence;
}

export interface Evidence {
  /** The last time that somebody compared the profile with its sources, and with which copies. */
  readonly checked: { readonly on: string; readonly by: keyof typeof CHECKED_BY };
  /** Where it publishes its endpoints: RFC 8414 §3, OpenID Connect Discovery 1.0 §4. `npm run check-profiles` compares them. */
  readonly metadata?: string;
  readonly sources: Readonly<Record<string, readonly FactName[]>>;
  /** Why a fact may be wrong: the sources differ, or none was found. */
  readonly unverified?: Readonly<Partial<Record<FactName, string>>>;
}

/** How a profile was compared with its sources. */
export const CHECKED_BY = {
  'stored copies': 'by reading stored copies of the sources',
  'check-profiles': 'by reading the sources after `npm run check-profiles`',
  account: 'by signing in with an account',
} as const;

/** The facts of a profile, as guides and warnings call them. A trap is a numbered problem of "What goes wrong". */
const FACTS = {
  authorizeUrl: 'authorization endpoint',
  tokenUrl: 'token endpoint',
  pkce: 'PKCE',
  clientAuth: 'client authentication',
  clientSecret: 'client secret',
  scope: 'scope',
  authorizeParams: 'authorization parameters',
  refreshToken: 'refresh token',
  rotates: 'rotation',
  lifetime: 'lifetime',
  deviceFlow: 'device flow',
  tokenRequest: 'token requests',
  clientIdHeader: 'client id header',
  userAgent: 'user agent',
  refreshesWithRedirectUri: 'redirect URI in a refresh',
  revocation: 'revocation',
  removeAt: 'where users remove the app',
  refusedRedirects: 'redirect URIs',
  review: 'review',
  registration: 'registration',
} as const;

export type FactName = keyof typeof FACTS | `response ${number}` | `trap ${number}`;

export function nameOfFact(fact: FactName): string {
  return Object.hasOwn(FACTS, fact)
    ? FACTS[fact as keyof typeof FACTS]
    : fact.replace('trap', 'problem');
}

/** Every fact of the profile that needs a source, an absent scope too: that none is needed. */
export function factsOf(profile: Profile): readonly FactName[] {
  const { quirks = {}, responses = [], traps } = profile;
  const single = (Object.keys(FACTS) as (keyof typeof FACTS)[]).filter(
    (fact) => fact === 'scope' || fact in profile || fact in quirks,
  );
  return [
    ...single,
    ...responses.map((_, index): FactName => `response ${index + 1}`),
    ...traps.map((_, index): FactName => `trap ${index + 1}`),
  ];
}

/** The names of the facts that may be wrong. */
export function findUnverified({ evidence }: Profile): readonly string[] {
  return Object.keys(evidence.unverified ?? {}).map((fact) => nameOfFact(fact as FactName));
}
