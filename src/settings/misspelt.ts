/**
 * Finds names that are probably misspelt: of settings, providers and commands. It must not warn
 * without reason: an environment has many variables of other programs, similar to PORT and HOST,
 * or beginning with GITHUB_ or GOOGLE_.
 */
import { distance } from 'fastest-levenshtein';
import { prefixOf } from '../providers/config.ts';
import { DEFAULT_NAMES, PROFILES } from '../providers/profiles.ts';
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
  const written = lettersOf(name);
  const meant =
    names.get(nearest(name, [...names.keys()]) ?? '') ??
    [...PROFILES.keys()].find((known) => known.length >= 4 && isPart(known, written));
  return meant === undefined ? '' : ` Did you mean ${meant}?`;
}

/** Such as `twitch-tv`, or `battle`. */
const isPart = (known: string, written: string) =>
  written.length >= 4 && (written.startsWith(known) || known.startsWith(written));

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
    const problem = findProblem(setting, env[setting], known, providers);
    if (problem !== undefined) return { setting, problem };
    if (!ofFile.has(setting) || OF_RUNTIMES.test(setting)) return [];
    // A line of a secret that was wrapped can look like a name.
    return { setting: NAME.test(setting) ? setting : '…', problem: 'is not a setting' };
  });
}

function findProblem(
  setting: string,
  value: string | undefined,
  known: ReadonlySet<string>,
  providers: readonly string[],
) {
  if (setting.endsWith('_FILE') && known.has(setting.slice(0, -'_FILE'.length))) {
    return 'is not read: only secrets may come from a file';
  }
  // deploy/README.md sets it for Caddy, in a file that the relay reads too.
  if (setting === 'RELAY_HOST') return undefined;
  const own = setting.replace(/^(SIGN_IN_)?RELAY_/, '');
  // Kubernetes sets RELAY_PORT=tcp://… for a service of that name.
  if (own !== setting && known.has(own) && !value?.startsWith('tcp://')) {
    return `is not a setting: did you mean ${own}?`;
  }
  const near = OTHER_PROXIES.test(setting) ? 'TRUSTED_PROXY_CIDRS' : findNear(setting, providers);
  if (near !== undefined) return `is not a setting: did you mean ${near}?`;
  const provider = providers.find((name) => setting.startsWith(prefixOf(name)));
  // Known names are those of large services, whose own tools read variables with the same prefix.
  if (provider && (DEFAULT_NAMES.includes(provider) || !PROFILES.has(provider))) {
    return SERVICE_LINK.test(setting) ? undefined : `is not a setting of ${provider}`;
  }
  const unlisted = [...PROFILES.keys()].find((name) => setting === `${prefixOf(name)}CLIENT_ID`);
  return unlisted && `has no effect: PROVIDERS does not list ${unlisted}`;
}

/** MYANIMELIST_CLIENT_ID is MAL_CLIENT_ID. */
function findNear(setting: string, providers: readonly string[]): string | undefined {
  for (const name of providers) {
    for (const prefix of [name, PROFILES.get(name)?.displayName ?? name].map(prefixOf)) {
      if (!setting.startsWith(prefix)) continue;
      const near = nearest(setting.slice(prefix.length), namesOf(PROVIDER_SETTINGS));
      return near && prefixOf(name) + near;
    }
  }
  return nearest(setting, namesOf(RELAY_SETTINGS));
}

const NAME = /^[A-Z][A-Z0-9_]*$/;

/** What the runtime itself reads. */
const OF_RUNTIMES = /^(NODE_|BUN_|TZ$|LANG$|LC_|(HTTPS?|NO)_PROXY$)/i;

/** What other programs call it. */
const OTHER_PROXIES = /^TRUST(ED)?_PROX(Y|IES)(_|$)/i;

/** Kubernetes sets such variables for each of its services. */
const SERVICE_LINK = /_(SERVICE_(HOST|PORT)|PORT($|_))/;
