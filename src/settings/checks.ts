/** Which values each setting accepts, and what they are converted to. */
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { IDLE_MARGIN_SECONDS, MAX_IDLE_SECONDS, SHOWN_NAME_CHARACTERS } from '../limits.ts';
import { type Accent, parseColour } from '../pages/accent.ts';
import { cleanName, hasInvisible } from '../pages/shown-name.ts';
import { findEndpointProblem, type OpenEndpoints } from '../providers/open.ts';
import {
  type Endpoint,
  findEndpointUrlProblem,
  findOwnParameter,
  findUrlProblem,
  hasUserInfo,
  parseUrl,
} from '../providers/url.ts';
import { parseRedisUrl } from '../stores/redis/url.ts';
import { didYouMean } from './misspelt.ts';
import type { PROVIDER_SETTINGS, RELAY_SETTINGS, SettingsTable } from './names.ts';
import { hideCredentials } from './problems.ts';
import type { Check, Checked } from './reading.ts';

/** A check for every setting of the table. The content of a secret's file is checked as the secret. */
type ChecksOf<T extends SettingsTable> = Record<keyof T, Check<unknown>>;

export const RELAY_CHECKS = {
  // Providers compare the redirect URI as a string, so the rest stays as it is written.
  OAUTH_BASE_URL: converted(findBaseUrlProblem, withoutTrailingSlashes),
  HOST: textUnless(findHostProblem),
  PORT: wholeNumber(0, 65_535),
  ADMIN_PORT: wholeNumber(1, 65_535),
  ADMIN_HOST: textUnless(findHostProblem),
  ADMIN_NAMES: listOf((name) =>
    HOST_NAME.test(name)
      ? undefined
      : `must be only host names, such as relay-1.internal; ${hideCredentials(name)} is not one`,
  ),
  // RFC 6750 §2.1. Nothing limits how often it is guessed, so it must be long.
  ADMIN_TOKEN: textLike(
    /^[\w.~+/-]{16,}=*$/,
    'must be at least 16 letters, digits or characters of -._~+/ and no space or line break, as openssl rand -hex 32 makes it',
  ),
  TRUSTED_PROXY_CIDRS: listOf((item) =>
    isCidrOrAddress(item)
      ? undefined
      : `must be CIDRs or addresses such as 10.0.0.0/8,::1; ${hideCredentials(item)} is neither`,
  ),
  PROVIDERS: checkProviderNames,
  // A relative path would depend on the folder in which the relay is started.
  SESSIONS_FILE: textLike(/^\/[^\0]*[^/\0]$/, 'must be the absolute path of a file'),
  REDIS_URL: parsed(
    (url) => parseRedisUrl(url.trim()),
    'must be redis://host:port or rediss:// (TLS), with several hosts for a Cluster, or redis+sentinel://host:port,…/primary; percent-encode %, @ and / in a password',
  ),
  // A Cluster reads braces as a hash tag, and the relay adds one (stores/redis/commands.ts).
  REDIS_PREFIX: textLike(
    /^[^{}\s]{1,64}$/,
    'must be 1 to 64 characters without spaces or braces, such as relay:',
  ),
  REDIS_SENTINEL_USERNAME: textUnless(findControlCharacter),
  REDIS_SENTINEL_PASSWORD: textUnless(findControlCharacter),
  SESSION_SECONDS: wholeNumber(1, 86_400),
  // The runtime's own idle limit would cut a poll that is held longer.
  POLL_SECONDS: wholeNumber(1, MAX_IDLE_SECONDS - IDLE_MARGIN_SECONDS),
  MAX_SESSIONS: wholeNumber(1, 10_000_000),
  START_BURST: wholeNumber(1, 1_000_000),
  START_RATE: parsed((text) => {
    const rate = /^\d+(\.\d+)?$/.test(text) ? Number(text) : 0;
    return rate > 0 && rate <= 1_000_000 ? rate : undefined;
  }, 'must be a number above 0 and up to 1000000, such as 0.5'),
  CONFIRM: oneOf('always', 'code'),
  BLIND: oneOf('allow', 'never', 'always'),
  APP_NAME: textUnless(findShownNameProblem),
  LOGO: textUnless((text) =>
    /^https?:/i.test(text)
      ? 'must be the path of a file, or a data: URI: the relay fetches no picture'
      : undefined,
  ),
  ACCENT: checkAccent,
  PRIVACY_URL: textUnless(findLinkProblem),
  TERMS_URL: textUnless(findLinkProblem),
  SUPPORT_URL: textUnless(findSupportProblem),
  OPEN_ENDPOINTS: checkOpenEndpoints,
  CORS_ORIGINS: checkOrigins,
  NOTIFY_URL: parsed((text) => {
    const url = text.trim();
    return parseUrl(url) && !hasUserInfo(url) ? url : undefined;
  }, 'must be an http or https URL without a user name or password'),
  LOG_LEVEL: (text: string) =>
    oneOf('debug', 'info', 'warning', 'error')(text.replace(/^warn$/i, 'warning')),
  LOG_FORMAT: oneOf('json', 'text'),
} satisfies ChecksOf<typeof RELAY_SETTINGS>;

export const PROVIDER_CHECKS = {
  CLIENT_ID: textUnless(findControlCharacter),
  CLIENT_SECRET: textUnless(findControlCharacter),
  AUTHORIZE_URL: urlOf('authorization_endpoint'),
  TOKEN_URL: urlOf('token_endpoint'),
  REFRESH_URL: urlOf('token_endpoint'),
  REVOKE_URL: urlOf('revocation_endpoint'),
  // RFC 8414 §2: an issuer has no query.
  ISSUER: textUnless(
    (text) =>
      findUrlProblem(text) ??
      (text.includes('?') ? 'must not contain a query (?): an issuer has none' : undefined),
  ),
  // Checked only where a profile needs it, because other programs have variables of this name.
  URL: (text: string) => ({ value: text }),
  DISPLAY_NAME: textUnless(findShownNameProblem),
  // RFC 6749 §3.3: one space between two scopes.
  SCOPE: (text: string) => ({ value: text.replace(/\s+/g, ' ') }),
  PKCE: oneOf('none', 'plain', 'S256'),
  CLIENT_AUTH: oneOf('post', 'basic'),
  // RFC 9110 §5.5: only visible ASCII arrives unchanged everywhere.
  USER_AGENT: textLike(
    /^[\x20-\x7e]{1,200}$/,
    'must be 1 to 200 characters of ASCII, such as acme-tv/1.0 (https://tv.example)',
  ),
  AUTHORIZE_PARAMS: converted(
    findParamsProblem,
    (text): Readonly<Record<string, string>> => Object.fromEntries(new URLSearchParams(text)),
  ),
} satisfies ChecksOf<typeof PROVIDER_SETTINGS>;

type FindProblem = (text: string) => string | undefined;

/** Accepts the text unchanged, unless a problem is found. */
function textUnless(findProblem: FindProblem): Check<string> {
  return converted(findProblem, (text) => text);
}

function converted<V>(findProblem: FindProblem, convert: (text: string) => V): Check<V> {
  return (text) => {
    const problem = findProblem(text);
    return problem === undefined ? { value: convert(text) } : { problems: [problem] };
  };
}

function urlOf(endpoint: Endpoint): Check<string> {
  return textUnless((text) => findEndpointUrlProblem(endpoint, text));
}

function textLike(pattern: RegExp, problem: string): Check<string> {
  return textUnless((text) => (pattern.test(text) ? undefined : problem));
}

/** Accepts the result of `parse`; undefined is a problem. */
function parsed<V>(parse: (text: string) => V | undefined, problem: string): Check<V> {
  return (text) => {
    const value = parse(text);
    return value === undefined ? { problems: [problem] } : { value };
  };
}

function wholeNumber(smallest: number, largest: number): Check<number> {
  return parsed((text) => {
    const number = /^\d+$/.test(text) ? Number(text) : -1;
    return number >= smallest && number <= largest ? number : undefined;
  }, `must be a whole number from ${smallest} to ${largest}`);
}

/** One of the words, in any case. */
function oneOf<const W extends string>(...words: readonly W[]): Check<W> {
  return parsed(
    (text) => words.find((word) => word.toLowerCase() === text.toLowerCase()),
    `must be ${words.slice(0, -1).join(', ')} or ${words.at(-1)}`,
  );
}

export function withoutTrailingSlashes(text: string): string {
  return text.replace(/(?<!\/)\/+$/, '');
}

function findBaseUrlProblem(text: string): string | undefined {
  const url = withoutTrailingSlashes(text);
  if (!text.includes('://') && parseUrl(`https://${url}`)) {
    return 'has no scheme: it must begin with https://';
  }
  if (!parseUrl(url) || hasUserInfo(url) || /[?#]/.test(url)) {
    return 'must be an http(s) URL such as https://relay.example, without user name, query or fragment';
  }
  // Links and QR codes contain it as it is, and redirects as a browser writes it.
  if (/[^!-~]/.test(url)) {
    return `must be ${withoutTrailingSlashes(new URL(url).href)}: a URL has only ASCII characters`;
  }
  const [, right, endpoint] = ENDPOINT.exec(url) ?? [];
  if (right) return `must be ${hideCredentials(right)}: the relay adds ${endpoint} itself`;
  return new URL(url).pathname.startsWith('//')
    ? 'must have a path that does not begin with //, since a redirect to it would lead to another host'
    : undefined;
}

/** The URL of an endpoint of the relay, which an operator may have copied from a log or a device. */
const ENDPOINT =
  /^(.+?)(\/auth\/(?:start|result|done|[^/]+\/callback)|\/oauth2\/[^/]+(?:\/(?:token|device_authorization))?)$/;

const HOST_NAME = /^[a-z0-9-]+(\.[a-z0-9-]+)*$/i;

/** Refuses a zone (`fe80::1%eth0`): with one, the runtime does not know the address of its socket. */
function findHostProblem(name: string): string | undefined {
  const isAddress = ipaddr.isValid(name) && !name.includes('%');
  return isAddress || HOST_NAME.test(name)
    ? undefined
    : 'must be an IP address or a host name, such as 127.0.0.1 or ::; PORT sets the port';
}

/** Items are separated by commas, spaces or both. */
function splitList(text: string): string[] {
  return text.split(/[\s,]+/).filter(Boolean);
}

/** Each item is checked by itself. */
function listOf(
  findProblem: (item: string, all: readonly string[]) => string | undefined,
): Check<readonly string[]> {
  return (text) => {
    const value = splitList(text);
    return { value, problems: value.flatMap((item) => findProblem(item, value) ?? []) };
  };
}

/** True for a CIDR or an address. Strict, because programs disagree on `0x7f.1`, `127.1` and `010.0.0.1`. */
function isCidrOrAddress(item: string): boolean {
  const [address = '', bits] = item.split('/');
  const isAddress = isIP(address) !== 0 && !address.includes('%');
  if (bits === undefined) return isAddress;
  return isAddress && /^(0|[1-9]\d{0,2})$/.test(bits) && ipaddr.isValidCIDR(item);
}

function checkOpenEndpoints(text: string): Checked<OpenEndpoints> {
  const findProblem = (endpoint: string) => {
    const problem = findEndpointProblem(endpoint);
    return problem && `${hideCredentials(endpoint)} ${problem}`;
  };
  return text.trim() === '*' ? { value: '*' } : listOf(findProblem)(text);
}

/** A name is used as a path segment and as the prefix of settings. */
const PROVIDER_NAME = /^[a-z0-9][a-z0-9-]*$/;

/** Paths of the relay: `/auth/start` and so on. */
const RESERVED_NAMES = ['start', 'result', 'done', 'open'];

function checkProviderNames(text: string): Checked<readonly string[]> {
  const names = splitList(text);
  const problems = names.flatMap((name, index) =>
    names.indexOf(name) < index ? `lists ${name} twice` : (findProviderNameProblem(name) ?? []),
  );
  const isRight = (name: string) => findProviderNameProblem(name) === undefined;
  return { value: [...new Set(names)].filter(isRight), problems };
}

/** Completes a sentence about a list. Undefined if the name can be that of a provider. */
export function findProviderNameProblem(name: string): string | undefined {
  if (RESERVED_NAMES.includes(name)) return `lists ${name}, which is a path of the relay`;
  if (PROVIDER_NAME.test(name)) return undefined;
  const shown = JSON.stringify(hideCredentials(name));
  return `lists ${shown}; a name has only lowercase letters, digits and -, and does not begin with -.${didYouMean(name)}`;
}

/** An operator's wrong name is refused. The name of a device is cleaned instead. */
function findShownNameProblem(name: string): string | undefined {
  if (hasInvisible(name)) {
    return 'must not contain invisible characters, or any that change the direction of the text';
  }
  return cleanName(name) === name.replace(/\s+/g, ' ')
    ? undefined
    : `must be 1 to ${SHOWN_NAME_CHARACTERS} visible characters`;
}

/** One colour for both colour schemes, or one for each. */
function checkAccent(text: string): Checked<Accent> {
  const written = splitList(text);
  const [light, dark = light] = written.map(parseColour);
  if (written.length > 2 || light === undefined || dark === undefined) {
    return { problems: ['must be a colour such as #c2410c, or two, for light and for dark'] };
  }
  return { value: { light, dark } };
}

function findLinkProblem(text: string): string | undefined {
  const url = parseUrl(text);
  return url?.protocol === 'https:' && !hasUserInfo(text)
    ? undefined
    : 'must be an https URL, without user name';
}

/** A mailto URL may have a subject: RFC 6068 §2. */
function findSupportProblem(text: string): string | undefined {
  const isMail = /^mailto:[^\s@?]+@[^\s@?]+(\?\S*)?$/i.test(text);
  const problem = isMail ? undefined : findLinkProblem(text);
  return problem && `${problem}, or such as mailto:help@acme.example`;
}

/** Sent by sandboxed frames and for local files. Some web views on televisions send `file://`. */
const ORIGINS_WITHOUT_HOST = ['null', 'file://'];

/**
 * Origins are compared as strings with the `Origin` that a browser sends, so
 * each must be written as a browser writes it.
 * @see RFC 6454 §6.2 https://www.rfc-editor.org/rfc/rfc6454#section-6.2
 * @see https://fetch.spec.whatwg.org/#origin-header
 */
function checkOrigins(text: string): Checked<readonly string[]> {
  // The item is not shown: what comes before the @ may be a password.
  if (text.includes('@')) {
    return { problems: ['must be origins, without user name and password (@)'] };
  }
  return listOf(findOriginProblem)(text);
}

function findOriginProblem(origin: string, all: readonly string[]): string | undefined {
  if (origin === '*') return all.length === 1 ? undefined : 'must be only *, or a list without *';
  if (origin.includes('*')) return `must not contain * within an origin, as in ${origin}`;
  const right = ORIGINS_WITHOUT_HOST.includes(origin) ? origin : asBrowsersWrite(origin);
  if (right === undefined) {
    return `must be origins such as https://tv.example, or null, file:// or *; ${origin} is none of these`;
  }
  return right === origin ? undefined : `must contain ${right} instead of ${origin}`;
}

/** Scheme, host and port; undefined without a host. */
function asBrowsersWrite(origin: string): string | undefined {
  // The parser would correct `https:host` and backslashes, which are probably mistakes.
  if (!/^[a-z][a-z0-9+.-]*:\/\/[^\\]*$/i.test(origin) || !URL.canParse(origin)) return undefined;
  const { protocol, host } = new URL(origin);
  if (protocol === 'file:') return 'file://';
  return host ? `${protocol}//${host}` : undefined;
}

/** A line break in a client id or secret is a copying mistake. The provider would refuse it. */
function findControlCharacter(text: string): string | undefined {
  return /\p{Cc}/u.test(text)
    ? 'must not contain a line break or another control character'
    : undefined;
}

function findParamsProblem(text: string): string | undefined {
  const query = new URLSearchParams(text);
  const set = findOwnParameter('authorization_endpoint', query);
  if (set === 'scope') return 'must not contain scope: use the setting that ends in _SCOPE';
  if (set) return `must not contain ${set}: the relay sets it`;
  if (new Set(query.keys()).size < query.size) return 'must contain each parameter once';
  return [...query].every(([name, value]) => name && value)
    ? undefined
    : 'must be written as a query, such as access_type=offline&prompt=consent';
}
