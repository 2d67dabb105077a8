/** The command line, and the environment that the relay needs for it. README.md says what each option is for. */

import { parseArgs } from 'node:util';
/** The provider with PKCE and no secret, and the one with a secret and no PKCE. */
export const SERVICE_A = 'mal';
export const SERVICE_B = 'anilist';
/** For the `challenge` group: PKCE with S256, and no secret. */
export const SERVICE_S256 = 'conformance-s256';

/** How long the relay holds a poll. */
export const POLL_SECONDS = 50;

/** What a relay may offer beyond the core of the protocol: `--with`. */
export type Extension =
  | 'user-code'
  | 'wait'
  | 'ack'
  | 'services'
  | 'refresh'
  | 'revoke'
  | 'details'
  | 'challenge'
  | 'open'
  | 'progress'
  | 'cancel'
  | 'qr'
  | 'cors'
  | 'device-grant'
  | 'confirm';

interface Group {
  readonly name: string;
  readonly extension?: Extension;
}

export interface Options {
  /** The relay's `OAUTH_BASE_URL`, without trailing slashes. */
  readonly baseUrl: string;
  readonly unconfiguredUrl: string | undefined;
  readonly providerListen: { readonly host: string; readonly port: number };
  /** How the relay reaches the mock provider. */
  readonly providerUrl: string;
  readonly sessionSeconds: number;
  readonly sweepSeconds: number;
  readonly maxSessions: number;
  /** A source address whose `X-Forwarded-For` the relay reads. */
  readonly proxyAddress: string | undefined;
  /** The groups to run; the others are `disabled`. */
  readonly groups: ReadonlySet<string>;
  /** The extensions that those groups check. */
  readonly extensions: ReadonlySet<Extension>;
  readonly printEnv: boolean;
  readonly secretsFile: string | undefined;
}

const FLAGS = {
  /** Where a relay listens by default. */
  'base-url': { type: 'string', default: 'http://127.0.0.1:8080' },
  'unconfigured-url': { type: 'string' },
  'provider-listen': { type: 'string', default: '127.0.0.1:9797' },
  'session-seconds': { type: 'string', default: '600' },
  'sweep-seconds': { type: 'string', default: '0' },
  'max-sessions': { type: 'string', default: '5000' },
  /** No case starts a session from this address. */
  'proxy-address': { type: 'string', default: '127.255.0.1' },
  only: { type: 'string' },
  except: { type: 'string' },
  with: { type: 'string' },
  'print-env': { type: 'boolean', default: false },
  'secrets-file': { type: 'string' },
} as const;

/** The message names every problem of the command line. */
export class BadOptions extends Error {}

export function parseOptions(args: readonly string[], all: readonly Group[]): Options {
  const flags = readFlags(args);
  const problems: string[] = [];
  const check = (isGood: boolean, flag: string, value: string, wanted: string) => {
    if (!isGood) problems.push(`--${flag} '${value}': must be ${wanted}`);
  };
  const url = (flag: 'base-url' | 'unconfigured-url', value: string) => {
    // Each start has a source address of its own, and the relay must be able to answer it.
    check(isLocalUrl(value), flag, value, 'a URL of this machine without a query');
    return value.replace(/(?<!\/)\/+$/, '');
  };
  const count = (flag: 'session-seconds' | 'sweep-seconds' | 'max-sessions', least: number) => {
    const value = flags[flag];
    const isGood = /^\d{1,9}$/.test(value) && Number(value) >= least;
    check(isGood, flag, value, `a whole number, at least ${least}`);
    return Number(value);
  };
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
  const listen = flags['provider-listen'];
  const [, host = '', port = ''] = /^(.+):(\d{1,5})$/.exec(listen) ?? [];
  check(host !== '' && Number(port) <= 65_535, 'provider-listen', listen, 'HOST:PORT');
  const { 'unconfigured-url': unconfiguredUrl, 'proxy-address': proxyAddress } = flags;
  const options = {
    baseUrl: url('base-url', flags['base-url']),
    unconfiguredUrl: unconfiguredUrl && url('unconfigured-url', unconfiguredUrl),
    providerListen: { host: host.replace(/^\[|\]$/g, ''), port: Number(port) },
    providerUrl: `http://${listen}`,
    proxyAddress: proxyAddress === 'none' ? undefined : proxyAddress,
    sessionSeconds: count('session-seconds', 10),
    sweepSeconds: count('sweep-seconds', 0),
    maxSessions: count('max-sessions', 1),
    groups: new Set(chosen.map(({ name }) => name)),
    extensions: new Set(chosen.flatMap(({ extension }) => extension ?? [])),
    printEnv: flags['print-env'],
    secretsFile: flags['secrets-file'],
  };
  if (problems.length === 0 && chosen.length === 0) {
    problems.push('--only and --except leave no group to run');
  }
  if (problems.length > 0) throw new BadOptions(problems.join('\n'));
  return options;
}

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

function isLocalUrl(value: string): boolean {
  if (!URL.canParse(value) || !/^https?:\/\/[^?#]+$/.test(value)) return false;
  return /^(localhost|127\.\d+\.\d+\.\d+)$/.test(new URL(value).hostname);
}

/** How the relay is registered at the mock provider. Only service B has a secret. */
export function registrationAt(options: Options, service: string) {
  return {
    clientId: `conformance-${service}`,
    clientSecret: service === SERVICE_B ? `conformance-${service}-secret` : undefined,
    authorizeUrl: `${options.providerUrl}/${service}/authorize`,
    tokenUrl: `${options.providerUrl}/${service}/token`,
  };
}

/** A web app on a host, and one in a package, whose origin is `null` (Fetch standard, "CORS protocol"). */
export const LISTED_ORIGINS = ['https://app.conformance.example', 'null'] as const;

/** The environment that the relay needs for a run, as `KEY=VALUE` lines: `--print-env`. */
export function environmentLines(options: Options): string[] {
  const { extensions, proxyAddress, providerUrl } = options;
  const revokeUrl = `${providerUrl}/${SERVICE_B}/revoke`;
  return [
    `OAUTH_BASE_URL=${options.baseUrl}`,
    ...providerLines(options, SERVICE_A),
    ...providerLines(options, SERVICE_B),
    `SESSION_SECONDS=${options.sessionSeconds}`,
    `MAX_SESSIONS=${options.maxSessions}`,
    ...(proxyAddress ? [`TRUSTED_PROXY_CIDRS=${proxyAddress}/32`] : []),
    ...(extensions.has('cors') ? [`CORS_ORIGINS=${LISTED_ORIGINS.join(',')}`] : []),
    ...(extensions.has('confirm') ? ['CONFIRM=always'] : []),
    // Only service B has a revocation endpoint.
    ...(extensions.has('revoke') ? [settingOf(SERVICE_B, 'REVOKE_URL', revokeUrl)] : []),
    ...(extensions.has('challenge') ? challengeLines(options) : []),
    ...(extensions.has('open')
      ? [`OPEN_ENDPOINTS=${registrationAt(options, SERVICE_A).authorizeUrl}`]
      : []),
  ];
}

const settingOf = (service: string, name: string, value: string) =>
  `${service.toUpperCase().replaceAll('-', '_')}_${name}=${value}`;

/** One provider more, which takes a challenge. */
const challengeLines = (options: Options) => [
  `PROVIDERS=${SERVICE_A},${SERVICE_B},${SERVICE_S256}`,
  ...providerLines(options, SERVICE_S256),
  settingOf(SERVICE_S256, 'PKCE', 'S256'),
];

function providerLines(options: Options, service: string): string[] {
  const { clientId, clientSecret, authorizeUrl, tokenUrl } = registrationAt(options, service);
  return [
    settingOf(service, 'CLIENT_ID', clientId),
    ...(clientSecret ? [settingOf(service, 'CLIENT_SECRET', clientSecret)] : []),
    settingOf(service, 'AUTHORIZE_URL', authorizeUrl),
    settingOf(service, 'TOKEN_URL', tokenUrl),
  ];
}
