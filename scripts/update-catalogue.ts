/**
 * Writes src/providers/catalogue.json, docs/providers.md and docs/providers/*.md:
 * `bun scripts/update-catalogue.ts`. Run it after updating grant or a profile; the
 * tests fail until it has been run.
 *
 * Only the data is taken. `grant` itself stays a development dependency, so that its own
 * dependencies (elliptic, jwk-to-pem, qs and others) are not installed with the relay.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import oauth from 'grant/config/oauth.json' with { type: 'json' };
import grant from 'grant/package.json' with { type: 'json' };
import type { ProviderFacts } from '../src/providers/catalogue.ts';
import { writeGuide } from '../src/providers/profiles/guide.ts';
import { findProfile, PROFILE_NAMES } from '../src/providers/profiles/index.ts';
import { CORRECTIONS, DEPARTURES, TAKES_BASIC, TAKES_JSON } from './grant-special-cases.ts';
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
 * The OAuth 2 providers of the installed grant package that have no profile.
 *
 * Its `scope_delimiter` is not used. If it is absent, grant joins scopes by a comma,
 * which is wrong for Dropbox and others; the `+` of Unsplash is only an encoded space.
 * The relay sends scopes as the operator writes them.
 */
export function readCatalogue(): Catalogue {
  const providers: Record<string, ProviderFacts> = {};
  for (const [name, entry] of Object.entries(oauth as Record<string, GrantEntry>)) {
    if (entry.oauth !== 2 || findProfile(name)) continue;
    const departure = DEPARTURES[name];
    const { source: _, ...correction } = CORRECTIONS[name] ?? {};
    providers[name] = {
      authorizeUrl: entry.authorize_url,
      tokenUrl: entry.access_url,
      ...(TAKES_BASIC.includes(name) ? { clientAuth: 'basic' } : {}),
      ...(TAKES_JSON.includes(name) ? { quirks: { tokenRequest: 'json' } } : {}),
      ...(departure ? { departure } : {}),
      ...correction,
    };
  }
  return {
    source: `npm package grant ${grant.version}: config/oauth.json, lib/flow/oauth2.js; corrections in scripts/grant-special-cases.ts`,
    licence: 'MIT, Copyright (c) 2014-present, Simeon Velichkov',
    providers,
  };
}

/** Path in docs/ -> its text, for every page that is made from what is known of providers. */
export function writePages(): Readonly<Record<string, string>> {
  const guides = PROFILE_NAMES.flatMap((name) => {
    const profile = findProfile(name);
    return profile ? [[`providers/${name}.md`, `${WRITTEN}${writeGuide(name, profile)}`]] : [];
  });
  return {
    'providers.md': `${WRITTEN}${writeProvidersPage(readCatalogue())}`,
    ...Object.fromEntries(guides),
  };
}

const WRITTEN = '<!-- Written by scripts/update-catalogue.ts; do not edit. -->\n';

if (import.meta.main) {
  const root = `${import.meta.dirname}/..`;
  const catalogue = `${JSON.stringify(readCatalogue(), null, 1)}\n`;
  writeFileSync(`${root}/src/providers/catalogue.json`, catalogue);
  mkdirSync(`${root}/docs/providers`, { recursive: true });
  for (const [path, text] of Object.entries(writePages())) {
    writeFileSync(`${root}/docs/${path}`, text);
  }
}
