/** The command line, and the environment that the relay needs for it. README.md says what each option is for. */

import { parseArgs } from 'node:util';
import type { Extension, Group } from './runner.ts';

export type Spread = 'loopback' | 'forwarded' | 'none';

export interface Options {
  /** Where the suite reaches the relay, without trailing slashes. */
  readonly baseUrl: string;
  /** The relay's `OAUTH_BASE_URL`, without trailing slashes. */
  readonly publicUrl: string;
  readonly unconfiguredUrl: string | undefined;
  readonly providerListen: { readonly host: string; readonly port: number };
  /** How the relay reaches the mock provider. */
  readonly providerUrl: string;
  readonly serviceA: string;
  readonly serviceB: string;
  /** For the `challenge` group: PKCE with S256, and no secret. */
  readonly serviceS256: string;
  readonly sessionSeconds: number;
  readonly sweepSeconds: number;
  readonly pollSeconds: number;
  readonly maxSessions: number;
  /** How long a device code gets its tokens again; 0: once. */
  readonly grantRepeatSeconds: number;
  readonly spread: Spread;
  /** A source address whose `X-Forwarded-For` the relay reads. */
  readonly proxyAddress: string | undefined;
  /** The groups to run; the others are `disabled`. */
  readonly groups: ReadonlySet<string>;
  /** The extensions that those groups check. */
  readonly extensions: ReadonlySet<Extension>;
  readonly list: boolean;
  readonly printEnv: boolean;
  readonly junitFile: string | undefined;
  readonly secretsFile: string | undefined;
  readonly answersFile: string | undefined;
}

const FLAGS = {
  /** Where a relay listens by default. */
  'base-url': { type: 'string', default: 'http://127.0.0.1:8080' },
  'public-url': { type: 'string' },
  'unconfigured-url': { type: 'string' },
  'provider-listen': { type: 'string', default: '127.0.0.1:9797' },
  'provider-url': { type: 'string' },
  'service-a': { type: 'string', default: 'mal' },
  'service-b': { type: 'string', default: 'anilist' },
  'service-s256': { type: 'string', default: 'conformance-s256' },
  'session-seconds': { type: 'string', default: '600' },
  'sweep-seconds': { type: 'string', default: '0' },
  'poll-seconds': { type: 'string', default: '50' },
  'max-sessions': { type: 'string', default: '5000' },
  'grant-repeat-seconds': { type: 'string', default: '60' },
  spread: { type: 'string', default: 'loopback' },
  'proxy-address': { type: 'string' },
  only: { type: 'string' },
  except: { type: 'string' },
  with: { type: 'string' },
  list: { type: 'boolean', default: false },
  'print-env': { type: 'boolean', default: false },
  junit: { type: 'string' },
  'secrets-file': { type: 'string' },
  'answers-file': { type: 'string' },
} as const;

/** No case starts a session from this address. With `--spread loopback` it is the trusted proxy. */
const DEFAULT_PROXY_ADDRESS = '127.255.0.1';

/** The message names every problem of the command line. */
export class BadOptions extends Error {}

export function parseOptions(args: readonly string[], all: readonly Group[]): Options {
  const flags = readFlags(args);
  const problems: string[] = [];
  const check: Check = (isGood, flag, value, wanted) => {
    if (!isGood) problems.push(`--${flag} '${value}': must be ${wanted}`);
    return value;
  };
  const count = (flag: CountFlag, least: number) => {
    const value = flags[flag];
    const isGood = /^\d{1,9}$/.test(value) && Number(value) >= least;
    return Number(check(isGood, flag, value, `a whole number, at least ${least}`));
  };
  if (!flags['base-url']) problems.push('--base-url is empty');
  const options = {
    ...readAddresses(flags, check),
    ...readServices(flags, check),
    sessionSeconds: count('session-seconds', 10),
    sweepSeconds: count('sweep-seconds', 0),
    pollSeconds: count('poll-seconds', 1),
    maxSessions: count('max-sessions', 1),
    grantRepeatSeconds: count('grant-repeat-seconds', 0),
    ...chooseGroups(flags, check, all),
    list: flags.list,
    printEnv: flags['print-env'],
    junitFile: flags.junit,
    secretsFile: flags['secrets-file'],
    answersFile: flags['answers-file'],
  };
  if (problems.length === 0 && options.groups.size === 0) {
    problems.push('--only and --except leave no group to run');
  }
  if (problems.length > 0) throw new BadOptions(problems.join('\n'));
  return options;
}

type Flags = ReturnType<typeof readFlags>;
type CountFlag = `${'session' | 'sweep' | 'poll' | 'grant-repeat'}-seconds` | 'max-sessions';
/** Notes a problem unless the value is good, and returns the value. */
type Check = (isGood: boolean, flag: keyof typeof FLAGS, value: string, wanted: string) => string;

function readFlags(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: FLAGS, strict: true }).values;
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    const flags = Object.keys(FLAGS).map((flag) => `--${flag}`);
    throw new BadOptions(
      `${problem}\nThere are ${flags.join(' ')}; conformance/README.md says what each is for.`,
    );
  }
}

function readAddresses(flags: Flags, check: Check) {
  const url = (flag: 'base-url' | 'public-url' | 'unconfigured-url' | 'provider-url') => {
    const value = flags[flag];
    if (!value) return undefined;
    return check(isHttpUrl(value), flag, value, HTTP_URL).replace(/\/+$/, '');
  };
  const listen = flags['provider-listen'];
  const [, host = '', port = ''] = /^(.+):(\d{1,5})$/.exec(listen) ?? [];
  check(host !== '' && Number(port) <= 65_535, 'provider-listen', listen, 'HOST:PORT');
  const spread = flags.spread as Spread;
  const isSpread = ['loopback', 'forwarded', 'none'].includes(spread);
  check(isSpread, 'spread', spread, 'loopback, forwarded or none');
  const baseUrl = url('base-url') ?? '';
  const isReached = spread !== 'loopback' || !isHttpUrl(baseUrl) || isLoopback(baseUrl);
  check(isReached, 'spread', spread, `forwarded or none, since ${baseUrl} is not on this machine`);
  const proxy = flags['proxy-address'] ?? (spread === 'loopback' ? DEFAULT_PROXY_ADDRESS : 'none');
  return {
    baseUrl,
    publicUrl: url('public-url') ?? baseUrl,
    unconfiguredUrl: url('unconfigured-url'),
    providerListen: { host: host.replace(/^\[|\]$/g, ''), port: Number(port) },
    providerUrl: url('provider-url') ?? `http://${listen}`,
    spread,
    proxyAddress: proxy === 'none' ? undefined : proxy,
  };
}

function readServices(flags: Flags, check: Check) {
  const service = (flag: 'service-a' | 'service-b' | 'service-s256') =>
    check(/^[\w-]+$/.test(flags[flag]), flag, flags[flag], 'a name of letters, digits, - and _');
  const [serviceA, serviceB] = [service('service-a'), service('service-b')];
  check(serviceA !== serviceB, 'service-b', serviceB, 'another than --service-a');
  return { serviceA, serviceB, serviceS256: service('service-s256') };
}

function chooseGroups(flags: Flags, check: Check, all: readonly Group[]) {
  const names = (flag: 'only' | 'except' | 'with', known: readonly string[]) => {
    const list = flags[flag]?.split(',').map((name) => name.trim());
    for (const name of list ?? []) {
      check(known.includes(name), flag, name, `one of ${known.join(', ')}`);
    }
    return list;
  };
  const groupNames = all.map(({ name }) => name);
  const offered = names('with', [...new Set(all.flatMap(({ extension }) => extension ?? []))]);
  const only = names('only', groupNames);
  const except = names('except', groupNames) ?? [];
  const isUsual = ({ extension }: Group) => !extension || offered?.includes(extension);
  const chosen = all
    .filter((group) => (only ? only.includes(group.name) : isUsual(group)))
    .filter(({ name }) => !except.includes(name));
  return {
    groups: new Set(chosen.map(({ name }) => name)),
    extensions: new Set(chosen.flatMap(({ extension }) => extension ?? [])),
  };
}

const HTTP_URL = 'an http:// or https:// URL without a query';

function isHttpUrl(value: string): boolean {
  return URL.canParse(value) && /^https?:\/\/[^?#]+$/.test(value);
}

function isLoopback(url: string): boolean {
  return /^(localhost|127\.\d+\.\d+\.\d+)$/.test(new URL(url).hostname);
}

/** How the relay is registered at the mock provider. Only service B has a secret. */
export function registrationAt(options: Options, service: string) {
  return {
    clientId: `conformance-${service}`,
    clientSecret: service === options.serviceB ? `conformance-${service}-secret` : undefined,
    authorizeUrl: `${options.providerUrl}/${service}/authorize`,
    tokenUrl: `${options.providerUrl}/${service}/token`,
  };
}

/** A web app on a host, and one in a package, whose origin is `null` (Fetch standard, "CORS protocol"). */
export const LISTED_ORIGINS = ['https://app.conformance.example', 'null'] as const;

/** The environment that the relay needs for a run, as `KEY=VALUE` lines: `--print-env`. */
export function environmentLines(options: Options): string[] {
  const { extensions } = options;
  const proxies = trustedProxies(options);
  return [
    `OAUTH_BASE_URL=${options.publicUrl}`,
    ...[options.serviceA, options.serviceB].flatMap((service) => providerLines(options, service)),
    `SESSION_SECONDS=${options.sessionSeconds}`,
    `POLL_SECONDS=${options.pollSeconds}`,
    `MAX_SESSIONS=${options.maxSessions}`,
    proxies && `TRUSTED_PROXY_CIDRS=${proxies}`,
    extensions.has('device-grant') && `DEVICE_GRANT_REPEAT_SECONDS=${options.grantRepeatSeconds}`,
    extensions.has('cors') && `CORS_ORIGINS=${LISTED_ORIGINS.join(',')}`,
    extensions.has('confirm') && 'CONFIRM=always',
    extensions.has('revoke') && revokeLine(options),
    ...(extensions.has('challenge') ? challengeLines(options) : []),
  ].filter((line) => typeof line === 'string');
}

/** Only service B has a revocation endpoint. */
function revokeLine({ serviceB, providerUrl }: Options): string {
  return `${prefixOf(serviceB)}REVOKE_URL=${providerUrl}/${serviceB}/revoke`;
}

function prefixOf(service: string): string {
  return `${service.toUpperCase().replaceAll('-', '_')}_`;
}

/** One provider more, which takes a challenge. */
function challengeLines(options: Options): string[] {
  const { serviceA, serviceB, serviceS256 } = options;
  return [
    `PROVIDERS=${serviceA},${serviceB},${serviceS256}`,
    ...providerLines(options, serviceS256),
    `${prefixOf(serviceS256)}PKCE=S256`,
  ];
}

function providerLines(options: Options, service: string): string[] {
  const prefix = prefixOf(service);
  const { clientId, clientSecret, authorizeUrl, tokenUrl } = registrationAt(options, service);
  return [
    `${prefix}CLIENT_ID=${clientId}`,
    ...(clientSecret ? [`${prefix}CLIENT_SECRET=${clientSecret}`] : []),
    `${prefix}AUTHORIZE_URL=${authorizeUrl}`,
    `${prefix}TOKEN_URL=${tokenUrl}`,
  ];
}

function trustedProxies({ spread, proxyAddress }: Options): string | undefined {
  // Every address of this machine counts as the proxy. For a suite elsewhere the operator sets it.
  if (spread === 'forwarded') return '127.0.0.0/8,::1/128';
  return proxyAddress && `${proxyAddress}/${proxyAddress.includes(':') ? 128 : 32}`;
}
