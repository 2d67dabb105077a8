import { distance } from 'fastest-levenshtein';
import {
  BUILT_IN_NAMES,
  CATALOGUE_NAMES,
  findBuiltIn,
  findInCatalogue,
} from '../providers/catalogue.ts';
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
  return `lists ${JSON.stringify(hideCredentials(name))}; a name is made of small letters, digits and -.${didYouMean(name)}`;
}

const MAX_SUGGESTIONS = 3;

/** A sentence with the known names that another may have meant, nearest first; empty when there is none. */
export function didYouMean(name: string): string {
  const written = lettersOf(name);
  const farthest = Math.max(1, Math.floor(written.length / 3));
  const near = [...BUILT_IN_NAMES, ...CATALOGUE_NAMES]
    .map((known) => ({ known, slips: slipsBetween(written, known) }))
    .filter(({ slips }) => slips <= farthest)
    .sort((one, other) => one.slips - other.slips);
  const right = near.filter(({ slips }) => slips === 0);
  const meant = right.length > 0 ? right : near.slice(0, MAX_SUGGESTIONS);
  return meant.length > 0 ? ` Did you mean ${meant.map(({ known }) => known).join(' or ')}?` : '';
}

/** To the name, or to how the provider writes itself: MyAnimeList is `mal`. */
function slipsBetween(written: string, known: string): number {
  const shown = lettersOf((findBuiltIn(known) ?? findInCatalogue(known))?.displayName ?? known);
  const slips = Math.min(distance(written, known), distance(written, shown));
  const isPart = isPartOf(known, written) || isPartOf(written, shown);
  return isPart ? Math.min(slips, 1) : slips;
}

/** As in `google-oauth`; shorter parts are in many words. */
function isPartOf(part: string, whole: string): boolean {
  return part.length >= 4 && whole.includes(part);
}

function lettersOf(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, '');
}
