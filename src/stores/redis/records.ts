/** The names of all keys, and the record of a session. docs/sealing.md "Records". */
import { type RandomBytes, signInIdOf } from '../../relay/secrets.ts';
import type { ExpiredStage, SessionOutcome } from '../../relay/session.ts';
import type { ExpiredSession, NewSession, ObserverSlot, SessionInfo } from '../../relay/store.ts';
import { exchangeParametersOf, nameOf, sealSession } from '../sealed-session.ts';
import type { Derived } from '../sealing.ts';
import type { RedisCommands } from './commands.ts';
import type { LocalPolls } from './local-polls.ts';
import { FIELD, RECORD_VERSION, STATE } from './scripts.ts';

export type RedisKeys = ReturnType<typeof createRedisKeys>;

/** What the verbs use together. */
export interface VerbParts {
  readonly commands: RedisCommands;
  readonly keys: RedisKeys;
  readonly randomBytes: RandomBytes;
  /** The name of this process's channel. */
  readonly instance: string;
  readonly localPolls: LocalPolls;
  readonly observer: ObserverSlot;
}

/** In a Cluster all keys have one hash tag, so that they are in one slot: that of the prefix, if it has one. */
export function createRedisKeys(prefix: string, isCluster: boolean) {
  const own = isCluster && !prefix.includes('{') ? `${prefix}{0}:` : prefix;
  return {
    /** The instance's name follows. */
    channelPrefix: `${prefix}wake:`,
    /** The index of live sessions, by when they expire. */
    live: `${own}live`,
    session: (id: string) => `${own}session:${id}`,
    /** The id is that of the session. */
    outcome: (id: string) => `${own}outcome:${id}`,
    poll: (id: string) => `${own}poll:${id}`,
    code: (id: string) => `${own}code:${id}`,
    refresh: ({ id }: Derived) => `${own}refresh:${id}`,
    bucket: (limit: string, address: string) => `${own}rate:${limit}:${address}`,
    /** The key that the probe writes. */
    probe: `${own}probe`,
  };
}

/** Everything that a registration writes. */
interface SessionRecord {
  readonly sessionId: string;
  readonly pollId: string;
  /** Session id and wrapped key. */
  readonly pointer: string;
  /** The record that leads from the code to the link, if there is a code. */
  readonly code?: { readonly id: string; readonly value: string };
  /** Names and values, alternating. */
  readonly fields: readonly string[];
}

/** `instance` is notified of changes of the session: its device probably polls where it started. */
export function recordOf(
  newSession: NewSession,
  instance: string,
  randomBytes: RandomBytes,
): SessionRecord {
  const { sessionId, pollId, wrappedKey, verifier, deviceName, code } = sealSession(
    newSession,
    randomBytes,
  );
  const record = { sessionId, pollId, pointer: `${sessionId}.${wrappedKey}` };
  const fields = [FIELD.version, String(RECORD_VERSION), FIELD.service, newSession.service];
  fields.push(FIELD.poll_id, pollId, FIELD.verifier, verifier);
  fields.push(FIELD.sign_in, signInIdOf(newSession.browserState), FIELD.waiting + instance, '');
  if (deviceName !== undefined) fields.push(FIELD.device_name, deviceName);
  if (newSession.repeatMs !== undefined) fields.push(FIELD.repeat_ms, String(newSession.repeatMs));
  if (newSession.keepsErrors) fields.push(FIELD.keeps_errors, '');
  if (code === undefined) return { ...record, fields };
  fields.push(FIELD.device_key, code.deviceKey);
  return { ...record, fields, code: { id: code.id, value: code.browserState } };
}

/** An error that stays was probably delivered, so it has no stage. */
const STAGES: ReadonlyMap<string, ExpiredStage> = new Map([
  [STATE.pending, 'started'],
  [STATE.exchanging, 'called_back'],
  [STATE.completed, 'called_back'],
]);

/** Reads the reply of `describe-expired`. Undefined for a session that was delivered or cancelled, or whose record is removed. */
export function expiredOf([service = '', state = '', opened, signIn = '']: readonly string[]):
  | ExpiredSession
  | undefined {
  const stage = STAGES.get(state);
  if (stage === undefined) return undefined;
  return {
    service,
    stage: stage === 'started' && opened ? 'opened' : stage,
    signIn,
  };
}

const OUTCOMES: ReadonlySet<unknown> = new Set<SessionOutcome>([
  ...(['in_progress', 'signed_in', 'access_denied', 'failed', 'cancelled'] as const),
]);

/** Reads the reply of `find`. */
export function foundOf(
  browserState: string,
  link: Derived,
  reply: unknown,
): SessionInfo | SessionOutcome | undefined {
  if (!Array.isArray(reply)) return OUTCOMES.has(reply) ? (reply as SessionOutcome) : undefined;
  const [service, sealedVerifier, ageMs, sealedName] = reply as [string, string, number, string];
  // Opens only for the session's own service.
  const { authorizationUrl } = exchangeParametersOf(link, service, sealedVerifier);
  const deviceName = nameOf(link, sealedName);
  return { service, browserState, ageMs, deviceName, authorizationUrl };
}
