/**
 * What is known of providers before an operator registers with one. The 191
 * entries of catalogue.json are written by scripts/update-catalogue.ts and never
 * by hand.
 */
import catalogue from './catalogue.json' with { type: 'json' };
import type { ClientAuthentication, PkceMethod } from './provider.ts';

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
  /** How its flow deviates from the standard, where the relay does not support that. Completes "this provider …". */
  readonly departure?: string;
}

/** Placeholder for the part of an address that differs between customers of a provider. */
export const SUBDOMAIN = '[subdomain]';

/** Offered unless PROVIDERS is set. Neither is sent a scope unless the operator sets one. */
const builtIn: Readonly<Record<string, ProviderFacts>> = {
  /** Takes no other method than `plain`. @see https://myanimelist.net/apiconfig/references/authorization */
  mal: {
    displayName: 'MyAnimeList',
    authorizeUrl: 'https://myanimelist.net/v1/oauth2/authorize',
    tokenUrl: 'https://myanimelist.net/v1/oauth2/token',
    clientAuth: 'post',
    pkce: 'plain',
  },
  /** Has no PKCE. @see https://docs.anilist.co/guide/auth/authorization-code */
  anilist: {
    displayName: 'AniList',
    authorizeUrl: 'https://anilist.co/api/v2/oauth/authorize',
    tokenUrl: 'https://anilist.co/api/v2/oauth/token',
    clientAuth: 'post',
    pkce: 'none',
  },
};

// TypeScript widens `clientAuth` in JSON to string; the catalogue's test checks the values.
const listed = catalogue.providers as Readonly<Record<string, ProviderFacts>>;

/** What `PROVIDERS` lists unless it is set. */
export const BUILT_IN_NAMES: readonly string[] = Object.keys(builtIn);

export const CATALOGUE_NAMES: readonly string[] = Object.keys(listed);

export function findBuiltIn(name: string): ProviderFacts | undefined {
  return Object.hasOwn(builtIn, name) ? builtIn[name] : undefined;
}

export function findInCatalogue(name: string): ProviderFacts | undefined {
  return Object.hasOwn(listed, name) ? listed[name] : undefined;
}
