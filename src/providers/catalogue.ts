import catalogue from './catalogue.json' with { type: 'json' };
import type { ProviderFacts } from './provider-facts.ts';

/**
 * The providers whose addresses are known without being told. The data is
 * `catalogue.json`, written by scripts/update-catalogue.ts and never by hand.
 */

// TypeScript widens `clientAuth` in JSON to string; the catalogue's test checks the values.
const facts = catalogue.providers as Readonly<Record<string, ProviderFacts>>;

/** What the catalogue knows of that name, if anything. */
export function findInCatalogue(name: string): ProviderFacts | undefined {
  return Object.hasOwn(facts, name) ? facts[name] : undefined;
}

/** Every name in the catalogue. */
export const CATALOGUE_NAMES: readonly string[] = Object.keys(facts);
