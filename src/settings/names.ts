/**
 * All settings, in two tables, which are used for reading, `--help`, docs/configuration.md
 * (which also has examples) and to find misspelt names.
 */
import { MAX_WAIT_SECONDS } from '../limits.ts';
import { DEFAULT_NAMES } from '../providers/profiles.ts';

export interface SettingDescription {
  /** One or two sentences for the operator. */
  readonly meaning: string;
  /** The default, as an operator would write it. Absent if there is none. */
  readonly default?: string;
  /** How much of its value a message may show: `url` without user, password and query. Default: all. */
  readonly shown?: 'url' | 'nothing';
  /** True for a secret, of which nothing is shown. It may be in a file: `<setting>_FILE` names it. */
  readonly isSecret?: true;
}

/** Settings under one prefix. */
export type SettingsTable = Readonly<Record<string, SettingDescription>>;

/** The relay's own settings. */
export const RELAY_SETTINGS = {
  OAUTH_BASE_URL: {
    meaning: 'Public URL of the relay; may have a path. Unset: the relay is disabled.',
    shown: 'url',
  },
  HOST: { meaning: 'Address to listen on. Unset: every address of the machine.' },
  PORT: { meaning: 'Port to listen on, 0 to 65535; 0 takes any free port.', default: '8080' },
  ADMIN_PORT: { meaning: 'Port for metrics and a status page, 1 to 65535. Unset: no such port.' },
  ADMIN_HOST: {
    meaning: 'Address of ADMIN_PORT. Anyone who reaches it can read it, unless ADMIN_TOKEN is set.',
    default: '127.0.0.1',
  },
  ADMIN_NAMES: {
    meaning: 'Host names with a dot that requests to ADMIN_PORT may use. IP addresses always work.',
  },
  ADMIN_TOKEN: {
    meaning: 'Bearer token that ADMIN_PORT requires; for browsers a password. Unset: none.',
    isSecret: true,
  },
  TRUSTED_PROXY_CIDRS: {
    meaning: 'Proxies whose X-Forwarded-For is trusted: CIDRs or single addresses.',
  },
  PROVIDERS: {
    meaning: 'Providers to offer; each is enabled once its client id is set.',
    default: DEFAULT_NAMES.join(','),
  },
  SESSIONS_FILE: {
    meaning:
      'File that keeps sign-ins, sealed, over a restart of one relay. Unset: without Redis they stay in this process.',
  },
  REDIS_URL: { meaning: 'Redis or Valkey for several instances.', isSecret: true },
  REDIS_PREFIX: {
    meaning: 'Prefix of every key and channel, to share the server with other programs.',
    default: 'sign-in-relay:',
  },
  REDIS_SENTINEL_USERNAME: {
    meaning: 'User at the Sentinels, if they have one of their own.',
    shown: 'nothing',
  },
  REDIS_SENTINEL_PASSWORD: {
    meaning: 'Password of the Sentinels, if they require one. REDIS_URL has that of the data.',
    isSecret: true,
  },
  SESSION_SECONDS: { meaning: 'How long a user has to sign in, 1 to 86400.', default: '600' },
  POLL_SECONDS: {
    meaning: 'How long a poll is held open, 1 to 230.',
    default: String(MAX_WAIT_SECONDS),
  },
  MAX_SESSIONS: {
    meaning: 'Maximum number of sign-ins in progress, 1 to 10000000.',
    // Bounds memory.
    default: '5000',
  },
  START_BURST: {
    meaning: 'Sign-ins that one client address may start at once, 1 to 1000000.',
    default: '3',
  },
  START_RATE: {
    meaning: 'Sign-ins that one client address may start per second after that, such as 0.5.',
    default: '1',
  },
  CONFIRM: {
    meaning: 'Which users must confirm before they sign in: always, or code (if they use one).',
    default: 'code',
  },
  BLIND: {
    meaning:
      'Devices may exchange the code themselves, unseen by the relay: allow, never or always.',
    default: 'allow',
  },
  APP_NAME: { meaning: 'Name of your app on the pages that users see, 1 to 40 characters.' },
  LOGO: {
    meaning:
      'Logo on the pages: path of a PNG, JPEG, WebP or SVG of 128 KiB at most, or a data: URI.',
  },
  ACCENT: { meaning: 'Colour of the main button, or two: for light and for dark.' },
  PRIVACY_URL: { meaning: 'Your privacy policy, linked from every page.', shown: 'url' },
  TERMS_URL: { meaning: 'Your terms of service, linked from every page.', shown: 'url' },
  SUPPORT_URL: { meaning: 'Where users find help, linked from every page: https or mailto.' },
  OPEN_ENDPOINTS: {
    meaning:
      'Authorization endpoints for clients with a client id of their own; * is any https one.',
  },
  CORS_ORIGINS: {
    meaning: 'Origins whose pages may call the relay, as browsers send them; only * for all.',
  },
  NOTIFY_URL: { meaning: 'Webhook or ntfy topic for operator alerts.', isSecret: true },
  LOG_LEVEL: { meaning: 'Lowest level to log: debug, info, warning or error.', default: 'info' },
  LOG_FORMAT: { meaning: 'json or text. Unset: text on a terminal, json elsewhere.' },
} satisfies SettingsTable;

/** Settings of one provider. Each name follows the provider's prefix, as in `ACME_CLIENT_ID`. */
export const PROVIDER_SETTINGS = {
  CLIENT_ID: {
    meaning: 'Client id from the provider. Unset: the provider is disabled.',
    shown: 'nothing',
  },
  CLIENT_SECRET: { meaning: 'Client secret, if the provider issued one.', isSecret: true },
  AUTHORIZE_URL: {
    meaning: 'Authorization endpoint. Unset: as the profile or issuer says.',
    shown: 'url',
  },
  TOKEN_URL: { meaning: 'Token endpoint. Unset: as the profile or issuer says.', shown: 'url' },
  REFRESH_URL: {
    meaning: 'Where refresh tokens go. Unset: as the profile says, else to the token endpoint.',
    shown: 'url',
  },
  REVOKE_URL: {
    meaning: 'Revocation endpoint (RFC 7009). Unset: as the profile or issuer says, else none.',
    shown: 'url',
  },
  ISSUER: {
    meaning: 'Issuer, to discover the endpoints, PKCE and client authentication.',
    shown: 'url',
  },
  URL: {
    meaning: 'Address of your own server, for providers that people host themselves.',
    shown: 'url',
  },
  DISPLAY_NAME: {
    meaning: 'Name that users see, 1 to 40 characters. Unset: the one in PROVIDERS, capitalized.',
  },
  SCOPE: {
    meaning:
      'Scopes to request, as the provider writes them. Unset: as the profile says, else none.',
  },
  PKCE: { meaning: 'S256, plain or none. Unset: as the profile or the issuer says, else none.' },
  CLIENT_AUTH: {
    meaning:
      'post or basic: how to send the secret. Unset: as the profile or issuer says, else post.',
  },
  AUTHORIZE_PARAMS: {
    meaning:
      'Parameters of the authorization request, as a query. They are added to those of the profile.',
    shown: 'nothing',
  },
  USER_AGENT: {
    meaning:
      'User-Agent of token requests, for providers that want to know the app. Unset: sign-in-relay.',
  },
} satisfies SettingsTable;

/** The names of a table, those that end in `_FILE` too. */
export function namesOf(table: SettingsTable): string[] {
  return Object.entries(table).flatMap(([name, { isSecret }]) =>
    isSecret ? [name, `${name}_FILE`] : [name],
  );
}

/** How much of a setting's value may be shown, by its full name. Nothing for an unknown name. */
export function shownOf(setting: string): 'all' | 'url' | 'nothing' {
  const relay: SettingsTable = RELAY_SETTINGS;
  const ofProviders: SettingsTable = PROVIDER_SETTINGS;
  const [, provider] =
    Object.entries(ofProviders).find(([name]) => setting.endsWith(`_${name}`)) ?? [];
  const found = Object.hasOwn(relay, setting) ? relay[setting] : provider;
  return found === undefined || found.isSecret ? 'nothing' : (found.shown ?? 'all');
}

/** Every setting with its meaning and default, for a terminal of 80 columns. */
export function settingsHelp(): string {
  return `Settings come from the environment; an empty one counts as not set.
A secret may come from a file: SETTING_FILE=path instead of SETTING=value.

${describeTable('', RELAY_SETTINGS)}

For each provider in PROVIDERS; <NAME> is its name in capitals, with _ for -:

${describeTable('<NAME>_', PROVIDER_SETTINGS)}
`;
}

const TERMINAL_COLUMNS = 80;
const NAME_COLUMNS = 31;

function describeTable(prefix: string, table: SettingsTable): string {
  const rows = Object.entries(table).map(([name, { meaning, default: standard, isSecret }]) => {
    const ending = standard === undefined ? '' : ` Default: ${standard}.`;
    const lines = wrap(`${meaning}${ending}${isSecret ? ' A secret.' : ''}`, NAME_COLUMNS);
    return `  ${prefix}${name}`.padEnd(NAME_COLUMNS) + lines.join(`\n${' '.repeat(NAME_COLUMNS)}`);
  });
  return rows.join('\n');
}

/** Broken at spaces, for a terminal whose lines begin with other text of `taken` columns. */
export function wrap(text: string, taken = 0): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const line = lines.at(-1);
    const fits = line !== undefined && taken + `${line} ${word}`.length <= TERMINAL_COLUMNS;
    if (fits) lines.push(`${lines.pop()} ${word}`);
    else lines.push(word);
  }
  return lines;
}
