/**
 * What is known of one provider: what the relay sends it, and what an operator has
 * to know before signing in works. Each fact says where it was read and on which day.
 */
import type { ClientAuthentication, PkceMethod } from '../provider.ts';

export interface Fact<T> {
  readonly value: T;
  /** Where it was read. */
  readonly sources: readonly string[];
  /** The day on which the sources were read. */
  readonly readOn: string;
  /** Why it may be wrong: the sources differ, or none was found. Absent: verified. */
  readonly unverified?: string;
}

export interface Profile {
  /** How the provider writes its name. */
  readonly displayName: string;
  readonly authorizeUrl: Fact<string>;
  readonly tokenUrl: Fact<string>;
  readonly pkce: Fact<PkceMethod>;
  readonly clientAuth: Fact<ClientAuthentication>;
  /** `optional`: PKCE alone suffices. */
  readonly clientSecret: Fact<'required' | 'optional'>;
  /** What is asked for unless the operator asks for something else. Empty: the parameter is not sent. */
  readonly scope: Fact<string>;
  /** What makes it give a refresh token, where it needs parameters for that. */
  readonly authorizeParams?: Fact<Readonly<Record<string, string>>>;
  readonly refreshToken: Fact<
    'always' | 'with the parameters above' | 'with the scope above' | 'never'
  >;
  /** Whether a refresh gives another refresh token, so that the device must store it. */
  readonly rotates: Fact<'yes' | 'no' | 'sometimes' | 'no refresh tokens'>;
  readonly lifetime: Fact<string>;
  /** A device flow of its own, which makes the relay unnecessary for some apps. */
  readonly deviceFlow: Fact<string>;
  /** Token requests are JSON, not a form. */
  readonly tokenRequest?: Fact<'json'>;
  /** A header that carries the client id in token requests. */
  readonly clientIdHeader?: Fact<string>;
  /** It wants a `User-Agent` in token requests. The value says what it should name. */
  readonly userAgent?: Fact<string>;
  /** A refresh has to bring the redirect URI, as the exchange did. */
  readonly refreshesWithRedirectUri?: Fact<true>;
  /** Where its token responses differ from RFC 6749 §5. The relay copes with all of it. */
  readonly responses: readonly Fact<string>[];
  /** The page on which an app is registered. */
  readonly registration: Fact<string>;
  /** What to enter there, one step each. The redirect URI is always one. */
  readonly register: readonly string[];
  /** What goes wrong there, and what to do. */
  readonly traps: readonly Fact<string>[];
}

/** Makes facts that were read on that day. */
export function readOn(day: string) {
  return {
    fact: <const T>(value: T, ...sources: readonly string[]): Fact<T> => ({
      value,
      sources,
      readOn: day,
    }),
    unverified: <const T>(value: T, why: string, ...sources: readonly string[]): Fact<T> => ({
      value,
      sources,
      readOn: day,
      unverified: why,
    }),
  };
}

/** Libraries whose requests are a source where a provider's own documentation is silent. */
export const libraries = {
  authJs: (file: string) =>
    `https://github.com/nextauthjs/next-auth/blob/main/packages/core/src/providers/${file}.ts`,
  /** Sends PKCE unless a provider's file says otherwise. */
  authJsChecks:
    'https://github.com/nextauthjs/next-auth/blob/main/packages/core/src/lib/utils/providers.ts',
  socialite: (name: string) =>
    `https://github.com/SocialiteProviders/Providers/blob/master/src/${name}/Provider.php`,
  socialCore: (file: string) =>
    `https://github.com/python-social-auth/social-core/blob/master/social_core/backends/${file}.py`,
  golang: 'https://github.com/golang/oauth2/blob/master/endpoints/endpoints.go',
  nango: 'https://github.com/NangoHQ/nango/blob/master/packages/providers/providers.yaml',
} as const;

/** Its facts by the name that a guide gives each of them. */
export function factsByName(profile: Profile): readonly (readonly [string, Fact<unknown>])[] {
  const named: Readonly<Record<string, Fact<unknown> | undefined>> = {
    'authorization address': profile.authorizeUrl,
    'token address': profile.tokenUrl,
    PKCE: profile.pkce,
    'client authentication': profile.clientAuth,
    'client secret': profile.clientSecret,
    scope: profile.scope,
    'authorization parameters': profile.authorizeParams,
    'refresh token': profile.refreshToken,
    rotation: profile.rotates,
    lifetime: profile.lifetime,
    'device flow': profile.deviceFlow,
    'token requests': profile.tokenRequest,
    'client id header': profile.clientIdHeader,
    'user agent': profile.userAgent,
    'redirect URI in a refresh': profile.refreshesWithRedirectUri,
    registration: profile.registration,
  };
  const alone = Object.entries(named).flatMap(([name, fact]) =>
    fact ? [[name, fact] as const] : [],
  );
  const responses = profile.responses.map((fact) => ['token response', fact] as const);
  const traps = profile.traps.map((fact, index) => [`trap ${index + 1}`, fact] as const);
  return [...alone, ...responses, ...traps];
}

/** The names of the facts that may be wrong. */
export function findUnverified(profile: Profile): readonly string[] {
  const unverified = factsByName(profile).filter(([, fact]) => fact.unverified !== undefined);
  return [...new Set(unverified.map(([name]) => name))];
}
