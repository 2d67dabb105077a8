import { distance } from 'fastest-levenshtein';
import { parseAddress } from '../providers/address.ts';
import {
  BUILT_IN_NAMES,
  CATALOGUE_NAMES,
  findBuiltIn,
  findInCatalogue,
} from '../providers/catalogue.ts';
import type { SettingWarning } from './faults.ts';
import { PROVIDER_SETTINGS, prefixOf, RELAY_SETTINGS } from './names.ts';
import type { Environment } from './read-each.ts';

/**
 * Environment names that look like settings and are none. Every warning must
 * be worth reading: an environment is full of names that are not for us, many
 * of them near PORT and HOST or beginning with GITHUB_ or GOOGLE_.
 */

const relayNames: readonly string[] = RELAY_SETTINGS.map(({ name }) => name);
const providerNames: readonly string[] = PROVIDER_SETTINGS.map(({ name }) => name);

/** Names that likely meant one of ours; `providers` are those listed. */
export function findMisspeltNames(
  env: Environment,
  providers: readonly string[],
): readonly SettingWarning[] {
  const known = new Set([
    ...relayNames,
    ...providers.flatMap((provider) => providerNames.map((name) => prefixOf(provider) + name)),
  ]);
  const unlisted = [...BUILT_IN_NAMES, ...CATALOGUE_NAMES].filter(
    (name) => !providers.includes(name),
  );
  const warnings: SettingWarning[] = [];
  for (const [setting, value] of Object.entries(env)) {
    if (value === undefined || known.has(setting)) continue;
    const problem =
      findFileProblem(setting, known) ??
      findProviderProblem(setting, providers) ??
      findDisplayNameProblem(setting, providers) ??
      findRelayProblem(setting) ??
      findUnlistedProblem(setting, unlisted);
    if (problem) warnings.push({ setting, problem });
  }
  return warnings;
}

function findFileProblem(setting: string, known: ReadonlySet<string>): string | undefined {
  if (!setting.endsWith('_FILE') || !known.has(setting.slice(0, -'_FILE'.length))) return undefined;
  return 'is not read: only client secrets may come from a file';
}

function findProviderProblem(setting: string, providers: readonly string[]): string | undefined {
  const provider = providers.find((name) => setting.startsWith(prefixOf(name)));
  if (provider === undefined) return undefined;
  const prefix = prefixOf(provider);
  const ending = setting.slice(prefix.length);
  const near = nearest(ending, providerNames);
  if (near) return `is not a setting: did you mean ${prefix}${near}?`;
  // Catalogue names are those of large services, whose own tools have settings too.
  const isOurs = findBuiltIn(provider) !== undefined || findInCatalogue(provider) === undefined;
  return isOurs && !isServiceLink(ending) ? `is not a setting of ${provider}` : undefined;
}

/** As in MYANIMELIST_CLIENT_ID, where the provider's name here is `mal`. */
function findDisplayNameProblem(setting: string, providers: readonly string[]): string | undefined {
  for (const provider of providers) {
    const displayed = prefixOf(findBuiltIn(provider)?.displayName ?? provider);
    const ending = setting.startsWith(displayed) ? setting.slice(displayed.length) : '';
    if (providerNames.includes(ending)) {
      return `is not a setting: did you mean ${prefixOf(provider)}${ending}?`;
    }
  }
  return undefined;
}

/** Kubernetes describes a service of that name in such variables. */
function isServiceLink(ending: string): boolean {
  return /^(SERVICE_(HOST|PORT)|PORT($|_))/.test(ending);
}

function findRelayProblem(setting: string): string | undefined {
  const near = nearest(setting, relayNames);
  return near && `is not a setting: did you mean ${near}?`;
}

function findUnlistedProblem(setting: string, unlisted: readonly string[]): string | undefined {
  const provider = unlisted.find((name) => setting === `${prefixOf(name)}CLIENT_ID`);
  return provider && `has no effect: PROVIDERS does not list ${provider}`;
}

/** Where other programs have their public address, given that it is one. */
export function findOtherBaseUrls(env: Environment): readonly string[] {
  return Object.entries(env)
    .filter(([name, value = '']) => OTHER_BASE_URL.test(name) && parseAddress(value.trim()))
    .map(([name]) => name);
}

const OTHER_BASE_URL = /(BASE|PUBLIC|EXTERNAL|OAUTH|RELAY)_?(URL|URI|ORIGIN|ADDRESS|HOST)$/i;

/** The known name within two slips, fewer for short ones: HOME, POST and SPORT are words of their own. */
function nearest(name: string, known: readonly string[]): string | undefined {
  return known
    .map((candidate) => ({ candidate, slips: distance(name.toUpperCase(), candidate) }))
    .filter(({ candidate, slips }) => slips <= Math.min(2, Math.floor((candidate.length - 1) / 4)))
    .sort((one, other) => one.slips - other.slips)[0]?.candidate;
}
