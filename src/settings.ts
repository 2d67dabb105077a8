import {
  DEFAULT_DEVICE_GRANT_REPEAT_SECONDS,
  DEFAULT_MAX_SESSIONS,
  DEFAULT_POLL_SECONDS,
  DEFAULT_SESSION_SECONDS,
  DEFAULT_START_BURST,
  DEFAULT_START_RATE_PER_SECOND,
} from './limits.ts';
import type { ProviderToDiscover } from './providers/discovery.ts';
import type { ProviderConfig as Provider } from './providers/provider.ts';
import { rejectDangerousEnvironment } from './settings/dangerous-environment.ts';
import { createFault, type SettingFault, type SettingWarning } from './settings/faults.ts';
import { findMisspeltNames, findOtherBaseUrls } from './settings/misspelt-names.ts';
import {
  DEFAULT_CONFIRM,
  DEFAULT_LOG_LEVEL,
  DEFAULT_PORT,
  DEFAULT_REDIS_PREFIX,
  prefixOf,
  RELAY_SETTINGS,
} from './settings/names.ts';
import { readProviderList } from './settings/provider-list.ts';
import { readProvider } from './settings/provider-settings.ts';
import { withoutQuotes } from './settings/quotes.ts';
import { type Environment, type Reading, readEach } from './settings/read-each.ts';
import { isPlainHttp, RELAY_CHECKS } from './settings/relay-settings.ts';
import { readSecretFile } from './settings/secret-file.ts';
import { withoutUndefined } from './settings/without-undefined.ts';
import type { RedisTarget } from './stores/redis/url.ts';

/** The settings: environment in, checked values or every fault out. */

export type { ProviderToDiscover } from './providers/discovery.ts';
export { describeFaults, type SettingFault, type SettingWarning } from './settings/faults.ts';

/** What the environment asked for, checked. Frozen. */
export interface Settings {
  /** `OAUTH_BASE_URL` without trailing slashes; absent: the relay is disabled. `protocol.md` §1. */
  readonly baseUrl?: string;
  /** Absent: the runtime's own choice, every address of the machine. */
  readonly host?: string;
  readonly port: number;
  /** CIDRs and single addresses as written, each checked; IPv4 or IPv6. */
  readonly trustedProxyCidrs: readonly string[];
  /** Enabled providers whose addresses are known. */
  readonly providers: readonly Provider[];
  /** Enabled providers whose addresses are to be asked of their issuer. */
  readonly discoveries: readonly ProviderToDiscover[];
  /** Whether a connection to a provider is used again; otherwise each request has its own. */
  readonly providerKeepAlive: boolean;
  /** Absent: sessions are in this process alone. */
  readonly redis?: { readonly target: RedisTarget; readonly prefix: string };
  readonly sessionSeconds: number;
  readonly pollSeconds: number;
  readonly maxSessions: number;
  /** For so long after its first delivery a device code gets the same tokens again; 0: once. */
  readonly deviceGrantRepeatSeconds: number;
  readonly startBurst: number;
  readonly startRatePerSecond: number;
  /** When a person is asked before being sent to the provider; `code`: when there was a code to type or scan. */
  readonly confirm: 'always' | 'code' | 'never';
  /** What the pages call the app that people sign in to; absent: they name none. */
  readonly appName?: string;
  /** As a browser sends them in `Origin`, or `*` alone; empty: no other origin's page may call. */
  readonly corsOrigins: readonly string[];
  readonly logLevel: 'debug' | 'info' | 'warning' | 'error';
  /** Absent: text on a terminal, JSON elsewhere; only the caller knows which it is. */
  readonly logFormat?: 'json' | 'text';
}

/** `warnings` come either way: a misspelt name is often the cause of a fault. */
export type SettingsReading = { readonly warnings: readonly SettingWarning[] } & (
  | { readonly ok: true; readonly settings: Settings }
  | { readonly ok: false; readonly faults: readonly SettingFault[] }
);

/**
 * Reads the settings, naming everything wrong with them at once. Pure but for
 * `readFile`, which is asked for client secrets and may throw.
 */
export function readSettings(
  environment: Environment,
  readFile: (path: string) => string,
): SettingsReading {
  const env = withoutBlank(environment);
  const written: Reading = { env, readFile, faults: [], warnings: [] };
  const { faults, warnings } = written;
  rejectDangerousEnvironment(written);
  const reading = withoutQuotes(
    written,
    RELAY_SETTINGS.map(({ name }) => name),
  );
  const withSecrets = { ...reading, env: readSecretFile(reading, 'REDIS_URL') };
  const relay = readEach(withSecrets, '', RELAY_CHECKS);
  const listed = readProviderList(reading);
  const enabled = listed.flatMap((name) => readProvider(reading, name) ?? []);
  warnings.push(...findMisspeltNames(env, listed));
  if (relay.OAUTH_BASE_URL !== undefined && enabled.length === 0) {
    rejectMissingClientId(reading, listed);
  }
  if (faults.length > 0) return { ok: false, faults, warnings };

  const settings: Settings = withoutUndefined({
    baseUrl: relay.OAUTH_BASE_URL,
    host: relay.HOST,
    port: relay.PORT ?? DEFAULT_PORT,
    trustedProxyCidrs: relay.TRUSTED_PROXY_CIDRS ?? [],
    providers: enabled.filter(isKnown),
    discoveries: enabled.filter((provider) => 'issuer' in provider),
    providerKeepAlive: relay.PROVIDER_KEEP_ALIVE ?? true,
    redis: relay.REDIS_URL && {
      target: relay.REDIS_URL,
      prefix: relay.REDIS_PREFIX ?? DEFAULT_REDIS_PREFIX,
    },
    sessionSeconds: relay.SESSION_SECONDS ?? DEFAULT_SESSION_SECONDS,
    pollSeconds: relay.POLL_SECONDS ?? DEFAULT_POLL_SECONDS,
    maxSessions: relay.MAX_SESSIONS ?? DEFAULT_MAX_SESSIONS,
    deviceGrantRepeatSeconds:
      relay.DEVICE_GRANT_REPEAT_SECONDS ?? DEFAULT_DEVICE_GRANT_REPEAT_SECONDS,
    startBurst: relay.START_BURST ?? DEFAULT_START_BURST,
    startRatePerSecond: relay.START_RATE ?? DEFAULT_START_RATE_PER_SECOND,
    confirm: relay.CONFIRM ?? DEFAULT_CONFIRM,
    appName: relay.APP_NAME,
    corsOrigins: relay.CORS_ORIGINS ?? [],
    logLevel: relay.LOG_LEVEL ?? DEFAULT_LOG_LEVEL,
    logFormat: relay.LOG_FORMAT,
  });
  warnings.push(...findHazards(settings, env, listed));
  return { ok: true, settings: freezeDeeply(settings), warnings };
}

/** A secret says that sign-ins are wanted; without its client id there would be none at all. */
function rejectMissingClientId({ env, faults }: Reading, listed: readonly string[]): void {
  for (const prefix of listed.map(prefixOf)) {
    const secret = [`${prefix}CLIENT_SECRET`, `${prefix}CLIENT_SECRET_FILE`].find(
      (setting) => env[setting] !== undefined,
    );
    if (secret === undefined) continue;
    const problem = `must be set: ${secret} is set, and with no other provider nobody could sign in`;
    faults.push(createFault(`${prefix}CLIENT_ID`, undefined, problem));
  }
}

function isKnown(provider: Provider | ProviderToDiscover): provider is Provider {
  return !('issuer' in provider);
}

/** Compose files and units set what they leave blank, so blank means not set. `protocol.md` §1. */
function withoutBlank(environment: Environment): Environment {
  return Object.fromEntries(Object.entries(environment).filter(([, value]) => value?.trim()));
}

/** What is allowed and seldom meant. */
function findHazards(
  { baseUrl, providers, discoveries, trustedProxyCidrs }: Settings,
  env: Environment,
  listed: readonly string[],
) {
  const warnings: SettingWarning[] = [];
  const warn = (setting: string, problem: string) => warnings.push({ setting, problem });
  if (baseUrl === undefined) {
    const [near] = findOtherBaseUrls(env);
    const hint = near === undefined ? '' : `; ${near} is none of the relay's settings`;
    warn('OAUTH_BASE_URL', `is not set: every sign-in is answered 503${hint}`);
  }
  if (baseUrl && isPlainHttp(baseUrl)) {
    warn('OAUTH_BASE_URL', 'is plain http: anyone on the way can read the tokens');
  }
  if (baseUrl?.endsWith('/auth')) {
    warn('OAUTH_BASE_URL', 'ends in /auth, so that links go to /auth/auth/: is that meant?');
  }
  if (baseUrl && providers.length + discoveries.length === 0) {
    const names = listed.map((name) => `${prefixOf(name)}CLIENT_ID`).slice(0, MAX_NAMES);
    const hint = names.length > 0 ? `: set ${names.join(' or ')}` : '';
    warn('PROVIDERS', `lists no provider with a client id, so nobody can sign in${hint}`);
  }
  if (trustedProxyCidrs.some((cidr) => cidr.endsWith('/0'))) {
    warn('TRUSTED_PROXY_CIDRS', 'trusts every address: anyone can invent a client address');
  }
  return warnings;
}

/** Of the many that may be listed. */
const MAX_NAMES = 3;

function freezeDeeply<T extends object>(value: T): T {
  for (const inner of Object.values(value)) {
    if (typeof inner === 'object' && inner !== null) freezeDeeply(inner);
  }
  return Object.freeze(value);
}
