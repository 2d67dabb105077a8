/** Reads the environment into checked settings, or a list of everything that is wrong with it. */
import { mayTakeChallenge, prefixOf } from '../providers/config.ts';
import type { EnabledProvider } from '../providers/discovery.ts';
import { RELAY_CHECKS } from './checks.ts';
import { findMisspeltNames } from './misspelt.ts';
import { RELAY_SETTINGS } from './names.ts';
import type { SettingFault, SettingWarning } from './problems.ts';
import { readProvider } from './providers.ts';
import {
  type Environment,
  type ReadFile,
  type Reading,
  readLogo,
  readTable,
  reject,
  withoutBlank,
} from './reading.ts';
import { type Settings, settingsFrom } from './settings.ts';
import { warnOfHazards } from './warnings.ts';

export { settingsHelp } from './names.ts';
export { countWrong, describeFaults, type SettingWarning } from './problems.ts';
export { type EnabledSettings, isEnabled, type Settings } from './settings.ts';

/** Faults come with warnings too: a misspelt name often causes a fault. */
export type SettingsReading = { readonly warnings: readonly SettingWarning[] } & (
  | { readonly ok: true; readonly settings: Settings }
  | {
      readonly ok: false;
      readonly faults: readonly SettingFault[];
      /** Undefined if it is not set, or wrong. */
      readonly baseUrl: Settings['baseUrl'] | undefined;
      /** How to report them. */
      readonly logLevel: Settings['logLevel'];
      readonly logFormat: Settings['logFormat'] | undefined;
    }
);

/**
 * Reads the settings and reports everything that is wrong with them at once.
 * Pure, except for `readFile`, which is called for secrets and the logo, and may throw. `ofFile`:
 * names that come from a file of settings, and should all be settings.
 */
export function readSettings(
  environment: Environment,
  readFile: ReadFile,
  ofFile: ReadonlySet<string> = new Set(),
): SettingsReading {
  const reading: Reading = { env: withoutBlank(environment), readFile, faults: [], warnings: [] };
  const { env, faults, warnings } = reading;
  rejectDangerousEnvironment(reading);
  const relay = readTable(reading, '', RELAY_SETTINGS, RELAY_CHECKS);
  const logo = relay.LOGO === undefined ? undefined : readLogo(reading, relay.LOGO);
  const providers = relay.PROVIDERS.flatMap((name) => readProvider(reading, name) ?? []);
  warnings.push(...findMisspeltNames(env, relay.PROVIDERS, ofFile));
  if (relay.BLIND === 'always') rejectProvidersWithoutBlind(reading, providers);
  if (relay.SESSIONS_FILE !== undefined && relay.REDIS_URL !== undefined) {
    reject(reading, 'SESSIONS_FILE', 'must not be set with REDIS_URL: sign-ins are in one of them');
  }
  if (relay.ADMIN_PORT !== undefined && relay.ADMIN_PORT === relay.PORT) {
    reject(reading, 'ADMIN_PORT', 'must not be the same as PORT');
  }
  if (faults.length > 0) {
    const { OAUTH_BASE_URL: baseUrl, LOG_LEVEL: logLevel, LOG_FORMAT: logFormat } = relay;
    return { ok: false, faults, warnings, baseUrl, logLevel, logFormat };
  }
  const settings = settingsFrom(relay, providers, logo);
  warnOfHazards(reading, settings, relay.PROVIDERS);
  return { ok: true, settings, warnings };
}

/** Rejects variables with which the runtime would reveal secrets. */
function rejectDangerousEnvironment(reading: Reading): void {
  const { NODE_TLS_REJECT_UNAUTHORIZED: tls, BUN_CONFIG_VERBOSE_FETCH: verbose } = reading.env;
  if (tls?.trim() === '0') {
    const problem = 'must not be 0: anyone could impersonate a provider and receive the secrets';
    reject(reading, 'NODE_TLS_REJECT_UNAUTHORIZED', problem);
  }
  if (verbose !== undefined) {
    const problem = 'must not be set: it prints client secrets and codes';
    reject(reading, 'BUN_CONFIG_VERBOSE_FETCH', problem);
  }
}

/** Rejects providers that blind sign-ins can't use, if BLIND=always. One by issuer is checked again after discovery. */
function rejectProvidersWithoutBlind(reading: Reading, enabled: readonly EnabledProvider[]): void {
  for (const provider of enabled.filter((each) => !mayTakeChallenge(each))) {
    reject(reading, 'BLIND', `must not be always: ${provider.name} ${whyNotBlind(provider)}`);
  }
}

function whyNotBlind(provider: EnabledProvider): string {
  const { name, clientSecret, refreshUrl } = provider;
  const prefix = prefixOf(name);
  if (clientSecret !== undefined) return `has a client secret (${prefix}CLIENT_SECRET)`;
  if (refreshUrl !== undefined) return `has a refresh endpoint (${prefix}REFRESH_URL)`;
  return `does not use PKCE with S256 (${prefix}PKCE)`;
}
