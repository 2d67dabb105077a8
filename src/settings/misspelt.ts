import { distance } from 'fastest-levenshtein';
import { parseAddress } from '../providers/address.ts';
import { DEFAULT_NAMES, findFacts, KNOWN_NAMES } from '../providers/catalogue.ts';
import { PROVIDER_SETTINGS, prefixOf, RELAY_SETTINGS } from './names.ts';
import type { SettingWarning } from './problems.ts';
import type { Environment } from './reading.ts';

/**
 * Names that are probably slips: of settings, and of providers. Every warning
 * must be worth reading: an environment is full of names that are not for us,
 * many of them near PORT and HOST or beginning with GITHUB_ or GOOGLE_.
 */

const relayNames = Object.keys(RELAY_SETTINGS);
const providerNames = Object.keys(PROVIDER_SETTINGS);

/** A warning for each name that was probably meant as a setting; `providers` are those listed. */
export function findMisspeltNames(
  env: Environment,
  providers: readonly string[],
): readonly SettingWarning[] {
  const known = new Set([
    ...relayNames,
    ...providers.flatMap((provider) => providerNames.map((name) => prefixOf(provider) + name)),
  ]);
  const unlisted = KNOWN_NAMES.filter((name) => !providers.includes(name));
  return Object.keys(env).flatMap((setting) => {
    if (known.has(setting)) return [];
    const problem =
      findFileProblem(setting, known) ??
      findProviderProblem(setting, providers) ??
      findDisplayNameProblem(setting, providers) ??
      findRelayProblem(setting) ??
      findUnlistedProblem(setting, unlisted);
    return problem === undefined ? [] : { setting, problem };
  });
}

function findFileProblem(setting: string, known: ReadonlySet<string>): string | undefined {
  return setting.endsWith('_FILE') && known.has(setting.slice(0, -'_FILE'.length))
    ? 'is not read: only REDIS_URL and client secrets may come from a file'
    : undefined;
}

function findProviderProblem(setting: string, providers: readonly string[]): string | undefined {
  const provider = providers.find((name) => setting.startsWith(prefixOf(name)));
  if (provider === undefined) return undefined;
  const prefix = prefixOf(provider);
  const ending = setting.slice(prefix.length);
  const near = nearest(ending, providerNames);
  if (near) return `is not a setting: did you mean ${prefix}${near}?`;
  // Known names are those of large services, whose own tools have settings too.
  const isOurs = DEFAULT_NAMES.includes(provider) || findFacts(provider) === undefined;
  return isOurs && !isServiceLink(ending) ? `is not a setting of ${provider}` : undefined;
}

/** Kubernetes describes a service of that name in such variables. */
function isServiceLink(ending: string): boolean {
  return /^(SERVICE_(HOST|PORT)|PORT($|_))/.test(ending);
}

/** As in MYANIMELIST_CLIENT_ID, where the provider's name here is `mal`. */
function findDisplayNameProblem(setting: string, providers: readonly string[]): string | undefined {
  for (const provider of providers) {
    const displayed = prefixOf(findFacts(provider)?.displayName ?? provider);
    const ending = setting.startsWith(displayed) ? setting.slice(displayed.length) : '';
    if (providerNames.includes(ending)) {
      return `is not a setting: did you mean ${prefixOf(provider)}${ending}?`;
    }
  }
  return undefined;
}

function findRelayProblem(setting: string): string | undefined {
  const near = nearest(setting, relayNames);
  return near && `is not a setting: did you mean ${near}?`;
}

function findUnlistedProblem(setting: string, unlisted: readonly string[]): string | undefined {
  const provider = unlisted.find((name) => setting === `${prefixOf(name)}CLIENT_ID`);
  return provider && `has no effect: PROVIDERS does not list ${provider}`;
}

/** The known name within two slips, fewer for short ones: HOME, POST and SPORT are words of their own. */
function nearest(name: string, known: readonly string[]): string | undefined {
  return known
    .map((candidate) => ({ candidate, slips: distance(name.toUpperCase(), candidate) }))
    .filter(({ candidate, slips }) => slips <= Math.min(2, Math.floor((candidate.length - 1) / 4)))
    .sort((one, other) => one.slips - other.slips)[0]?.candidate;
}

/** Names under which other programs keep their public address, if they hold one. */
export function findOtherBaseUrls(env: Environment): readonly string[] {
  return Object.entries(env)
    .filter(([name, value = '']) => OTHER_BASE_URL.test(name) && parseAddress(value.trim()))
    .map(([name]) => name);
}

const OTHER_BASE_URL = /(BASE|PUBLIC|EXTERNAL|OAUTH|RELAY)_?(URL|URI|ORIGIN|ADDRESS|HOST)$/i;

const MAX_SUGGESTIONS = 3;

/** A sentence with the providers that an unknown name may have meant, nearest first; empty when there is none. */
export function didYouMean(name: string): string {
  const written = lettersOf(name);
  // Fewer slips than letters: otherwise any letter would be near `x`.
  const farthest = Math.min(written.length - 1, Math.max(1, Math.floor(written.length / 3)));
  const near = KNOWN_NAMES.map((known) => ({ known, slips: slipsBetween(written, known) }))
    .filter(({ slips }) => slips <= farthest)
    .sort((one, other) => one.slips - other.slips);
  const exact = near.filter(({ slips }) => slips === 0);
  const meant = exact.length > 0 ? exact : near.slice(0, MAX_SUGGESTIONS);
  return meant.length > 0 ? ` Did you mean ${meant.map(({ known }) => known).join(' or ')}?` : '';
}

/** To the name, or to how the provider writes itself: MyAnimeList is `mal`. */
function slipsBetween(written: string, known: string): number {
  const shown = lettersOf(findFacts(known)?.displayName ?? known);
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
