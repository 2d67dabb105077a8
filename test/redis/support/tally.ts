/** What became of many sign-ins. */
import type { SignedIn } from './sign-in.ts';
import { tokenOf } from './token-endpoint.ts';

export interface Tally {
  readonly signIns: number;
  /** Handed to a device, the right tokens. */
  delivered: number;
  /** More than once. */
  doubled: number;
  /** The device was told that it failed. */
  failed: number;
  /** Neither tokens nor an error: the session was gone. */
  lost: number;
  /** Tokens of another sign-in. */
  wrong: number;
}

export function tally(signIns: readonly SignedIn[]): Tally {
  const sums = { signIns: signIns.length, delivered: 0, doubled: 0, failed: 0, lost: 0, wrong: 0 };
  for (const { code, results } of signIns) {
    const given = results.filter((result) => result !== 'gone');
    const tokens = given.filter(({ accessToken }) => accessToken !== undefined);
    if (given.length > 1) sums.doubled += 1;
    if (given.length === 0) sums.lost += 1;
    else if (tokens.length > 0) sums.delivered += 1;
    else sums.failed += 1;
    if (tokens.some(({ accessToken }) => accessToken !== tokenOf(code))) sums.wrong += 1;
  }
  return sums;
}
