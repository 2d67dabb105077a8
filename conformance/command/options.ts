/** What the command line asks for. README.md says what each option is for. */

import { parseArgs } from 'node:util';
import type { Extension, Group } from '../engine/case.ts';
import { createReader, type OptionReader } from './option-reader.ts';

export type Spread = 'loopback' | 'forwarded' | 'none';

export interface Options {
  /** Where the suite reaches the target, without trailing slashes. */
  readonly baseUrl: string;
  /** The `OAUTH_BASE_URL` of the target, without trailing slashes. */
  readonly publicUrl: string;
  readonly unconfiguredUrl: string | undefined;
  readonly providerListen: { readonly host: string; readonly port: number };
  /** How the target reaches the played provider. */
  readonly providerUrl: string;
  readonly serviceA: string;
  readonly serviceB: string;
  readonly sessionSeconds: number;
  readonly sweepSeconds: number;
  readonly pollSeconds: number;
  readonly maxSessions: number;
  /** For how long a device code gets its tokens again; 0: once. */
  readonly grantRepeatSeconds: number;
  readonly spread: Spread;
  /** A source address whose `X-Forwarded-For` the target reads. */
  readonly proxyAddress: string | undefined;
  /** The groups to run; the others are `disabled`. */
  readonly groups: ReadonlySet<string>;
  /** What those groups hold the target to beyond `protocol.md`. */
  readonly extensions: ReadonlySet<Extension>;
  readonly list: boolean;
  readonly printEnv: boolean;
  readonly junitFile: string | undefined;
  readonly secretsFile: string | undefined;
  readonly answersFile: string | undefined;
}

const FLAGS = {
  'base-url': { type: 'string' },
  'public-url': { type: 'string' },
  'unconfigured-url': { type: 'string' },
  'provider-listen': { type: 'string', default: '127.0.0.1:9797' },
  'provider-url': { type: 'string' },
  'service-a': { type: 'string', default: 'mal' },
  'service-b': { type: 'string', default: 'anilist' },
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

/** An address no case uses otherwise: in the loopback spread it plays a trusted proxy. */
const DEFAULT_PROXY_ADDRESS = '127.255.0.1';

/** A command line that cannot be obeyed; the message names every fault. */
export class BadOptions extends Error {}

type Flags = ReturnType<typeof readFlags>;

export function parseOptions(args: readonly string[], all: readonly Group[]): Options {
  const flags = readFlags(args);
  const read = createReader();
  const groups = read.groups(flags, all);
  const chosen = all.filter(({ name }) => groups.has(name));
  const options: Options = {
    ...addresses(flags, read),
    ...services(flags, read),
    sessionSeconds: read.count('session-seconds', flags['session-seconds'], 10),
    sweepSeconds: read.count('sweep-seconds', flags['sweep-seconds'], 0),
    pollSeconds: read.count('poll-seconds', flags['poll-seconds'], 1),
    maxSessions: read.count('max-sessions', flags['max-sessions'], 1),
    grantRepeatSeconds: read.count('grant-repeat-seconds', flags['grant-repeat-seconds'], 0),
    groups,
    extensions: new Set(chosen.flatMap(({ extension }) => extension ?? [])),
    list: flags.list,
    printEnv: flags['print-env'],
    junitFile: flags.junit,
    secretsFile: flags['secrets-file'],
    answersFile: flags['answers-file'],
  };
  if (read.faults.length > 0) throw new BadOptions(read.faults.join('\n'));
  return options;
}

function readFlags(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: FLAGS, strict: true }).values;
  } catch (error) {
    throw new BadOptions(error instanceof Error ? error.message : String(error));
  }
}

function addresses(flags: Flags, read: OptionReader) {
  const given = flags['base-url'];
  // A listing speaks to nobody, so it needs no target.
  const baseUrl = given === undefined && flags.list ? '' : read.url('base-url', given);
  const spread = read.spread(flags.spread, baseUrl);
  const proxy = flags['proxy-address'] ?? (spread === 'loopback' ? DEFAULT_PROXY_ADDRESS : 'none');
  const unconfigured = flags['unconfigured-url'];
  const listen = flags['provider-listen'];
  return {
    baseUrl,
    publicUrl: flags['public-url'] ? read.url('public-url', flags['public-url']) : baseUrl,
    unconfiguredUrl: unconfigured ? read.url('unconfigured-url', unconfigured) : undefined,
    providerListen: read.hostPort('provider-listen', listen),
    providerUrl: read.url('provider-url', flags['provider-url'] ?? `http://${listen}`),
    spread,
    proxyAddress: proxy === 'none' ? undefined : proxy,
  };
}

function services(flags: Flags, read: OptionReader) {
  const serviceA = read.name('service-a', flags['service-a']);
  const serviceB = read.name('service-b', flags['service-b']);
  if (serviceA === serviceB) read.faults.push('--service-a and --service-b: must differ');
  return { serviceA, serviceB };
}
