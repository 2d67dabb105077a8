import { type ProviderFacts, SUBDOMAIN } from '../src/providers/catalogue.ts';
import type { Catalogue } from './update-catalogue.ts';

/** Returns the text of docs/providers.md. */
export function writeProvidersPage({ source, licence, providers }: Catalogue): string {
  const rows = Object.entries(providers).map(
    ([name, facts]) => `| \`${name}\` | ${new URL(plainAddress(facts)).host} | ${noteOf(facts)} |`,
  );
  return `<!-- Written by scripts/update-catalogue.ts; do not edit. -->
# Providers of the catalogue

This page is for operators. The relay knows the addresses of these ${rows.length} providers, besides the built-in \`mal\` and \`anilist\`. [configuration.md](configuration.md#from-the-catalogue) says how to enable one.

Source: ${source} (${licence}). The addresses come from there unchanged, and sign-ins have not been tried at all of them.

| name for \`PROVIDERS\` | signs in at | note |
|---|---|---|
${rows.join('\n')}
`;
}

function plainAddress({ authorizeUrl }: ProviderFacts): string {
  return authorizeUrl.replace(SUBDOMAIN, 'subdomain');
}

function noteOf({ authorizeUrl, tokenUrl, clientAuth, departure }: ProviderFacts): string {
  const notes: string[] = [];
  if (`${authorizeUrl}${tokenUrl}`.includes(SUBDOMAIN)) notes.push('needs `_SUBDOMAIN`');
  if (clientAuth === 'basic') notes.push('secret by HTTP Basic');
  if (departure) notes.push(`not standard: ${departure}; the sign-in may fail`);
  return notes.join('; ');
}
