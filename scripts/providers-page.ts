import { type ProviderFacts, SUBDOMAIN } from '../src/providers/catalogue.ts';
import type { Catalogue } from './update-catalogue.ts';

/** The whole of docs/providers.md. */
export function writeProvidersPage({ source, licence, providers }: Catalogue): string {
  const rows = Object.entries(providers).map(
    ([name, facts]) => `| \`${name}\` | ${new URL(plainAddress(facts)).host} | ${noteOf(facts)} |`,
  );
  return `<!-- Written by scripts/update-catalogue.ts; do not edit. -->
# Providers of the catalogue

${rows.length} providers whose addresses the relay knows, besides the built-in \`mal\` and \`anilist\`.
Source: ${source} (${licence}).
The addresses are as good as that source; nobody here has signed in at all of them.
How to use one: [configuration.md](configuration.md#providers).

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
