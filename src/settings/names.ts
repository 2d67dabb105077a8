import {
  DEFAULT_DEVICE_GRANT_REPEAT_SECONDS,
  DEFAULT_MAX_SESSIONS,
  DEFAULT_POLL_SECONDS,
  DEFAULT_SESSION_SECONDS,
  DEFAULT_START_BURST,
  DEFAULT_START_RATE_PER_SECOND,
} from '../limits.ts';
import { BUILT_IN_NAMES } from '../providers/catalogue.ts';

/**
 * Every setting there is, once: the reader, `--help`, the documentation and the
 * search for misspelt names all work from these two tables.
 */

export interface SettingDescription {
  readonly name: string;
  /**
   * What of its value a fault may show: all of it; an address without user,
   * password and query; or nothing, since it is a secret or comes from a file.
   */
  readonly shown: 'all' | 'address' | 'nothing';
  /** As one would write it; absent: there is none. */
  readonly default?: string;
  /** One sentence for the operator. */
  readonly meaning: string;
  readonly example: string;
}

export const DEFAULT_PORT = 8080;
export const DEFAULT_REDIS_PREFIX = 'sign-in-relay:';
export const DEFAULT_PROVIDER_KEEP_ALIVE = 'on';
export const DEFAULT_CONFIRM = 'code';
export const DEFAULT_LOG_LEVEL = 'info';
export const DEFAULT_CLIENT_AUTH = 'post';
export const DEFAULT_PKCE = 'none';

/** The relay's own settings. */
export const RELAY_SETTINGS = [
  {
    name: 'OAUTH_BASE_URL',
    shown: 'address',
    meaning: 'Public address of the relay, may carry a path. Unset: the relay is disabled.',
    example: 'https://relay.example',
  },
  {
    name: 'HOST',
    shown: 'all',
    meaning: 'Address to listen on. Unset: every address of the machine.',
    example: '127.0.0.1',
  },
  {
    name: 'PORT',
    shown: 'all',
    default: String(DEFAULT_PORT),
    meaning: 'Port to listen on, 0 to 65535; 0 takes any free one.',
    example: '3000',
  },
  {
    name: 'TRUSTED_PROXY_CIDRS',
    shown: 'all',
    meaning: 'Proxies whose X-Forwarded-For is believed: CIDRs or single addresses.',
    example: '10.0.0.0/8,fd00::/8',
  },
  {
    name: 'PROVIDERS',
    shown: 'all',
    default: BUILT_IN_NAMES.join(','),
    meaning: 'Providers to offer; each is enabled once its client id is set.',
    example: 'mal,spotify,acme',
  },
  {
    name: 'PROVIDER_KEEP_ALIVE',
    shown: 'all',
    default: DEFAULT_PROVIDER_KEEP_ALIVE,
    meaning: 'Whether connections to providers are used again: on, or off for one each.',
    example: 'off',
  },
  {
    name: 'REDIS_URL',
    shown: 'nothing',
    meaning: 'Redis or Valkey for many instances. Unset: sessions are in this process alone.',
    example: 'rediss://relay:password@redis.example:6379',
  },
  {
    name: 'REDIS_URL_FILE',
    shown: 'nothing',
    meaning: 'File that holds the address, in place of REDIS_URL.',
    example: '/run/secrets/redis-url',
  },
  {
    name: 'REDIS_PREFIX',
    shown: 'all',
    default: DEFAULT_REDIS_PREFIX,
    meaning: 'Before every key and channel, where several share a server.',
    example: 'relay:',
  },
  {
    name: 'SESSION_SECONDS',
    shown: 'all',
    default: String(DEFAULT_SESSION_SECONDS),
    meaning: 'How long a person has to sign in, 1 to 86400.',
    example: '900',
  },
  {
    name: 'POLL_SECONDS',
    shown: 'all',
    default: String(DEFAULT_POLL_SECONDS),
    meaning: 'How long one poll is held, 1 to 230.',
    example: '25',
  },
  {
    name: 'MAX_SESSIONS',
    shown: 'all',
    default: String(DEFAULT_MAX_SESSIONS),
    meaning: 'Sign-ins under way at once, 1 to 10000000.',
    example: '20000',
  },
  {
    name: 'DEVICE_GRANT_REPEAT_SECONDS',
    shown: 'all',
    default: String(DEFAULT_DEVICE_GRANT_REPEAT_SECONDS),
    meaning:
      'How long a device code gets its tokens again after the first time, 0 to 600; 0: once.',
    example: '0',
  },
  {
    name: 'START_BURST',
    shown: 'all',
    default: String(DEFAULT_START_BURST),
    meaning: 'Sign-ins one client address may start at once, 1 to 1000000.',
    example: '10',
  },
  {
    name: 'START_RATE',
    shown: 'all',
    default: String(DEFAULT_START_RATE_PER_SECOND),
    meaning: 'Sign-ins one client address may start per second after that; fractions allowed.',
    example: '0.5',
  },
  {
    name: 'CONFIRM',
    shown: 'all',
    default: DEFAULT_CONFIRM,
    meaning: 'When people are asked before they sign in: always, code (typed or scanned) or never.',
    example: 'always',
  },
  {
    name: 'APP_NAME',
    shown: 'all',
    meaning: 'Name of your app on the pages people see, 1 to 40 characters.',
    example: 'Acme TV',
  },
  {
    name: 'CORS_ORIGINS',
    shown: 'all',
    meaning:
      'Origins whose pages may call the relay: as browsers write them, null, file://, or * alone.',
    example: 'https://tv.example,file://',
  },
  {
    name: 'LOG_LEVEL',
    shown: 'all',
    default: DEFAULT_LOG_LEVEL,
    meaning: 'Least that is logged: debug, info, warning or error.',
    example: 'warning',
  },
  {
    name: 'LOG_FORMAT',
    shown: 'all',
    meaning: 'json or text. Unset: text on a terminal, json elsewhere.',
    example: 'json',
  },
] as const satisfies readonly SettingDescription[];

/** Settings of one provider: each name follows the provider's prefix, as in `ACME_CLIENT_ID`. */
export const PROVIDER_SETTINGS = [
  {
    name: 'CLIENT_ID',
    shown: 'nothing',
    meaning: 'The client id from the provider. Unset: the provider is disabled.',
    example: '1a2b3c',
  },
  {
    name: 'CLIENT_SECRET',
    shown: 'nothing',
    meaning: 'The client secret, where the provider gave one.',
    example: 'a-secret',
  },
  {
    name: 'CLIENT_SECRET_FILE',
    shown: 'nothing',
    meaning: 'File that holds the client secret, in place of CLIENT_SECRET.',
    example: '/run/secrets/acme',
  },
  {
    name: 'AUTHORIZE_URL',
    shown: 'address',
    default: 'from the catalogue',
    meaning: 'Where the person signs in.',
    example: 'https://acme.example/oauth/authorize',
  },
  {
    name: 'TOKEN_URL',
    shown: 'address',
    default: 'from the catalogue',
    meaning: 'Where the code is exchanged for tokens.',
    example: 'https://acme.example/oauth/token',
  },
  {
    name: 'ISSUER',
    shown: 'address',
    meaning: 'Ask this issuer for the addresses, PKCE and client authentication.',
    example: 'https://login.acme.example',
  },
  {
    name: 'SUBDOMAIN',
    shown: 'all',
    meaning: 'Your part of the address, for providers whose address differs by customer.',
    example: 'mycompany',
  },
  {
    name: 'DISPLAY_NAME',
    shown: 'all',
    default: 'from its name',
    meaning: 'What people are shown as its name, 1 to 40 characters.',
    example: 'Acme Music',
  },
  {
    name: 'SCOPE',
    shown: 'all',
    meaning: 'Scopes to ask for, as the provider writes them. Unset: none is sent.',
    example: 'user:read library:read',
  },
  {
    name: 'PKCE',
    shown: 'all',
    default: DEFAULT_PKCE,
    meaning: 'none, plain or S256. Use S256 wherever the provider has it.',
    example: 'S256',
  },
  {
    name: 'CLIENT_AUTH',
    shown: 'all',
    default: DEFAULT_CLIENT_AUTH,
    meaning: 'How the secret is sent in the exchange: post or basic.',
    example: 'basic',
  },
  {
    name: 'AUTHORIZE_PARAMS',
    shown: 'nothing',
    meaning: 'Further parameters of the authorize address, as in a query.',
    example: 'access_type=offline&prompt=consent',
  },
] as const satisfies readonly SettingDescription[];

export type RelaySettingName = (typeof RELAY_SETTINGS)[number]['name'];
export type ProviderSettingName = (typeof PROVIDER_SETTINGS)[number]['name'];

/** What a provider's settings begin with: `my-acme` has `MY_ACME_`. */
export function prefixOf(provider: string): string {
  return `${provider.toUpperCase().replaceAll('-', '_')}_`;
}

/** What of the value of a setting, given by its whole name, may be shown: nothing of one that is not ours. */
export function shownOf(setting: string): SettingDescription['shown'] {
  const ofRelay = RELAY_SETTINGS.find(({ name }) => name === setting);
  const ofProvider = PROVIDER_SETTINGS.find(({ name }) => setting.endsWith(`_${name}`));
  return (ofRelay ?? ofProvider)?.shown ?? 'nothing';
}
