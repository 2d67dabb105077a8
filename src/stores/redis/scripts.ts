/**
 * The Lua scripts, one file each in scripts/, so that each is atomic over all instances. None of
 * them knows what a session is: they keep records, compare and set. Every key that a script uses
 * is in its KEYS, and all keys are in one slot. Each begins with scripts/prelude.lua.
 */
import { hash } from 'node:crypto';
import beginRefresh from './scripts/begin-refresh.lua' with { type: 'text' };
import commit from './scripts/commit.lua' with { type: 'text' };
import count from './scripts/count.lua' with { type: 'text' };
import create from './scripts/create.lua' with { type: 'text' };
import finishRefresh from './scripts/finish-refresh.lua' with { type: 'text' };
import prelude from './scripts/prelude.lua' with { type: 'text' };
import probe from './scripts/probe.lua' with { type: 'text' };
import refundToken from './scripts/refund-token.lua' with { type: 'text' };
import sweep from './scripts/sweep.lua' with { type: 'text' };
import takeToken from './scripts/take-token.lua' with { type: 'text' };

export interface Script {
  readonly text: string;
  /** EVALSHA runs it by this digest. */
  readonly sha1: string;
}

/** The error of a command that came too late, and was not executed, begins with it. */
export const TOO_LATE = 'LATE';

function createScript(source: string): Script {
  const text = `${prelude}${source}`.replace(/^[ \t]*--.*\n/gm, '');
  return { text, sha1: hash('sha1', text) };
}

export const SCRIPTS = {
  create: createScript(create),
  commit: createScript(commit),
  sweep: createScript(sweep),
  count: createScript(count),
  takeToken: createScript(takeToken),
  refundToken: createScript(refundToken),
  beginRefresh: createScript(beginRefresh),
  finishRefresh: createScript(finishRefresh),
  probe: createScript(probe),
} as const;

export type RedisKeys = ReturnType<typeof createRedisKeys>;

/** The names of all keys, and of the channel (docs/sealing.md "Records"). In a Cluster every key has the hash tag `{0}`. */
export function createRedisKeys(prefix: string, isCluster: boolean) {
  const own = isCluster ? `${prefix}{0}:` : prefix;
  return {
    /** All instances subscribe to it. */
    channel: `${prefix}wake:all`,
    /** Link ids of the live sessions, sorted by when each stops being live. */
    live: `${own}live-sign-ins`,
    /** The record of a session. */
    session: (link: string) => `${own}sign-in:${link}`,
    /** The values of these two contain the link id. */
    poll: (id: string) => `${own}sign-in-poll:${id}`,
    code: (id: string) => `${own}sign-in-code:${id}`,
    refresh: (id: string) => `${own}refresh:${id}`,
    bucket: (limit: string, address: string) => `${own}rate:${limit}:${address}`,
    /** The key that the probe writes. */
    probe: `${own}probe`,
  };
}
