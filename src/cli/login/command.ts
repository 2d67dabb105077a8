/** `sign-in-relay login`: a device in the terminal. docs/login.md. */
import { hostname } from 'node:os';
import {
  SignInError,
  type SignInErrorCode,
  start,
  type Tokens,
} from '../../../client/src/index.ts';
import {
  DEV_RELAY,
  EXIT_CODES,
  parseOptions,
  readRelayUrl,
  reportUsageError,
  say,
  UsageError,
} from './options.ts';
import { type Output, OutputError, openFileOutput, stdoutOutput } from './output.ts';
import { createFetch, HEADERS } from './request.ts';
import { openScreen, type Screen } from './screen.ts';

const USAGE = `sign-in-relay login: sign in from this terminal, and get the tokens

Usage: sign-in-relay login SERVICE [options]

  --relay URL      the relay. Default: SIGN_IN_RELAY_URL, or else ${DEV_RELAY},
                   where sign-in-relay dev listens
  --allow-http     get the tokens unencrypted from a relay on another machine
  --output FILE    write the tokens to this file, which only you can read
  --device NAME    what the confirmation page calls this device
  --details        also token type, scope and ID token, if the provider gives them
  --help

The tokens are written to stdout as JSON, everything else to stderr.

Exit codes: 0 signed in, 2 wrong options, 3 the user declined, 4 the sign-in failed,
5 the link expired, 6 the relay refused, did not answer or sent an invalid response,
7 the tokens could not be written, 130 Ctrl-C, 143 SIGTERM or SIGHUP.
`;

interface Options {
  readonly service: string;
  readonly relayUrl: string;
  readonly allowHttp: boolean;
  readonly output: string | undefined;
  readonly deviceName: string;
  readonly details: boolean;
}

/** The sign-in is to be cancelled at the relay. */
class Stopped extends Error {
  constructor(
    readonly exitCode: number,
    message = 'Stopped. The sign-in was cancelled.',
  ) {
    super(message);
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
    output = options.output === undefined ? stdoutOutput : openFileOutput(options.output);
    stopOnSignal(stopping);
    await signIn(options, output, stopping);
    return EXIT_CODES.signedIn;
  } catch (error) {
    return explain(error);
  } finally {
    output?.close();
  }
}

/** A user waits for the link: shorter than the minute for which the SDK tries. */
const START_MS = 10_000;

async function signIn(options: Options, output: Output, stopping: AbortController): Promise<void> {
  const { service, relayUrl, allowHttp } = options;
  const { signal } = stopping;
  let screen: Screen | undefined;
  let isOver = false;
  let said = '';
  function onTrouble(text: string): void {
    if (screen) screen.trouble(text);
    // The SDK tries several times within START_MS.
    else if (!isOver && text !== said) say(`Trouble: ${text}.`);
    said = text;
  }
  function close(): void {
    isOver = true;
    screen?.close();
    screen = undefined;
  }
  async function save(tokens: Tokens): Promise<void> {
    close();
    try {
      await output.write(tokens);
    } catch (error) {
      // Not tried again: a part may have been written.
      stopping.abort(error);
    }
  }
  const late = `The relay started no sign-in within ${START_MS / 1_000} seconds.`;
  const deadline = setTimeout(() => stopping.abort(new Stopped(EXIT_CODES.relay, late)), START_MS);
  const session = await start({
    relay: relayUrl,
    allowHttp,
    service,
    device: options.deviceName,
    details: options.details,
    // The tokens as most apps get them. If the relay demands it, it is blind.
    blind: false,
    headers: HEADERS,
    fetch: createFetch(relayUrl, onTrouble),
    signal,
  }).finally(() => clearTimeout(deadline));
  if (session === undefined) throw signal.reason;
  try {
    screen = openScreen({ ...session.prompt, service }, process.stderr);
    const tokens = await session.poll({ save, onOpened: () => screen?.opened(), signal });
    if (tokens === undefined) throw signal.reason;
    const where = options.output === undefined ? '' : ` The tokens are in ${options.output}.`;
    say(`Signed in to ${service}.${where}`);
  } catch (error) {
    if (error instanceof Stopped) void session.cancel();
    throw error;
  } finally {
    close();
  }
}

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

type Explanation = readonly [exitCode: number, text: string];

const FAILURES: Readonly<Partial<Record<SignInErrorCode, Explanation>>> = {
  access_denied: [EXIT_CODES.declined, 'The sign-in was declined.'],
  authorization_failed: [EXIT_CODES.failed, 'The provider did not sign the user in. Try again.'],
  missing_code: [EXIT_CODES.failed, 'The provider redirected without a code. Try again.'],
  exchange_failed: [EXIT_CODES.failed, 'The provider gave no tokens. Try again.'],
  expired: [EXIT_CODES.expired, 'Nobody signed in before the link expired.'],
};

/** Says why there are no tokens, and returns the exit code. */
function explain(error: unknown): number {
  if (error instanceof UsageError) return reportUsageError(error, USAGE);
  if (error instanceof OutputError) {
    say(error.message);
    return EXIT_CODES.output;
  }
  if (error instanceof Stopped) {
    say(error.message);
    return error.exitCode;
  }
  if (!(error instanceof SignInError)) throw error;
  const inWordsOfSdk: Explanation = [EXIT_CODES.relay, `Cannot sign in: ${error.detail}.`];
  const [exitCode, text] = FAILURES[error.code] ?? inWordsOfSdk;
  say(text);
  return exitCode;
}

function readOptions(args: readonly string[]): Options | 'help' {
  const { values, service } = parseOptions(args, {
    output: { type: 'string', short: 'o' },
    device: { type: 'string' },
    details: { type: 'boolean' },
  });
  if (values.help) return 'help';
  const { 'allow-http': allowHttp = false } = values;
  return {
    service,
    relayUrl: readRelayUrl(values.relay, allowHttp),
    allowHttp,
    output: values.output === '-' ? undefined : values.output,
    deviceName: values.device ?? `Terminal on ${hostname()}`,
    details: values.details ?? false,
  };
}
