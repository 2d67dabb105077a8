/** `sign-in-relay login`: a device in the terminal. docs/login.md. */
import { hostname } from 'node:os';
import { parseArgs } from 'node:util';
import { printable } from '../terminal.ts';
import { createDevice, type Failure, SignInError } from './device.ts';
import { type Output, OutputError, openFileOutput, stdoutOutput } from './output.ts';
import { openScreen, type Screen } from './screen.ts';

/** docs/login.md. */
export const EXIT_CODES = {
  signedIn: 0,
  usage: 2,
  declined: 3,
  failed: 4,
  expired: 5,
  relay: 6,
  output: 7,
  interrupted: 130,
  terminated: 143,
} as const;

export const DEV_RELAY = 'http://127.0.0.1:8080';

const USAGE = `sign-in-relay login: sign in from this terminal, and get the tokens

Usage: sign-in-relay login SERVICE [options]

  --relay URL      the relay. Default: SIGN_IN_RELAY_URL, or else ${DEV_RELAY},
                   where sign-in-relay dev listens
  --output FILE    write the tokens to this file, which only you can read
  --device NAME    what the confirmation page calls this device
  --details        also token type, scope and ID token, if the provider gives them
  --insecure       accept any certificate; for sign-in-relay dev --https
  --help

The tokens are written to stdout as JSON, everything else to stderr.

Exit codes: 0 signed in, 2 wrong options, 3 the user declined, 4 the sign-in failed,
5 the link expired, 6 the relay refused, did not answer or sent an invalid response,
7 the tokens could not be written, 130 Ctrl-C, 143 SIGTERM or SIGHUP.
`;

interface Options {
  readonly service: string;
  readonly relayUrl: string;
  readonly output: string | undefined;
  readonly deviceName: string;
  readonly details: boolean;
  readonly insecure: boolean;
}

export class UsageError extends Error {
  constructor(
    message: string,
    readonly showsUsage = false,
  ) {
    super(message);
  }
}

class Stopped extends Error {
  constructor(readonly exitCode: number) {
    super('Stopped.');
  }
}

/** Resolves with the exit code. */
export async function login(args: readonly string[]): Promise<number> {
  const stopping = new AbortController();
  let output: Output | undefined;
  try {
    const options = readOptions(args);
    if (options === 'help') {
      process.stdout.write(USAGE);
      return EXIT_CODES.signedIn;
    }
    stopOnSignal(stopping);
    output = options.output === undefined ? stdoutOutput : openFileOutput(options.output);
    await signIn(options, output, stopping.signal);
    return EXIT_CODES.signedIn;
  } catch (error) {
    return explain(error);
  } finally {
    output?.close();
  }
}

async function signIn(options: Options, output: Output, signal: AbortSignal): Promise<void> {
  const { service, relayUrl, insecure } = options;
  let screen: Screen | undefined;
  const watch = {
    onRetry: (trouble: string) => (screen ? screen.trouble(trouble) : say(`Trouble: ${trouble}.`)),
    onOpened: () => screen?.opened(),
  };
  const device = createDevice(relayUrl, watch, signal, insecure ? fetchInsecurely : fetch);
  const started = await device.start(options);
  screen = openScreen({ ...started, service }, process.stderr);
  try {
    const tokens = await device.waitForTokens(started);
    screen.close();
    screen = undefined;
    await output.write(tokens);
    const where = options.output === undefined ? '' : ` The tokens are in ${options.output}.`;
    say(`Signed in to ${service}.${where}`);
    // Only now: until then the relay would deliver them again.
    await device.acknowledge(started);
  } catch (error) {
    screen?.close();
    if (error instanceof Stopped) await device.cancel(started);
    throw error;
  }
}

const say = (text: string) => void process.stderr.write(`${printable(text)}\n`);

const fetchInsecurely = ((url: string, init?: RequestInit) => {
  // Bun obeys `tls`. Node has only this variable, for the whole process, which connects only to the relay.
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
  return fetch(url, { ...init, tls: { rejectUnauthorized: false } });
}) as typeof fetch;

/** One Ctrl-C may arrive twice, from the terminal and from npm. */
const ECHO_MS = 500;

/** The first signal cancels the sign-in, a later one ends the process at once. */
function stopOnSignal(stopping: AbortController): void {
  let firstAtMs: number | undefined;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    const exitCode = signal === 'SIGINT' ? EXIT_CODES.interrupted : EXIT_CODES.terminated;
    process.on(signal, () => {
      firstAtMs ??= performance.now();
      if (performance.now() - firstAtMs > ECHO_MS) process.exit(exitCode);
      stopping.abort(new Stopped(exitCode));
    });
  }
}

const FAILURES: Readonly<Record<Failure, readonly [exitCode: number, text: string]>> = {
  access_denied: [EXIT_CODES.declined, 'The sign-in was declined.'],
  authorization_failed: [EXIT_CODES.failed, 'The provider did not sign the user in. Try again.'],
  missing_code: [EXIT_CODES.failed, 'The provider redirected without a code. Try again.'],
  exchange_failed: [EXIT_CODES.failed, 'The provider gave no tokens. Try again.'],
  expired: [EXIT_CODES.expired, 'Nobody signed in before the link expired.'],
  refused: [EXIT_CODES.relay, 'The relay refused to start a sign-in'],
  rate_limited: [EXIT_CODES.relay, 'Too many sign-ins were started from here. Try again later.'],
  unreachable: [EXIT_CODES.relay, 'The relay cannot be reached'],
  invalid_response: [EXIT_CODES.relay, 'The relay sent an invalid response'],
};

/** Says why there are no tokens, and returns the exit code. */
function explain(error: unknown): number {
  if (error instanceof UsageError) {
    say(error.message);
    if (error.showsUsage) process.stderr.write(`\n${USAGE}`);
    return EXIT_CODES.usage;
  }
  if (error instanceof OutputError) {
    say(error.message);
    return EXIT_CODES.output;
  }
  if (error instanceof Stopped) {
    say('Stopped. The sign-in was cancelled.');
    return error.exitCode;
  }
  if (!(error instanceof SignInError)) throw error;
  const [exitCode, text] = FAILURES[error.code];
  say(error.detail && !text.endsWith('.') ? `${text}: ${error.detail}.` : text);
  return exitCode;
}

function readOptions(args: readonly string[]): Options | 'help' {
  const { values, positionals } = parse(args);
  if (values.help) return 'help';
  const [service, ...more] = positionals;
  if (service === undefined || more.length > 0) {
    throw new UsageError('Name one service of the relay.', true);
  }
  return {
    service,
    relayUrl: readRelayUrl(values.relay),
    output: values.output === '-' ? undefined : values.output,
    deviceName: values.device ?? `Terminal on ${hostname()}`,
    details: values.details ?? false,
    insecure: values.insecure ?? false,
  };
}

/** The value of `--relay`, or its default, without slashes at its end. */
export function readRelayUrl(given: string | undefined): string {
  const relay = given ?? (process.env.SIGN_IN_RELAY_URL || DEV_RELAY);
  if (!/^https?:\/\//i.test(relay) || !URL.canParse(relay) || /[?#@]/.test(relay)) {
    throw new UsageError('--relay is the base URL of a relay, such as https://relay.example.');
  }
  return relay.replace(/\/+$/, '');
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        relay: { type: 'string' },
        output: { type: 'string', short: 'o' },
        device: { type: 'string' },
        details: { type: 'boolean' },
        insecure: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    });
  } catch (error) {
    throw new UsageError(`${error instanceof Error ? error.message : error}`, true);
  }
}
