/** What `readSettings` returns: all settings, checked. */
import type { Branding } from '../pages/pages.ts';
import type { Picture } from '../pages/picture.ts';
import type { EnabledProvider } from '../providers/discovery.ts';
import type { RELAY_CHECKS } from './checks.ts';
import type { RELAY_SETTINGS } from './names.ts';
import { type Values, withoutUndefined } from './reading.ts';

export type Settings = Readonly<ReturnType<typeof settingsFrom>>;

/** The relay is disabled if it has no base URL. */
export type EnabledSettings = Settings & { readonly baseUrl: string };

export function isEnabled(settings: Settings): settings is EnabledSettings {
  return settings.baseUrl !== undefined;
}

type RelayValues = Values<typeof RELAY_SETTINGS, typeof RELAY_CHECKS>;

/** Names what was read. `RELAY_SETTINGS` says what each is. */
export function settingsFrom(
  relay: RelayValues,
  providers: readonly EnabledProvider[],
  logo: Picture | undefined,
) {
  const branding: Branding = withoutUndefined({
    appName: relay.APP_NAME,
    logo,
    accent: relay.ACCENT,
    links: withoutUndefined({
      privacy: relay.PRIVACY_URL,
      terms: relay.TERMS_URL,
      support: relay.SUPPORT_URL,
    }),
  });
  return withoutUndefined({
    /** Has no trailing slash. Absent if the relay is disabled. */
    baseUrl: relay.OAUTH_BASE_URL,
    /** Default: every address of the machine. */
    host: relay.HOST,
    port: relay.PORT,
    adminPort: relay.ADMIN_PORT,
    adminHost: relay.ADMIN_HOST,
    adminNames: relay.ADMIN_NAMES ?? [],
    adminToken: relay.ADMIN_TOKEN,
    trustedProxyCidrs: relay.TRUSTED_PROXY_CIDRS ?? [],
    /** The enabled providers, in the order of `PROVIDERS`. */
    providers,
    /** If this and `redis` are absent, sessions are in memory. */
    sessionsFile: relay.SESSIONS_FILE,
    redis: relay.REDIS_URL && {
      target: withoutUndefined({
        ...relay.REDIS_URL,
        sentinelUsername: relay.REDIS_SENTINEL_USERNAME,
        sentinelPassword: relay.REDIS_SENTINEL_PASSWORD,
      }),
      prefix: relay.REDIS_PREFIX,
    },
    sessionSeconds: relay.SESSION_SECONDS,
    pollSeconds: relay.POLL_SECONDS,
    maxSessions: relay.MAX_SESSIONS,
    startBurst: relay.START_BURST,
    startRatePerSecond: relay.START_RATE,
    confirm: relay.CONFIRM,
    blind: relay.BLIND,
    branding,
    openEndpoints: relay.OPEN_ENDPOINTS,
    corsOrigins: relay.CORS_ORIGINS ?? [],
    /** Secret, because anybody who has it can write to the operator. */
    notifyUrl: relay.NOTIFY_URL,
    logLevel: relay.LOG_LEVEL,
    /** Default: text on a terminal, JSON elsewhere. */
    logFormat: relay.LOG_FORMAT,
  });
}
