/** `sign-in-relay logout`: deletes the tokens that `login` has written, and has them revoked. docs/login.md. */
import { readFileSync, realpathSync, rmSync, statSync } from 'node:fs';
import { type SignedOut, signOut, type Tokens } from '../../../client/src/index.ts';
import {
  DEV_RELAY,
  EXIT_CODES,
  parseOptions,
  readRelayUrl,
  reportUsageError,
  say,
  UsageError,
} from './options.ts';
import { createFetch } from './request.ts';

const USAGE = `sign-in-relay logout: end what sign-in-relay login has begun

Usage: sign-in-relay logout SERVICE [options]

  --input FILE     the file that login --output has written; it is deleted.
                   Not given: the tokens are read from stdin
  --relay URL      the relay. Default: SIGN_IN_RELAY_URL, or else ${DEV_RELAY},
                   where sign-in-relay dev listens
  --allow-http     send the tokens unencrypted to a relay on another machine
  --help

Exit codes: 0 the provider accepts the tokens no longer, 2 wrong options, 4 the tokens
may still work, 7 they cannot be read or deleted.
`;

/** Tokens have 64 KiB at most (docs/protocol.md §6), and in JSON a character may take six. */
const MAX_INPUT_BYTES = 393_216;

/** The tokens cannot be read, or deleted. Its message is for the user. */
class InputError extends Error {}

/** Resolves with the exit code. */
export async function logout(args: readonly string[]): Promise<number> {
  try {
    const options = readOptions(args);
    if (options === 'help') {
      process.stdout.write(USAGE);
      return 0;
    }
    const { service, relay, allowHttp, input } = options;
    const tokens = parseTokens(input === undefined ? await readStdin() : readFile(input), input);
    const forget = () => {
      if (input !== undefined) remove(input);
    };
    const send = createFetch(relay, () => {});
    const outcome = await signOut({ relay, allowHttp, service, tokens, forget, fetch: send });
    return report(service, outcome);
  } catch (error) {
    if (error instanceof UsageError) return reportUsageError(error, USAGE);
    if (!(error instanceof InputError)) throw error;
    say(error.message);
    return EXIT_CODES.output;
  }
}

/** The relay is not trusted with the terminal: `say` spells control characters out. */
function report(service: string, { revoked, unsupported, removeAt, detail }: SignedOut): number {
  if (revoked) {
    say(`Signed out of ${service}: the tokens no longer work.`);
    return 0;
  }
  const reason = unsupported
    ? `${service} has no way to revoke tokens that the relay knows`
    : `the tokens were not revoked (${detail})`;
  say(`Signed out of ${service} here, but ${reason}. They may work until they expire.`);
  if (unsupported) {
    say(
      `To end that sooner, remove the app at ${service}: ${removeAt ?? 'see the settings of the account there'}`,
    );
  }
  return EXIT_CODES.failed;
}

function readOptions(args: readonly string[]) {
  const { values, service } = parseOptions(args, { input: { type: 'string', short: 'i' } });
  if (values.help) return 'help';
  const input = values.input === '-' ? undefined : values.input;
  if (input === undefined && process.stdin.isTTY) {
    throw new UsageError('Name the file with the tokens in --input, or pipe them in.', true);
  }
  const { 'allow-http': allowHttp = false } = values;
  return { service, input, allowHttp, relay: readRelayUrl(values.relay, allowHttp) };
}

function readFile(path: string): string {
  return attempt(path, 'read', () => {
    const { size } = statSync(path);
    if (size > MAX_INPUT_BYTES) throw new InputError(`${path} is too long for tokens`);
    return readFileSync(path, 'utf8');
  });
}

async function readStdin(): Promise<string> {
  let text = '';
  for await (const chunk of process.stdin.setEncoding('utf8')) {
    text += chunk;
    if (text.length > MAX_INPUT_BYTES) throw new InputError('stdin is too long for tokens');
  }
  return text;
}

/** The file itself, if the path is a link to it. A pipe stays. */
function remove(path: string): void {
  attempt(path, 'deleted', () => {
    if (statSync(path).isFile()) rmSync(realpathSync(path));
  });
}

function parseTokens(text: string, path = 'stdin'): Tokens {
  let tokens: unknown;
  try {
    tokens = JSON.parse(text);
  } catch {
    // Below: its message could show a part of a token.
  }
  const { accessToken, refreshToken } = Object(tokens);
  const isGood = [accessToken, refreshToken].some((token) => token && typeof token === 'string');
  if (!isGood) throw new InputError(`${path} has no tokens of sign-in-relay login`);
  return tokens as Tokens;
}

function attempt<Value>(path: string, what: string, run: () => Value): Value {
  try {
    return run();
  } catch (error) {
    if (error instanceof InputError) throw error;
    const { code = error } = Object(error);
    throw new InputError(`${path} cannot be ${what}: ${code}`);
  }
}
