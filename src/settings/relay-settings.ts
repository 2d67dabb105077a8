import ipaddr from 'ipaddr.js';
import { z } from 'zod';
import { IDLE_MARGIN_SECONDS, MAX_IDLE_SECONDS } from '../limits.ts';
import { hasUserInfo, isLoopback, parseAddress } from '../providers/address.ts';
import { parseRedisUrl } from '../stores/redis/url.ts';
import { corsOrigins } from './cors-origins.ts';
import { hideCredentials } from './faults.ts';
import type { RelaySettingName } from './names.ts';
import { shownName } from './shown-name.ts';
import { splitList } from './split-list.ts';

/** What each of the relay's own settings may hold, and what it becomes. */

const text = z.string().trim();

/** A check whose problem says what would be right. */
function wholeNumber(smallest: number, largest: number) {
  const problem = `must be a whole number from ${smallest} to ${largest}`;
  return text
    .regex(/^\d+$/, problem)
    .transform(Number)
    .refine((number) => number >= smallest && number <= largest, problem);
}

const POSITIVE_NUMBER = 'must be a number above 0 and up to 1000000, such as 0.5';

const positiveNumber = text
  .regex(/^\d+(\.\d+)?$/, POSITIVE_NUMBER)
  .transform(Number)
  .refine((number) => number > 0 && number <= 1_000_000, POSITIVE_NUMBER);

/** `protocol.md` §1: trailing slashes go. The rest stays as written, since the redirect URI is compared to the letter. */
const baseUrl = text
  .superRefine((address, context) => {
    const message = findBaseUrlProblem(address);
    if (message) context.addIssue({ code: 'custom', message });
  })
  .transform((address) => address.replace(/\/+$/, ''))
  // RFC 6265 §4.1.1: a cookie's path holds no `;`. A path that begins with `//` names another host in a redirect.
  .refine(
    (address) => !/;|^\/\//.test(new URL(address).pathname),
    'must have a path without ; that does not begin with //, since cookies and redirects hold it',
  );

function findBaseUrlProblem(address: string): string | undefined {
  if (!parseAddress(address) || hasUserInfo(address) || /[?#]/.test(address)) {
    return 'must be an http(s) address such as https://relay.example, without user name, query or fragment';
  }
  const [, right, endpoint] = ENDPOINT.exec(address) ?? [];
  return right && `must be ${hideCredentials(right)}: the relay adds ${endpoint} itself`;
}

/** What an operator may copy from the log or from a device: the address of one of the relay's own endpoints. */
const ENDPOINT =
  /^(.+?)(\/auth\/(?:start|result|done|[^/]+\/callback)|\/oauth2\/[^/]+(?:\/(?:token|device_authorization))?)\/*$/;

const host = text.refine(
  // With a zone (`fe80::1%eth0`) the runtime has no address to tell of.
  (name) =>
    (ipaddr.isValid(name) && !name.includes('%')) || /^[a-z0-9-]+(\.[a-z0-9-]+)*$/i.test(name),
  'must be an address or host name alone, such as 127.0.0.1 or ::; the port is PORT',
);

const cidrs = text.transform(splitList).superRefine((items, context) => {
  for (const item of items.filter((item) => !isCidrOrAddress(item))) {
    const message = `must be CIDRs or addresses such as 10.0.0.0/8,::1; ${hideCredentials(item)} is neither`;
    context.addIssue({ code: 'custom', message });
  }
});

/** Strict: `0x7f.1`, `127.1` and `010.0.0.1` are read differently by different programs. */
function isCidrOrAddress(item: string): boolean {
  const [address = '', bits] = item.split('/');
  const isAddress = address.includes(':')
    ? ipaddr.IPv6.isValid(address) && !address.includes('%')
    : ipaddr.IPv4.isValidFourPartDecimal(address);
  if (bits === undefined) return isAddress;
  return isAddress && /^(0|[1-9]\d{0,2})$/.test(bits) && ipaddr.isValidCIDR(item);
}

const redisUrl = text.transform((url, context) => {
  const target = parseRedisUrl(url);
  if (target !== undefined) return target;
  context.addIssue({ code: 'custom', message: REDIS_URL_PROBLEM });
  return z.NEVER;
});

const REDIS_URL_PROBLEM =
  'must be redis://host:port or rediss:// (TLS), with several hosts for a Cluster, or redis+sentinel://host:port,…/primary; a password that holds @ or / is written percent-encoded';

/** Braces would put every key into one slot of a Cluster. */
const redisPrefix = text.regex(
  /^[^{}\s]{1,64}$/,
  'must be 1 to 64 characters without blanks or braces, such as relay:',
);

const onOrOff = text
  .toLowerCase()
  .pipe(z.enum(['on', 'off'], 'must be on or off'))
  .transform((word) => word === 'on');

const confirm = text
  .toLowerCase()
  .pipe(z.enum(['always', 'code', 'never'], 'must be always, code or never'));

const logLevel = text
  .toLowerCase()
  .transform((level) => (level === 'warn' ? 'warning' : level))
  .pipe(z.enum(['debug', 'info', 'warning', 'error'], 'must be debug, info, warning or error'));

export const RELAY_CHECKS = {
  OAUTH_BASE_URL: baseUrl,
  HOST: host,
  PORT: wholeNumber(0, 65_535),
  TRUSTED_PROXY_CIDRS: cidrs,
  PROVIDER_KEEP_ALIVE: onOrOff,
  REDIS_URL: redisUrl,
  REDIS_PREFIX: redisPrefix,
  SESSION_SECONDS: wholeNumber(1, 86_400),
  // A poll held longer would be cut by the runtime's own idle limit.
  POLL_SECONDS: wholeNumber(1, MAX_IDLE_SECONDS - IDLE_MARGIN_SECONDS),
  MAX_SESSIONS: wholeNumber(1, 10_000_000),
  DEVICE_GRANT_REPEAT_SECONDS: wholeNumber(0, 600),
  START_BURST: wholeNumber(1, 1_000_000),
  START_RATE: positiveNumber,
  CONFIRM: confirm,
  APP_NAME: shownName,
  CORS_ORIGINS: corsOrigins,
  LOG_LEVEL: logLevel,
  LOG_FORMAT: text.toLowerCase().pipe(z.enum(['json', 'text'], 'must be json or text')),
} satisfies Record<Exclude<RelaySettingName, 'PROVIDERS' | 'REDIS_URL_FILE'>, z.ZodType>;

/** True when browsers and providers would reach the relay over plain http. */
export function isPlainHttp(address: string): boolean {
  const url = new URL(address);
  return url.protocol === 'http:' && !isLoopback(url);
}
