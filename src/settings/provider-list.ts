import { distance } from 'fastest-levenshtein';
import { BUILT_IN_NAMES } from '../providers/built-in.ts';
import { CATALOGUE_NAMES } from '../providers/catalogue.ts';
import { createFault, hideCredentials } from './faults.ts';
import type { Reading } from './read-each.ts';
import { splitList } from './split-list.ts';

/** The list of providers, `PROVIDERS`. */

/** A name is one segment of an address and the beginning of environment names. */
const PROVIDER_NAME = /^[a-z0-9][a-z0-9-]*$/;

/** Taken by the paths of the protocol. `protocol.md` §4. */
const RESERVED_NAMES = ['start', 'result', 'done'];

/** The usable names, each once; what is wrong with the others is among the faults. */
export function readProviderList({ env, faults }: Reading): readonly string[] {
  const written = env.PROVIDERS;
  if (written === undefined) return BUILT_IN_NAMES;
  const names = new Set<string>();
  for (const name of splitList(written)) {
    const problem = names.has(name) ? `lists ${name} twice` : findNameProblem(name);
    if (problem) faults.push(createFault('PROVIDERS', written, problem));
    else names.add(name);
  }
  return [...names];
}

function findNameProblem(name: string): string | undefined {
  if (RESERVED_NAMES.includes(name)) return `lists ${name}, which is a path of the relay itself`;
  if (PROVIDER_NAME.test(name)) return undefined;
  return `lists ${JSON.stringify(hideCredentials(name))}; a name is made of small letters, digits and -`;
}

const MAX_SUGGESTIONS = 3;

/** Known names that a misspelt one may have meant, nearest first. */
export function suggestProviders(name: string): readonly string[] {
  const farthest = Math.max(2, Math.floor(name.length / 3));
  return [...BUILT_IN_NAMES, ...CATALOGUE_NAMES]
    .map((known) => ({ known, letters: distance(name, known) }))
    .filter(({ letters }) => letters <= farthest)
    .sort((one, other) => one.letters - other.letters)
    .slice(0, MAX_SUGGESTIONS)
    .map(({ known }) => known);
}
