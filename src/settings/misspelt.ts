/**
 * Finds names that are probably misspelt: of settings, providers and commands. False warnings must
 * be rare: an environment has many variables of other programs, some of which resemble PORT and
 * HOST, or begin with GITHUB_ or GOOGLE_.
 */
import { distance } from 'fastest-levenshtein';
import { prefixOf } from '../providers/config.ts';
import { PROFILES } from '../providers/profiles.ts';
import { namesOf, PROVIDER_SETTINGS, RELAY_SETTINGS } from './names.ts';
import type { SettingWarning } from './problems.ts';
import type { Environment } from './reading.ts';

/**
 * The known name that was probably meant. Only letters and digits count, in any case. At most two
 * of them may be wrong, and fewer in a short name: HOME, POST and SPORT are not misspelt.
 */
export function nearest(name: string, known: readonly string[]): string | undefined {
  const written = lettersOf(name);
  return known
    .map((candidate) => {
      const letters = lettersOf(candidate);
      const most = Math.min(2, Math.floor((letters.length - 1) / 4));
      return { candidate, edits: distance(written, letters), most };
    })
    .filter(({ edits, most }) => edits <= most)
    .sort((one, other) => one.edits - other.edits)[0]?.candidate;
}

const lettersOf = (name: string) => name.toLowerCase().replace(/[^a-z0-9]/g, '');

/** A sentence with the provider that an unknown name may mean. Empty if there is none. */
export function didYouMean(name: string): string {
  const names = new Map<string, string>();
  for (const [known, { displayName }] of PROFILES) names.set(known, known).set(displayName, known);
  const meant = names.get(nearest(name, [...names.keys()]) ?? '');
  return meant === undefined ? '' : ` Did you mean ${meant}?`;
}

/**
 * A warning for each name that was probably meant as a setting. `providers` are those in
 * PROVIDERS. Names in `ofFile`, a file of settings, are all meant as settings.
 */
export function findMisspeltNames(
  env: Environment,
  providers: readonly string[],
  ofFile: ReadonlySet<string>,
): readonly SettingWarning[] {
  const settingsOf = (name: string) =>
    namesOf(PROVIDER_SETTINGS).map((setting) => prefixOf(name) + setting);
  const known = new Set([...namesOf(RELAY_SETTINGS), ...providers.flatMap(settingsOf)]);
  return Object.keys(env).flatMap((setting) => {
    if (known.has(setting)) return [];
    const problem = findProblem(setting, known, providers);
    if (problem !== undefined) return { setting, problem };
    if (!ofFile.has(setting) || OF_RUNTIMES.test(setting)) return [];
    // A line of a secret that was wrapped can look like a name.
    return { setting: NAME.test(setting) ? setting : '…', problem: 'is not a setting' };
  });
}

function findProblem(setting: string, known: ReadonlySet<string>, providers: readonly string[]) {
  if (setting.endsWith('_FILE') && known.has(setting.slice(0, -'_FILE'.length))) {
    return 'is not read: only secrets may come from a file';
  }
  const near = findNear(setting, providers);
  if (near !== undefined) return `is not a setting: did you mean ${near}?`;
  const unlisted = [...PROFILES.keys()].find((name) => setting === `${prefixOf(name)}CLIENT_ID`);
  return unlisted && `has no effect: PROVIDERS does not list ${unlisted}`;
}

function findNear(setting: string, providers: readonly string[]): string | undefined {
  const prefix = providers.map(prefixOf).find((each) => setting.startsWith(each));
  if (prefix === undefined) return nearest(setting, namesOf(RELAY_SETTINGS));
  const near = nearest(setting.slice(prefix.length), namesOf(PROVIDER_SETTINGS));
  return near && prefix + near;
}

const NAME = /^[A-Z][A-Z0-9_]*$/;

/** Variables that the runtime itself reads. */
const OF_RUNTIMES = /^(NODE_|BUN_|TZ$|LANG$|LC_|(HTTPS?|NO)_PROXY$)/i;
