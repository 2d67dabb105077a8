/** Where requests come from: as many client addresses as there are starts, so that the rate limit stays out of the way. */

import { randomInt } from 'node:crypto';
import type { Spread } from '../command/options.ts';
import { sleep } from '../engine/wait.ts';

export interface Source {
  readonly localAddress?: string;
  readonly forwardedFor?: string;
}

export interface Sources {
  readonly spread: Spread;
  /** A client from which one start is sure to pass. */
  next(): Promise<Source>;
  /** A client with its whole burst unspent. */
  fresh(): Promise<Source>;
}

/** One token a second, and a little more: `protocol.md` §8. */
const TOKEN_MS = 1_100;
/** A burst of three tokens. */
const BURST_MS = 3 * TOKEN_MS;

export function createSources(spread: Spread): Sources {
  if (spread === 'none') return pacedSources();
  // A random beginning: two runs in a row do not meet each other's spent addresses.
  let index = randomInt(0, 200 * 254 * 254);
  const next = async (): Promise<Source> => {
    index += 1;
    return spread === 'loopback'
      ? { localAddress: `127.${tail(index)}` }
      : { forwardedFor: `10.${tail(index)}` };
  };
  return { spread, next, fresh: next };
}

/** The last three numbers of an address, none of them 0 or 255: `127.255.…` is the proxy's. */
function tail(index: number): string {
  const third = (1 + (Math.floor(index / 254) % 254)).toString();
  return `${1 + (Math.floor(index / (254 * 254)) % 250)}.${third}.${1 + (index % 254)}`;
}

/** One address for all: whoever wants to start waits in line for a token. */
function pacedSources(): Sources {
  let line: Promise<unknown> = Promise.resolve();
  const after = (ms: number) => async (): Promise<Source> => {
    const turn = line.then(() => sleep(ms));
    line = turn;
    await turn;
    return {};
  };
  return { spread: 'none', next: after(TOKEN_MS), fresh: after(BURST_MS) };
}
