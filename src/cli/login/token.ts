/** `sign-in-relay token`: a valid access token of a user who has signed in with `login`. docs/login.md. */
import { SignInError } from '../../../client/src/index.ts';
import { jsonText } from '../terminal.ts';
import { COMMON_USAGE, EXIT_CODES, openSession, runCommand, say } from './options.ts';

const USAGE = `sign-in-relay token: print a valid access token

Usage: sign-in-relay token SERVICE [options]

${COMMON_USAGE}
  --json           all tokens, as JSON

Example: curl -H "Authorization: Bearer $(sign-in-relay token mal)" URL

A token that is about to expire is refreshed first, by one process at a time.

Exit codes: 0 printed, 2 wrong options, 4 nobody is signed in, or not any more,
6 the token has expired and the relay cannot refresh it now, 7 the tokens
cannot be read or stored.
`;

/** Resolves with the exit code. */
export const token = (args: readonly string[]): Promise<number> =>
  runCommand(USAGE, args, { json: { type: 'boolean' } }, async ({ target, values, command }) => {
    try {
      const session = openSession(target);
      const accessToken = await session.getToken();
      const text = values.json ? jsonText(await session.getTokens()) : accessToken;
      process.stdout.write(`${text}\n`);
      return 0;
    } catch (error) {
      return explain(error, target.service, command('login'));
    }
  });

function explain(error: unknown, service: string, login: string): number {
  if (!(error instanceof SignInError) || error.code === 'storage_failed') throw error;
  const { code, detail } = error;
  if (code === 'invalid_grant' || code === 'signed_out') {
    say(`Not signed in to ${service}: ${detail}. To sign in: ${login}`);
    return EXIT_CODES.failed;
  }
  say(`The token has expired, and cannot be refreshed now: ${detail}.`);
  return EXIT_CODES.relay;
}
