/** The providers that people can sign in at now, by name. */
import { createAuthorizeUrl } from './authorize-url.ts';
import type { Provider } from './provider.ts';

export interface EnabledProvider {
  readonly provider: Provider;
  /** What the operator registers at the provider, to the letter. */
  readonly redirectUri: string;
  readonly authorizeUrl: (session: { browserState: string; verifier?: string }) => string;
}

/** 'undiscovered': enabled, but its issuer has not told its addresses yet. */
export type EnabledProviders = ReadonlyMap<string, EnabledProvider | 'undiscovered'>;

export function enableProvider(provider: Provider, baseUrl: string): EnabledProvider {
  const redirectUri = redirectUriOf(provider.name, baseUrl);
  return { provider, redirectUri, authorizeUrl: createAuthorizeUrl(provider, redirectUri) };
}

/** `protocol.md` §4: the same in the authorize step and in the exchange. */
export function redirectUriOf(name: string, baseUrl: string): string {
  return `${baseUrl}/auth/${name}/callback`;
}
