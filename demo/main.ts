#!/usr/bin/env bun
/** The command line of the demo: starts its servers, signs in once as a device, and shows what arrived. */
import { parseArgs, styleText } from 'node:util';
import { signInAs } from './browser.ts';
import {
  type Failure,
  type Options,
  type SignIn,
  SignInError,
  startSignIn,
  waitForTokens,
} from './device.ts';
import { durationText, openScreen } from './screen.ts';
import { SERVICE, type Servers, startServers } from './servers.ts';

const USAGE = `A whole sign-in on this machine: a device in this terminal, the relay, and a
real OpenID provider. You are the user who signs in, with any browser here.

Usage: npm run demo                 shows a link and a code, and waits for you
       npm run demo -- --auto       signs in by itself: no browser, no terminal
       npm run demo -- --help       this text

Exits with 0 when the tokens arrived and the provider accepts them, otherwise
with 1 and the reason.
`;

async function main(): Promise<void> {
  const options = readOptions();
  if (options.help) {
    process.stdout.write(USAGE);
    return;
  }
  const ending = new AbortController();
  endOnSignal(ending);
  try {
    const servers = await startServers();
    servers.failure.catch((error: unknown) => ending.abort(error));
    try {
      const signIn = options.auto ? signInAutomatically : signInWithUser;
      process.stdout.write(await signIn(servers, ending.signal));
    } finally {
      await servers.stop();
    }
  } catch (error) {
    process.stderr.write(`\n  ${describeFailure(error)}\n\n`);
    process.exitCode = error === STOPPED ? 130 : 1;
  }
}

const STOPPED = new Error('Stopped. Nothing was kept.');

/** One Ctrl-C may arrive twice, from the terminal and from npm. */
const ECHO_MS = 500;

/** The first signal stops the servers, a later one ends the process at once. */
function endOnSignal(ending: AbortController): void {
  let firstAtMs: number | undefined;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      firstAtMs ??= performance.now();
      if (performance.now() - firstAtMs > ECHO_MS) process.exit(130);
      ending.abort(STOPPED);
    });
  }
}

function readOptions() {
  const options = { auto: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } } as const;
  try {
    return parseArgs({ options }).values;
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n\n${USAGE}`);
    process.exit(1);
  }
}

const say = (text: string) => void process.stdout.write(`  ${text}\n`);

/** Shows the link and waits until you have signed in. */
async function signInWithUser(servers: Servers, signal: AbortSignal): Promise<string> {
  const signIn = await startSignIn(servers.relayUrl, SERVICE, { signal, onRetry: say });
  const screen = openScreen(signIn, process.stdout);
  try {
    return await receive(servers, signIn, { signal, onRetry: screen.trouble });
  } finally {
    screen.close();
  }
}

/** Enough for any machine. */
const AUTO_TIMEOUT_MS = 60_000;

/** Follows the link through the provider's pages, without a browser. */
async function signInAutomatically(servers: Servers, stopped: AbortSignal): Promise<string> {
  const lost = new AbortController();
  const signal = AbortSignal.any([stopped, AbortSignal.timeout(AUTO_TIMEOUT_MS), lost.signal]);
  const signIn = await startSignIn(servers.relayUrl, SERVICE, { signal, onRetry: say });
  say('The relay gave the device a link. A user opens it and signs in as Ada.');

  async function browse(): Promise<void> {
    const { status, title } = await signInAs('Ada', signIn.url, signal);
    say(`The user's browser shows "${title}".`);
    if (status !== 200 || title !== 'Signed in') {
      throw new Error(`The browser ended at "${title}" (${status}) and not at "Signed in".`);
    }
  }
  const browsed = browse();
  // When browsing fails nobody will sign in, so the device stops waiting.
  browsed.catch((error: unknown) => lost.abort(error));
  const [report] = await Promise.all([receive(servers, signIn, { signal, onRetry: say }), browsed]);
  return report;
}

/** Waits for the tokens, tries them, and returns what to show. */
async function receive(
  { relayUrl, issuer }: Servers,
  signIn: SignIn,
  options: Options,
): Promise<string> {
  const { accessToken, refreshToken, expiresIn } = await waitForTokens(relayUrl, signIn, options);
  const name = await askUserinfo(issuer, accessToken);
  const second = await fetch(`${relayUrl}/auth/result?session=${signIn.session}`);
  const secondText = `${second.status} ${(await second.text()).trim()}`;
  const life = expiresIn === undefined ? '' : `, good for ${durationText(expiresIn * 1_000)}`;
  const rows = [
    ['access token', `${shorten(accessToken)}${life}`],
    ['refresh token', refreshToken === undefined ? 'none' : shorten(refreshToken)],
    ['userinfo', `the provider takes the access token: it is ${name}'s`],
    ['asked again', `${secondText}: the relay delivers tokens once`],
  ];
  const heading = styleText(['bold', 'green'], `✓ Demo TV is signed in as ${name}`);
  const lines = rows.map(([label = '', text]) => `${styleText('dim', label.padEnd(14))} ${text}`);
  return `\n  ${heading}\n\n    ${lines.join('\n    ')}\n\n`;
}

/** Proves that the access token is valid. */
async function askUserinfo(issuer: string, accessToken: string): Promise<string> {
  const headers = { Authorization: `Bearer ${accessToken}` };
  const response = await fetch(`${issuer}/me`, { headers });
  if (!response.ok) throw new Error(`The provider refused the access token: ${response.status}.`);
  return ((await response.json()) as { name: string }).name;
}

/** Enough to distinguish two tokens, too little to use one. */
const shorten = (token: string) => `${token.slice(0, 4)}… (${token.length} characters)`;

const FAILURES: Record<Failure, string> = {
  access_denied: 'You pressed Cancel at the provider, so the device got no tokens.',
  authorization_failed: 'The provider refused to sign you in. Run the demo again.',
  missing_code: 'The provider sent no code with you. Run the demo again.',
  exchange_failed: 'The provider did not give tokens for the code. Run the demo again.',
  expired: 'Nobody signed in before the link expired. Run the demo again for a new one.',
  refused: 'The relay refused to start a sign-in',
  rate_limited: 'Too many sign-ins were started from here. Wait a minute, then run the demo again.',
  unreachable: 'The relay could not be reached',
};

function describeFailure(error: unknown): string {
  if (!(error instanceof SignInError))
    return error instanceof Error ? error.message : String(error);
  const text = FAILURES[error.code];
  return error.detail && !text.endsWith('.') ? `${text}: ${error.detail}.` : text;
}

await main();
