/**
 * Finds names of settings and of providers that are probably misspelt. It must not warn
 * without reason: an environment has many variables of other programs, similar to PORT and
 * HOST, or beginning with GITHUB_ or GOOGLE_.
 */
import { distance } from 'fastest-levenshtein';
import { prefixOf } from '../providers/config.ts';
import { DEFAULT_NAMES, PROFILES } from '../providers/known.ts';
import type { Profile } from '../providers/profile.ts';
import { parseUrl } from '../providers/url.ts';
import { namesOf, PROVIDER_SETTINGS, RELAY_SETTINGS } from './names.ts';
import type { SettingWarning } from './problems.ts';
import type { Environment } from './reading.ts';

const relayNames = namesOf(RELAY_SETTINGS);
const providerNames = namesOf(PROVIDER_SETTINGS);

/** A warning for each name that was probably meant as a setting. `providers` are those in PROVIDERS. */
export function findMisspeltNames(
  env: Environment,
  providers: readonly string[],
): readonly SettingWarning[] {
  const known = new Set([
    ...relayNames,
    ...providers.flatMap((provider) => providerNames.map((name) => prefixOf(provider) + name)),
  ]);
  const unlisted = [...PROFILES.keys()].filter((name) => !providers.includes(name));
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
    ? 'is not read: only secrets may come from a file'
    : undefined;
}

function findProviderProblem(setting: string, providers: readonly string[]): string | undefined {
  const provider = providers.find((name) => setting.startsWith(prefixOf(name)));
  if (provider === undefined) return undefined;
  const prefix = prefixOf(provider);
  const ending = setting.slice(prefix.length);
  const near = nearest(ending, providerNames);
  if (near) return `is not a setting: did you mean ${prefix}${near}?`;
  // Known names are those of large services, whose own tools read variables with the same prefix.
  const isOurs = DEFAULT_NAMES.includes(provider) || !PROFILES.has(provider);
  return isOurs && !isServiceLink(ending) ? `is not a setting of ${provider}` : undefined;
}

/** Kubernetes sets such variables for each of its services. */
function isServiceLink(ending: string): boolean {
  return /^(SERVICE_(HOST|PORT)|PORT($|_))/.test(ending);
}

/** Finds MYANIMELIST_CLIENT_ID, for example: the provider's name is `mal`. */
function findDisplayNameProblem(setting: string, providers: readonly string[]): string | undefined {
  for (const provider of providers) {
    const displayed = prefixOf(PROFILES.get(provider)?.displayName ?? provider);
    const ending = setting.startsWith(displayed) ? setting.slice(displayed.length) : '';
    if (providerNames.includes(ending)) {
      return `is not a setting: did you mean ${prefixOf(provider)}${ending}?`;
    }
  }
  return undefined;
}

function findRelayProblem(setting: string): string | undefined {
  const near = OTHER_PROXIES.test(setting) ? 'TRUSTED_PROXY_CIDRS' : nearest(setting, relayNames);
  return near && `is not a setting: did you mean ${near}?`;
}

/** What other programs call them. */
const OTHER_PROXIES = /^TRUST(ED)?_PROX(Y|IES)(_|$)/i;

function findUnlistedProblem(setting: string, unlisted: readonly string[]): string | undefined {
  const provider = unlisted.find((name) => setting === `${prefixOf(name)}CLIENT_ID`);
  return provider && `has no effect: PROVIDERS does not list ${provider}`;
}

/** The known name within two edits, or fewer for short names: HOME, POST and SPORT are not misspelt. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  const written = name.toUpperCase();
  return known
    .map((candidate) => ({ candidate, edits: distance(written, candidate.toUpperCase()) }))
    .filter(({ candidate, edits }) => edits <= Math.min(2, Math.floor((candidate.length - 1) / 4)))
    .sort((one, other) => one.edits - other.edits)[0]?.candidate;
}

/** Variables in which other programs have their public URL. */
export function findOtherBaseUrls(env: Environment): readonly string[] {
  return Object.entries(env)
    .filter(([name, value = '']) => OTHER_BASE_URL.test(name) && parseUrl(value.trim()))
    .map(([name]) => name);
}

const OTHER_BASE_URL = /(BASE|PUBLIC|EXTERNAL|OAUTH|RELAY)_?(URL|URI|ORIGIN|ADDRESS|HOST)$/i;

const MAX_SUGGESTIONS = 3;

/** A sentence with the providers that an unknown name may mean, nearest first; empty if there is none. */
export function didYouMean(name: string): string {
  const written = lettersOf(name);
  // Fewer edits than letters: otherwise any letter would be near `x`.
  const farthest = Math.min(written.length - 1, Math.max(1, Math.floor(written.length / 3)));
  const near = [...PROFILES]
    .map(([known, profile]) => ({ known, edits: editsBetween(written, known, profile) }))
    .filter(({ edits }) => edits <= farthest)
    .sort((one, other) => one.edits - other.edits);
  const exact = near.filter(({ edits }) => edits === 0);
  const meant = exact.length > 0 ? exact : near.slice(0, MAX_SUGGESTIONS);
  return meant.length > 0 ? ` Did you mean ${meant.map(({ known }) => known).join(' or ')}?` : '';
}

/** The distance to the provider's name or to its display name: MyAnimeList is `mal`. */
function editsBetween(written: string, known: string, { displayName }: Profile): number {
  const shown = lettersOf(displayName);
  const edits = Math.min(distance(written, known), distance(written, shown));
  const isPart = isPartOf(known, written) || isPartOf(written, shown);
  return isPart ? Math.min(edits, 1) : edits;
}

/** Such as the `google` of `google-oauth`. Shorter parts occur in many words. */
function isPartOf(part: string, whole: string): boolean {
  return part.length >= 4 && whole.includes(part);
}

function lettersOf(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, '');
}
