import type { ProviderFacts } from './provider-facts.ts';

/**
 * The two providers of the specification. `protocol.md` §1, provider behaviour;
 * neither is ever sent a scope unless an operator asks for one.
 */
const builtIn: Readonly<Record<string, ProviderFacts>> = {
  /** `plain` is the only method it takes. @see https://myanimelist.net/apiconfig/references/authorization */
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

/** What the specification says of that name, if anything. */
export function findBuiltIn(name: string): ProviderFacts | undefined {
  return Object.hasOwn(builtIn, name) ? builtIn[name] : undefined;
}

/** Their names: what `PROVIDERS` lists unless it is set. */
export const BUILT_IN_NAMES: readonly string[] = Object.keys(builtIn);
