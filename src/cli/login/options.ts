/** What `login`, `token` and `logout` share: the options of the command line, the session, and the exit codes. */
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { ParseArgsConfig, parseArgs } from 'node:util';
import { isPrivate } from '../../../client/src/ask.ts';
import {
  createSession,
  type Session,
  type SessionOptions,
  SignInError,
} from '../../../client/src/index.ts';
import { fileStorage } from '../../../client/src/node.ts';
import { CommandError, PROGRAM, parseOptions } from '../command-line.ts';
import { printable } from '../terminal.ts';

/** docs/login.md. */
export const EXIT_CODES = {
  signedIn: 0,
  usage: 2,
  declined: 3,
  failed: 4,
  expired: 5,
  relay: 6,
  storage: 7,
  interrupted: 130,
  terminated: 143,
} as const;

const DEV_RELAY = 'http://127.0.0.1:8080';

/** The options of all three commands. */
const COMMON = {
  account: { type: 'string' },
  tokens: { type: 'string' },
  relay: { type: 'string' },
  'allow-http': { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

export const COMMON_USAGE = `  --relay URL      the relay. Default: SIGN_IN_RELAY_URL, or else
                   ${DEV_RELAY}, where sign-in-relay dev listens
  --account NAME   one of several accounts at the service
  --tokens FOLDER  where tokens are kept. Default: ~/.config/sign-in-relay
  --allow-http     send tokens unencrypted to a relay on another machine
  --help`;

/** Writes to stderr; stdout is for tokens. */
export const say = (text: string) => void process.stderr.write(`${printable(text)}\n`);

type OwnOptions = NonNullable<ParseArgsConfig['options']>;

/** Reads the command line, and runs one of the three commands. Resolves with the exit code. */
export async function runCommand<Own extends OwnOptions>(
  usage: string,
  args: readonly string[],
  own: Own,
  run: (parsed: Parsed<Own>) => Promise<number>,
): Promise<number> {
  const parsed = readCommandLine(usage, args, own);
  if (parsed === undefined) {
    process.stdout.write(usage);
    return 0;
  }
  try {
    return await run(parsed);
  } catch (error) {
    if (!(error instanceof SignInError && error.code === 'storage_failed')) throw error;
    const problem = `${error.detail}: ${(error.cause as Error).message}.`;
    throw new CommandError(problem, EXIT_CODES.storage);
  }
}

type Parsed<Own extends OwnOptions> = NonNullable<ReturnType<typeof readCommandLine<Own>>>;

/** Undefined if help is asked for. Throws CommandError. */
function readCommandLine<Own extends OwnOptions>(usage: string, args: readonly string[], own: Own) {
  const options = { ...COMMON, ...own };
  const config = { args: [...args], allowPositionals: true, options };
  const { values, positionals } = parseOptions(config, usage, EXIT_CODES.usage);
  // TypeScript loses their types beside those of `own`.
  const common = values as ReturnType<typeof parseArgs<{ options: typeof COMMON }>>['values'];
  if (common.help) return undefined;
  const [service, ...more] = positionals;
  if (service === undefined || more.length > 0) {
    throw new CommandError('Name one service, such as mal.', EXIT_CODES.usage, usage);
  }
  const allowHttp = common['allow-http'] ?? false;
  const relay = readRelayUrl(common.relay, allowHttp);
  const { account, tokens = defaultFolder() } = common;
  const given = { relay: common.relay && relay, account, tokens: common.tokens };
  const flags = Object.entries(given).map(([name, value]) =>
    value === undefined ? '' : ` --${name} ${quote(value)}`,
  );
  if (allowHttp) flags.push(' --allow-http');
  /** The command line of another of the three commands, for the same account. */
  const command = (name: string) => `${PROGRAM} ${name} ${service}${flags.join('')}`;
  return { values, command, target: { service, relay, allowHttp, account, folder: tokens } };
}

/** Quotes an argument for a POSIX shell. */
const quote = (text: string) =>
  /^[\w@%+=:,./~-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** https://specifications.freedesktop.org/basedir-spec/latest/ */
const defaultFolder = () =>
  join(process.env.XDG_CONFIG_HOME || join(homedir(), '.config'), 'sign-in-relay');

/** The service, relay and account of the tokens, and where they are kept. */
type SessionTarget = Parsed<OwnOptions>['target'];

/** The session of this user, with the tokens in files. */
export function openSession(
  { folder, ...target }: SessionTarget,
  more: Partial<SessionOptions> = {},
): Session {
  return createSession({
    ...target,
    storage: fileStorage(folder),
    // Asks for no compression, because a short body may become a long one.
    headers: { 'Accept-Encoding': 'identity' },
    // Bun doesn't decompress a body that is compressed although nobody asked for it.
    fetch: (url, init) => fetch(url, { ...init, decompress: false }),
    ...more,
  });
}

/** The value of `--relay`, or its default. */
function readRelayUrl(given: string | undefined, allowHttp: boolean): string {
  const relay = given ?? (process.env.SIGN_IN_RELAY_URL || DEV_RELAY);
  if (!/^https?:\/\//i.test(relay) || !URL.canParse(relay) || /[?#@]/.test(relay)) {
    const problem = '--relay is the base URL of a relay, such as https://relay.example.';
    throw new CommandError(problem, EXIT_CODES.usage);
  }
  if (allowHttp || isPrivate(`${relay}/`)) return relay;
  const problem = `${relay} is http: anybody on the way could read the tokens. Use https, or --allow-http in a network of your own.`;
  throw new CommandError(problem, EXIT_CODES.usage);
}
