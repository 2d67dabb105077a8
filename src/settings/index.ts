/** Reads the environment into checked settings, or a list of everything that is wrong with it. */
import type { Branding } from '../pages/pages.ts';
import type { ProviderToDiscover } from '../providers/discovery.ts';
import { PROFILES } from '../providers/known.ts';
import {
  type BlindPolicy,
  mayTakeChallenge,
  type ProviderConfig,
  prefixOf,
} from '../providers/provider.ts';
import { isLoopback } from '../providers/url.ts';
import type { RedisTarget } from '../stores/redis/url.ts';
import { RELAY_CHECKS } from './checks.ts';
import { findMisspeltNames, findOtherBaseUrls } from './misspelt.ts';
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
  withoutUndefined,
} from './reading.ts';

export type { ProviderToDiscover } from '../providers/discovery.ts';
export { settingsHelp } from './names.ts';
export { describeFaults, type SettingFault, type SettingWarning } from './problems.ts';

/** The client address of a Unix socket's peer, which is trusted as a proxy: file permissions decide who connects. */
export const SOCKET_PEER = '127.0.0.1';

export interface TlsFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/** All settings, checked and frozen. */
export interface Settings {
  /** `OAUTH_BASE_URL` without trailing slashes; absent: the relay is disabled. */
  readonly baseUrl?: string;
  /** An address, a name, or `unix:` and a path. Absent: every address of the machine. */
  readonly host?: string;
  readonly port: number;
  /** Absent: plain HTTP. */
  readonly tls?: TlsFiles;
  /** Absent: there is no admin port. */
  readonly adminPort?: number;
  readonly adminHost: string;
  /** Host names that requests to the admin port may use, besides IP addresses and names without a dot. */
  readonly adminNames: readonly string[];
  /** CIDRs and single addresses as written, each checked; IPv4 or IPv6. */
  readonly trustedProxyCidrs: readonly string[];
  /** Enabled providers whose endpoints are known. */
  readonly providers: readonly ProviderConfig[];
  /** Enabled providers whose endpoints are discovered from their issuer. */
  readonly discoveries: readonly ProviderToDiscover[];
  /** Names in the order of `PROVIDERS`, enabled or not. */
  readonly providerOrder: readonly string[];
  /** Whether connections to providers are reused. */
  readonly providerKeepAlive: boolean;
  /** Absent: sessions are in memory. */
  readonly redis?: { readonly target: RedisTarget; readonly prefix: string };
  readonly sessionSeconds: number;
  readonly pollSeconds: number;
  readonly maxSessions: number;
  /** How long after its first delivery a device code gets the same tokens again; 0: once. */
  readonly deviceGrantRepeatSeconds: number;
  readonly startBurst: number;
  readonly startRatePerSecond: number;
  /** Which users must confirm before they are redirected to the provider; `code`: those with a code, typed or scanned. */
  readonly confirm: 'always' | 'code' | 'never';
  /** Whether devices may, or must, exchange the code themselves: docs/extensions.md. */
  readonly blind: BlindPolicy;
  /** What the operator puts on the pages: the app's name, its logo and colour, and links. */
  readonly branding: Branding;
  /** Origins as browsers send them, or only `*`. Empty: no page of another origin may call the relay. */
  readonly corsOrigins: readonly string[];
  readonly logLevel: 'debug' | 'info' | 'warning' | 'error';
  /** Absent: text on a terminal, JSON elsewhere. */
  readonly logFormat?: 'json' | 'text';
}

/** Without a base URL the relay is disabled. */
export type EnabledSettings = Settings & { readonly baseUrl: string };

export function isEnabled(settings: Settings): settings is EnabledSettings {
  return settings.baseUrl !== undefined;
}

/** Faults come with warnings too: a misspelt name often causes a fault. */
export type SettingsReading = { readonly warnings: readonly SettingWarning[] } & (
  | { readonly ok: true; readonly settings: Settings }
  | { readonly ok: false; readonly faults: readonly SettingFault[] }
);

/**
 * Reads the settings and reports everything that is wrong with them at once.
 * Pure, except for `readFile`, which is called for secrets and the logo, and may throw.
 */
export function readSettings(environment: Environment, readFile: ReadFile): SettingsReading {
  const reading: Reading = { env: withoutBlank(environment), readFile, faults: [], warnings: [] };
  const { env, faults, warnings } = reading;
  rejectDangerousEnvironment(reading);
  const relay = readTable(reading, '', RELAY_SETTINGS, RELAY_CHECKS);
  const logo = relay.LOGO === undefined ? undefined : readLogo(reading, relay.LOGO);
  const enabled = relay.PROVIDERS.flatMap((name) => readProvider(reading, name) ?? []);
  warnings.push(...findMisspeltNames(env, relay.PROVIDERS));
  if (relay.OAUTH_BASE_URL && enabled.length === 0) rejectMissingClientId(reading, relay.PROVIDERS);
  if (relay.BLIND === 'always') rejectProvidersThatSeeTokens(reading, enabled);
  const { TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile } = relay;
  if (certFile && !keyFile) reject(reading, 'TLS_KEY_FILE', 'must be set: TLS_CERT_FILE is set');
  if (keyFile && !certFile) reject(reading, 'TLS_CERT_FILE', 'must be set: TLS_KEY_FILE is set');
  if (relay.ADMIN_PORT !== undefined && relay.ADMIN_PORT === relay.PORT) {
    reject(reading, 'ADMIN_PORT', 'must not be the same as PORT');
  }
  if (faults.length > 0) return { ok: false, faults, warnings };

  const settings: Settings = withoutUndefined({
    baseUrl: relay.OAUTH_BASE_URL,
    host: relay.HOST,
    port: relay.PORT,
    adminPort: relay.ADMIN_PORT,
    adminHost: relay.ADMIN_HOST,
    adminNames: relay.ADMIN_NAMES ?? [],
    tls: certFile && keyFile ? { certFile, keyFile } : undefined,
    trustedProxyCidrs: [
      ...(relay.TRUSTED_PROXY_CIDRS ?? []),
      ...(relay.HOST?.startsWith('unix:') ? [SOCKET_PEER] : []),
    ],
    providers: enabled.filter((provider): provider is ProviderConfig => !('issuer' in provider)),
    discoveries: enabled.filter((provider) => 'issuer' in provider),
    providerOrder: relay.PROVIDERS,
    providerKeepAlive: relay.PROVIDER_KEEP_ALIVE,
    redis: relay.REDIS_URL && { target: relay.REDIS_URL, prefix: relay.REDIS_PREFIX },
    sessionSeconds: relay.SESSION_SECONDS,
    pollSeconds: relay.POLL_SECONDS,
    maxSessions: relay.MAX_SESSIONS,
    deviceGrantRepeatSeconds: relay.DEVICE_GRANT_REPEAT_SECONDS,
    startBurst: relay.START_BURST,
    startRatePerSecond: relay.START_RATE,
    confirm: relay.CONFIRM,
    blind: relay.BLIND,
    branding: withoutUndefined({
      appName: relay.APP_NAME,
      logo,
      accent: relay.ACCENT,
      links: withoutUndefined({
        privacy: relay.PRIVACY_URL,
        terms: relay.TERMS_URL,
        support: relay.SUPPORT_URL,
      }),
    }),
    corsOrigins: relay.CORS_ORIGINS ?? [],
    logLevel: relay.LOG_LEVEL,
    logFormat: relay.LOG_FORMAT,
  });
  warnOfHazards(reading, settings, relay.PROVIDERS);
  return { ok: true, settings: freezeDeeply(settings), warnings };
}

/** With these variables the runtime would reveal secrets. */
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

/** A secret without its client id is a fault if no provider is enabled: nobody could sign in. */
function rejectMissingClientId(reading: Reading, listed: readonly string[]): void {
  const isSet = (setting: string) => reading.env[setting] !== undefined;
  for (const prefix of listed.map(prefixOf)) {
    const secret = [`${prefix}CLIENT_SECRET`, `${prefix}CLIENT_SECRET_FILE`].find(isSet);
    if (secret === undefined || isSet(`${prefix}CLIENT_ID`)) continue;
    const problem = `must be set: ${secret} is set, and no other provider is enabled`;
    reject(reading, `${prefix}CLIENT_ID`, problem);
  }
}

/** What an issuer announces is checked after discovery. */
function rejectProvidersThatSeeTokens(
  reading: Reading,
  enabled: readonly (ProviderConfig | ProviderToDiscover)[],
): void {
  for (const provider of enabled.filter((each) => !mayTakeChallenge(each))) {
    const prefix = prefixOf(provider.name);
    const reason =
      provider.clientSecret === undefined
        ? `does not use PKCE with S256 (${prefix}PKCE)`
        : `has a client secret (${prefix}CLIENT_SECRET)`;
    reject(reading, 'BLIND', `must not be always: ${provider.name} ${reason}`);
  }
}

/** Client ids that a hint names; many providers may be listed. */
const MAX_NAMES = 3;

/** What is allowed but rarely intended. */
function warnOfHazards(
  { env, warnings }: Reading,
  { baseUrl, providers, discoveries, trustedProxyCidrs }: Settings,
  listed: readonly string[],
): void {
  const warn = (setting: string, problem: string) => warnings.push({ setting, problem });
  if (baseUrl === undefined) {
    const [other] = findOtherBaseUrls(env);
    const hint = other === undefined ? '' : `; ${other} is set, but is not a setting of the relay`;
    warn('OAUTH_BASE_URL', `is not set: every sign-in gets a 503${hint}`);
  }
  if (baseUrl && isPlainHttp(baseUrl)) {
    warn('OAUTH_BASE_URL', 'is plain http: anyone on the network path can read the tokens');
  }
  if (baseUrl?.endsWith('/auth')) {
    warn('OAUTH_BASE_URL', 'ends in /auth, so links go to /auth/auth/: is that intended?');
  }
  if (baseUrl && providers.length + discoveries.length === 0) {
    const names = listed.map((name) => `${prefixOf(name)}CLIENT_ID`).slice(0, MAX_NAMES);
    const hint = names.length > 0 ? `: set ${names.join(' or ')}` : '';
    warn('PROVIDERS', `lists no provider with a client id, so nobody can sign in${hint}`);
  }
  for (const { name, pkce, clientSecret } of providers) {
    if (pkce !== 'none' || clientSecret !== undefined) continue;
    if (PROFILES.get(name)?.clientSecret === 'none') continue;
    const problem = `is not set, and ${name} uses no PKCE: it will probably issue no tokens`;
    warn(`${prefixOf(name)}CLIENT_SECRET`, problem);
  }
  if (trustedProxyCidrs.some((cidr) => cidr.endsWith('/0'))) {
    warn('TRUSTED_PROXY_CIDRS', 'trusts every address: anyone can forge a client address');
  }
}

/** Whether browsers and providers would reach the relay over plain http. */
function isPlainHttp(baseUrl: string): boolean {
  const url = new URL(baseUrl);
  return url.protocol === 'http:' && !isLoopback(url);
}

function freezeDeeply<T extends object>(value: T): T {
  for (const inner of Object.values(value)) {
    if (typeof inner === 'object' && inner !== null) freezeDeeply(inner);
  }
  return Object.freeze(value);
}
