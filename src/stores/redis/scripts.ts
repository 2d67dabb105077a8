/**
 * The verbs as Lua scripts, one file each in scripts/, so that each is atomic over all
 * instances. Every key that a script uses is in its KEYS, and all keys of a call are in
 * one slot. The outcomes are those of relay/session.ts; the store suite tests both.
 *
 * Each begins with scripts/prelude.lua, and that of a session with scripts/session.lua too. FIELD, STATE, OPENING and LIMIT are the tables
 * below: `FIELD.state` in a script becomes the value it has here.
 */
import { hash } from 'node:crypto';
import { CLAIM_REPEAT_MS } from '../../limits.ts';
import acknowledge from './scripts/acknowledge.lua' with { type: 'text' };
import authorize from './scripts/authorize.lua' with { type: 'text' };
import beginRefresh from './scripts/begin-refresh.lua' with { type: 'text' };
import cancel from './scripts/cancel.lua' with { type: 'text' };
import claim from './scripts/claim.lua' with { type: 'text' };
import complete from './scripts/complete.lua' with { type: 'text' };
import countLive from './scripts/count-live.lua' with { type: 'text' };
import describeExpired from './scripts/describe-expired.lua' with { type: 'text' };
import deviceKey from './scripts/device-key.lua' with { type: 'text' };
import find from './scripts/find.lua' with { type: 'text' };
import finishRefresh from './scripts/finish-refresh.lua' with { type: 'text' };
import lease from './scripts/lease.lua' with { type: 'text' };
import prelude from './scripts/prelude.lua' with { type: 'text' };
import probe from './scripts/probe.lua' with { type: 'text' };
import refundToken from './scripts/refund-token.lua' with { type: 'text' };
import register from './scripts/register.lua' with { type: 'text' };
import removeExpired from './scripts/remove-expired.lua' with { type: 'text' };
import session from './scripts/session.lua' with { type: 'text' };
import takeOpenedNotice from './scripts/take-opened-notice.lua' with { type: 'text' };
import takeToken from './scripts/take-token.lua' with { type: 'text' };

export interface Script {
  readonly text: string;
  /** EVALSHA runs it by this digest. */
  readonly sha1: string;
}

/**
 * The version of the record of a session and of what leads to it. A relay refuses a record
 * with a greater one, since old and new relays share a store during an update
 * (docs/upgrading.md).
 */
export const RECORD_VERSION = 1;

/**
 * The record of a session is a hash with these fields.
 *
 * A poll pointer is a string: expires at (ms), session id, wrapped key. A user code
 * is a string: expires at (ms), sealed browser state. An outcome is a string: expires at
 * (ms), which one.
 */
export const FIELD = {
  version: 'y',
  state: 's',
  service: 'n',
  started_at: 't',
  expires_at: 'e',
  poll_id: 'd',
  /** Sealed, like the device's name, its key and the result. */
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
  /** A lease that is repeated under the same id gets the same answer. */
  lease_id: 'i',
  /** The claim that delivered it. */
  claimed_by: 'c',
  /** When the user was first redirected to the provider. */
  opened_at: 'b',
  opening: 'h',
  /** The id of the sign-in in the log. */
  sign_in: 'g',
  completed_at: 'z',
  /** A prefix: the name of an instance at which a poll waits follows. */
  waiting: 'w:',
} as const;

export const STATE = {
  pending: 'p',
  exchanging: 'x',
  completed: 'c',
  delivered: 'd',
  /** Set for a session whose error stays until it expires. */
  failed: 'f',
  cancelled: 'q',
} as const;

/** A device has asked to be notified when its link is opened, or was notified. */
const OPENING = { asked: 'asked', reported: 'told' } as const;

/** Expired sessions that one script of a sweep removes. That takes about a millisecond. */
export const SWEPT_AT_ONCE = 250;

const LIMIT = {
  /** The record decides expiry; its key is removed this much later. */
  garbage_ms: 60_000,
  /** The index of live sessions is removed a day after it was last swept. */
  index_ms: 86_400_000,
  claim_repeat_ms: CLAIM_REPEAT_MS,
  swept_at_once: SWEPT_AT_ONCE,
  record_version: RECORD_VERSION,
} as const;

/** The error of a command that came too late, and was not executed, begins with it. */
export const TOO_LATE = 'LATE';

/** A message that a user has opened a link begins with it. The poll id follows. */
export const OPENED = 'opened ';

const WORDS: Readonly<Record<string, Readonly<Record<string, string | number>>>> = {
  FIELD,
  STATE,
  OPENING,
  LIMIT,
};
/** Throws if a script uses an unknown word, so that no relay starts with it. */
function createScript(source: string): Script {
  const text = `${prelude}${source}`
    .replace(/\b(FIELD|STATE|OPENING|LIMIT)\.(\w+)/g, (_, table, word) =>
      quoted(WORDS[table]?.[word], `${table}.${word}`),
    )
    .replace(/^[ \t]*--.*\n/gm, '');
  return { text, sha1: hash('sha1', text) };
}

function quoted(value: string | number | undefined, name: string): string {
  if (value === undefined) throw new Error(`no ${name} for a script`);
  return typeof value === 'number' ? `${value}` : `'${value}'`;
}

export const SCRIPTS = {
  register: createScript(register),
  authorize: createScript(session + authorize),
  find: createScript(session + find),
  lease: createScript(session + lease),
  deviceKey: createScript(session + deviceKey),
  complete: createScript(session + complete),
  claim: createScript(session + claim),
  acknowledge: createScript(session + acknowledge),
  takeOpenedNotice: createScript(session + takeOpenedNotice),
  cancel: createScript(session + cancel),
  removeExpired: createScript(removeExpired),
  describeExpired: createScript(session + describeExpired),
  countLive: createScript(countLive),
  takeToken: createScript(takeToken),
  refundToken: createScript(refundToken),
  beginRefresh: createScript(beginRefresh),
  finishRefresh: createScript(finishRefresh),
  probe: createScript(probe),
} as const;
