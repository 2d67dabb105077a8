/**
 * Writes src/providers/catalogue.json and docs/providers.md from the installed
 * `grant` package: `bun scripts/update-catalogue.ts`. Run it after updating
 * grant; test/providers/catalogue.test.ts fails until it has been run.
 *
 * Only the data is taken. `grant` itself stays a development dependency, so that its own
 * dependencies (elliptic, jwk-to-pem, qs and others) are not installed with the relay.
 */
import { writeFileSync } from 'node:fs';
import oauth from 'grant/config/oauth.json' with { type: 'json' };
import grant from 'grant/package.json' with { type: 'json' };
import type { ProviderFacts } from '../src/providers/catalogue.ts';
import { DEPARTURES, TAKES_BASIC } from './grant-special-cases.ts';
import { writeProvidersPage } from './providers-page.ts';

interface GrantEntry {
  readonly oauth?: number;
  readonly authorize_url: string;
  readonly access_url: string;
}

export interface Catalogue {
  readonly source: string;
  readonly licence: string;
  readonly providers: Readonly<Record<string, ProviderFacts>>;
}

/**
 * The OAuth 2 providers of the installed grant package.
 *
 * Its `scope_delimiter` is not used. If it is absent, grant joins scopes by a comma,
 * which is wrong for Dropbox and others; the `+` of Unsplash is only an encoded space.
 * The relay sends scopes as the operator writes them.
 */
export function readCatalogue(): Catalogue {
  const providers: Record<string, ProviderFacts> = {};
  for (const [name, entry] of Object.entries(oauth as Record<string, GrantEntry>)) {
    if (entry.oauth !== 2) continue;
    const departure = DEPARTURES[name];
    providers[name] = {
      authorizeUrl: entry.authorize_url,
      tokenUrl: entry.access_url,
      ...(TAKES_BASIC.includes(name) ? { clientAuth: 'basic' } : {}),
      ...(departure ? { departure } : {}),
    };
  }
  return {
    source: `npm package grant ${grant.version}: config/oauth.json, lib/flow/oauth2.js`,
    licence: 'MIT, Copyright (c) 2014-present, Simeon Velichkov',
    providers,
  };
}

if (import.meta.main) {
  const catalogue = readCatalogue();
  const root = `${import.meta.dirname}/..`;
  writeFileSync(`${root}/src/providers/catalogue.json`, `${JSON.stringify(catalogue, null, 1)}\n`);
  writeFileSync(`${root}/docs/providers.md`, writeProvidersPage(catalogue));
}
