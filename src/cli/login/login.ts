/** `sign-in-relay login`: a device in the terminal. docs/login.md. */
import { hostname } from 'node:os';
import { type OpenClient, SignInError, type SignInErrorCode } from '../../../client/src/index.ts';
import { SIGNAL_ECHO_MS } from '../../limits.ts';
import { CommandError } from '../command-line.ts';
import { COMMON_USAGE, EXIT_CODES, openSession, runCommand, say } from './options.ts';
import { createScreen } from './screen.ts';

const USAGE = `sign-in-relay login: sign in from this terminal

Usage: sign-in-relay login SERVICE [options]

${COMMON_USAGE}
  --device NAME    what the confirmation page calls this device
  --open URL       an authorization endpoint, with its scope in the query, for a
                   client id of your own: the relay lends only its address.
                   SERVICE is then any name. Needs --token-url URL and
                   --client-id ID
  --details        keep token type, scope and ID token too, if there are any

The tokens are kept in a file that only you can read. sign-in-relay token
SERVICE prints a valid access token, sign-in-relay logout SERVICE revokes and
deletes them.

Exit codes: 0 signed in, 2 wrong options, 3 the user declined, 4 the sign-in
failed, 5 the link expired, 6 the relay refused, did not answer or sent an
invalid response, 7 the tokens could not be stored, 130 Ctrl-C, 143 SIGTERM or
SIGHUP.
`;

/** The reason for a cancellation: the user ended the sign-in, or the relay gave no link in time. */
class Stopped extends Error {
  constructor(
    readonly exitCode: number,
    message = 'Stopped. The sign-in was cancelled.',
  ) {
    super(message);
  }
}

const OPTIONS = {
  device: { type: 'string' },
  details: { type: 'boolean' },
  open: { type: 'string' },
  'token-url': { type: 'string' },
  'client-id': { type: 'string' },
} as const;

/** How long a user waits for the link. The client itself would try for a minute. */
const START_MS = 10_000;

/** Resolves with the exit code. */
export const login = (args: readonly string[]): Promise<number> =>
  runCommand(USAGE, args, OPTIONS, async ({ target, values, command }) => {
    const { service } = target;
    const open = readOpen(values);
    const stopping = new AbortController();
    stopOnSignal(stopping);
    const screen = createScreen(service);
    const session = openSession(target, {
      device: values.device ?? `Terminal on ${hostname()}`,
      details: values.details,
      // `login` gets tokens as most apps do. If the relay demands a blind sign-in, it is one.
      blind: false,
      open,
    });
    const late = `The relay started no sign-in within ${START_MS / 1_000} seconds.`;
    const deadline = setTimeout(
      () => stopping.abort(new Stopped(EXIT_CODES.relay, late)),
      START_MS,
    );
    const stopWatching = session.subscribe(() => {
      screen.show(session.state);
      if (session.state.status === 'waiting') clearTimeout(deadline);
    });
    const leave = () => {
      clearTimeout(deadline);
      stopWatching();
      screen.close();
    };
    try {
      await session.signIn({ signal: stopping.signal }).finally(leave);
    } catch (error) {
      return explain(error);
    }
    say(`Signed in to ${service}. For a valid access token: ${command('token')}`);
    return EXIT_CODES.signedIn;
  });

type Values = { readonly [Name in 'open' | 'token-url' | 'client-id']?: string | undefined };

/** Throws CommandError unless all three are given, or none. */
function readOpen(values: Values): OpenClient | undefined {
  const { open: authorizationUrl, 'token-url': tokenUrl, 'client-id': clientId } = values;
  if (authorizationUrl && tokenUrl && clientId) return { authorizationUrl, tokenUrl, clientId };
  if (authorizationUrl || tokenUrl || clientId) {
    const problem = '--open, --token-url and --client-id belong together.';
    throw new CommandError(problem, EXIT_CODES.usage, USAGE);
  }
  return undefined;
}

/** The first signal cancels the sign-in, a later one ends the process at once. */
function stopOnSignal(stopping: AbortController): void {
  let firstAtMs: number | undefined;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    const exitCode = signal === 'SIGINT' ? EXIT_CODES.interrupted : EXIT_CODES.terminated;
    process.on(signal, () => {
      firstAtMs ??= performance.now();
      if (performance.now() - firstAtMs > SIGNAL_ECHO_MS) process.exit(exitCode);
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
  if (error instanceof Stopped) {
    say(error.message);
    return error.exitCode;
  }
  if (!(error instanceof SignInError) || error.code === 'storage_failed') throw error;
  const otherFailure: Explanation = [EXIT_CODES.relay, `Cannot sign in: ${error.detail}.`];
  const [exitCode, text] = FAILURES[error.code] ?? otherFailure;
  say(text);
  return exitCode;
}
