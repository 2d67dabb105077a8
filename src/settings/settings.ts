/** What `readSettings` returns. */
import type { Branding } from '../pages/pages.ts';
import type { BlindPolicy } from '../providers/config.ts';
import type { EnabledProvider } from '../providers/discovery.ts';
import type { OpenEndpoints } from '../providers/open.ts';
import type { RedisTarget } from '../stores/redis/url.ts';

/** All settings, checked. */
export interface Settings {
  /** `OAUTH_BASE_URL` without trailing slashes; absent: the relay is disabled. */
  readonly baseUrl?: string;
  /** An address or a name. Default: every address of the machine. */
  readonly host?: string;
  readonly port: number;
  /** Absent if there is no admin port. */
  readonly adminPort?: number;
  readonly adminHost: string;
  /** Host names that requests to the admin port may use, besides IP addresses and names without a dot. */
  readonly adminNames: readonly string[];
  /** Absent if the admin port requires none. */
  readonly adminToken?: string;
  /** CIDRs and single addresses as written, each checked; IPv4 or IPv6. */
  readonly trustedProxyCidrs: readonly string[];
  /** In the order of `PROVIDERS`. */
  readonly providers: readonly EnabledProvider[];
  /** Absent, without `redis`: sessions are in memory. */
  readonly sessionsFile?: string;
  /** Absent, without `sessionsFile`: sessions are in memory. */
  readonly redis?: {
    readonly target: RedisTarget;
    readonly prefix: string;
  };
  readonly sessionSeconds: number;
  readonly pollSeconds: number;
  readonly maxSessions: number;
  readonly startBurst: number;
  readonly startRatePerSecond: number;
  /** Which users must confirm before they are redirected to the provider; `code`: those with a code, typed or scanned. */
  readonly confirm: 'always' | 'code';
  /** Says if devices may, or must, exchange the code themselves: docs/extensions.md. */
  readonly blind: BlindPolicy;
  /** What the operator puts on the pages: the app's name, its logo and colour, and links. */
  readonly branding: Branding;
  /** Undefined if open sign-ins are disabled. docs/open.md. */
  readonly openEndpoints?: OpenEndpoints;
  /** Origins as browsers send them, or only `*`. Empty: no page of another origin may call the relay. */
  readonly corsOrigins: readonly string[];
  /** Secret, because anybody who has it can write to the operator. */
  readonly notifyUrl?: string;
  readonly logLevel: 'debug' | 'info' | 'warning' | 'error';
  /** Default: text on a terminal, JSON elsewhere. */
  readonly logFormat?: 'json' | 'text';
}

/** The relay is disabled if it has no base URL. */
export type EnabledSettings = Settings & { readonly baseUrl: string };

export function isEnabled(settings: Settings): settings is EnabledSettings {
  return settings.baseUrl !== undefined;
}
