/**
 * The verbs as Lua scripts, one file each in scripts/, so that each is atomic whoever
 * calls it from where. Every key that a script uses is in its KEYS, and all keys of
 * a call lie in one slot. The outcomes are those of relay/session.ts; the store suite
 * holds both to it.
 *
 * `--- @include name` puts in scripts/include/name.lua. FIELD, STATE, OPENING and LIMIT
 * stand for the tables below: a word in the script, and in the store what it says here.
 */
import { hash } from 'node:crypto';
import { STORE_UNDO_MS } from '../../limits.ts';
import acknowledge from './scripts/acknowledge.lua' with { type: 'text' };
import beginRefresh from './scripts/begin-refresh.lua' with { type: 'text' };
import cancel from './scripts/cancel.lua' with { type: 'text' };
import claim from './scripts/claim.lua' with { type: 'text' };
import complete from './scripts/complete.lua' with { type: 'text' };
import countLive from './scripts/count-live.lua' with { type: 'text' };
import describeExpired from './scripts/describe-expired.lua' with { type: 'text' };
import deviceKey from './scripts/device-key.lua' with { type: 'text' };
import find from './scripts/find.lua' with { type: 'text' };
import finishRefresh from './scripts/finish-refresh.lua' with { type: 'text' };
import bucket from './scripts/include/bucket.lua' with { type: 'text' };
import clock from './scripts/include/clock.lua' with { type: 'text' };
import expiry from './scripts/include/expiry.lua' with { type: 'text' };
import leases from './scripts/include/lease.lua' with { type: 'text' };
import memory from './scripts/include/memory.lua' with { type: 'text' };
import notify from './scripts/include/notify.lua' with { type: 'text' };
import outcome from './scripts/include/outcome.lua' with { type: 'text' };
import lease from './scripts/lease.lua' with { type: 'text' };
import open from './scripts/open.lua' with { type: 'text' };
import refundToken from './scripts/refund-token.lua' with { type: 'text' };
import register from './scripts/register.lua' with { type: 'text' };
import removeExpired from './scripts/remove-expired.lua' with { type: 'text' };
import takeToken from './scripts/take-token.lua' with { type: 'text' };
import takeOpenedNotice from './scripts/take-opened-notice.lua' with { type: 'text' };
import undoClaim from './scripts/undo-claim.lua' with { type: 'text' };
import undoLease from './scripts/undo-lease.lua' with { type: 'text' };

export interface Script {
  readonly text: string;
  /** What the server knows it by once it has seen it. */
  readonly sha1: string;
}

/**
 * The record of a session is a hash with these fields, version 1. A version that an
 * older relay cannot read would have to be written only when no such relay runs any
 * more, because old and new ones share a store during an update.
 *
 * A poll pointer is a string: expires at (ms), session id, wrapped key. A user code
 * is a string: expires at (ms), sealed browser state. An outcome is a string: expires at
 * (ms), which one.
 */
export const FIELD = {
  state: 's',
  service: 'n',
  started_at: 't',
  expires_at: 'e',
  poll_id: 'd',
  /** Sealed, as the device's name, its key and the result are. */
  verifier: 'v',
  device_name: 'm',
  device_key: 'k',
  /** Empty: the lease ran out. */
  result: 'r',
  /** How long the result stays after it was first claimed, in ms. Absent: it is claimed once. */
  repeat_ms: 'a',
  /** Set when an error stays until the session expires. */
  keeps_errors: 'f',
  lease_ends_at: 'l',
  /** Whoever repeats the lease under the same one gets the same answer. */
  lease_id: 'i',
  /** The claim that has it. */
  claimed_by: 'c',
  expires_at_before: 'o',
  /** When the user was first led on to the provider. */
  opened_at: 'b',
  opening: 'h',
  /** The id of the sign-in in the log. */
  sign_in: 'g',
  completed_at: 'z',
  /** The name of an instance follows, at which a poll waits. */
  waiting: 'w:',
} as const;

export const STATE = {
  pending: 'p',
  exchanging: 'x',
  completed: 'c',
  delivered: 'd',
  /** With an error that stays until the session expires. */
  failed: 'f',
  cancelled: 'q',
} as const;

/** Whether a device waits to be told that its link was opened, or was told. */
const OPENING = { asked: 'asked', told: 'told' } as const;

/** Expired sessions that one script of a sweep removes: about a millisecond. */
export const SWEPT_AT_ONCE = 250;

const LIMIT = {
  /** Keys stay this much longer than what they hold is alive. */
  garbage_ms: 60_000,
  /** The index of live sessions stays for a day after it was last swept. */
  index_ms: 86_400_000,
  undo_ms: STORE_UNDO_MS,
  swept_at_once: SWEPT_AT_ONCE,
} as const;

/** How the answer begins to a command that came too late, and was not carried out. */
export const TOO_LATE = 'LATE';

/** What a message that a user has opened a link begins with. The poll id follows. */
export const OPENED = 'opened ';

const WORDS: Readonly<Record<string, Readonly<Record<string, string | number>>>> = {
  FIELD,
  STATE,
  OPENING,
  LIMIT,
};
const INCLUDES: Readonly<Record<string, string>> = {
  bucket,
  clock,
  expiry,
  lease: leases,
  memory,
  notify,
  outcome,
};

/** Throws when a script is wrong, so that no relay starts with it. */
export function createScript(source: string): Script {
  const text = source
    .replace(/^--- @include (\w+)$/gm, (_, name) => part(INCLUDES[name], name))
    .replace(/\b(FIELD|STATE|OPENING|LIMIT)\.(\w+)/g, (_, table, word) =>
      quoted(part(WORDS[table]?.[word], `${table}.${word}`)),
    )
    .replace(/^\s*--.*\n/gm, '');
  return { text, sha1: hash('sha1', text) };
}

function part<T>(found: T | undefined, name: string): T {
  if (found === undefined) throw new Error(`no ${name} for a script`);
  return found;
}

const quoted = (value: string | number) => (typeof value === 'number' ? `${value}` : `'${value}'`);

export const SCRIPTS = {
  register: createScript(register),
  open: createScript(open),
  find: createScript(find),
  lease: createScript(lease),
  undoLease: createScript(undoLease),
  deviceKey: createScript(deviceKey),
  complete: createScript(complete),
  claim: createScript(claim),
  undoClaim: createScript(undoClaim),
  acknowledge: createScript(acknowledge),
  takeOpenedNotice: createScript(takeOpenedNotice),
  cancel: createScript(cancel),
  removeExpired: createScript(removeExpired),
  describeExpired: createScript(describeExpired),
  countLive: createScript(countLive),
  takeToken: createScript(takeToken),
  refundToken: createScript(refundToken),
  beginRefresh: createScript(beginRefresh),
  finishRefresh: createScript(finishRefresh),
} as const;
