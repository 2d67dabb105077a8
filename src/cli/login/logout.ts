/** `sign-in-relay logout`: deletes the tokens of `login`, and has them revoked. docs/login.md. */
import type { SignedOut } from '../../../client/src/index.ts';
import { COMMON_USAGE, EXIT_CODES, openSession, runCommand, say } from './options.ts';

const USAGE = `sign-in-relay logout: revoke and delete the tokens of login

Usage: sign-in-relay logout SERVICE [options]

${COMMON_USAGE}

Exit codes: 0 the provider no longer accepts the tokens, or nobody was signed
in, 2 wrong options, 4 the tokens may still work, 7 they cannot be read or
deleted.
`;

/** Resolves with the exit code. */
export const logout = (args: readonly string[]): Promise<number> =>
  runCommand(USAGE, args, {}, async ({ target }) => {
    const { service } = target;
    const session = openSession(target);
    if ((await session.getTokens()) === undefined) {
      say(`Nobody is signed in to ${service}.`);
      return 0;
    }
    return report(service, await session.signOut());
  });

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
  const place = removeAt ?? 'see the settings of the account there';
  if (unsupported) say(`To end that sooner, remove the app at ${service}: ${place}`);
  return EXIT_CODES.failed;
}
