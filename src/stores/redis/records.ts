/** The names of all keys, and the record of a session: how its fields are sealed and opened. The construction is docs/sealing.md. */
import type { Buffer } from 'node:buffer';
import { type RandomBytes, signInIdOf, tagOf } from '../../relay/secrets.ts';
import type { ExpiredStage, SessionOutcome, SessionResult } from '../../relay/session.ts';
import type { Authorization, ExpiredSession, NewSession, SessionInfo } from '../../relay/store.ts';
import { FIELD, STATE } from './scripts.ts';
import {
  type Derived,
  deriveFromBrowserState,
  deriveFromPollSecret,
  deriveFromUserCode,
  deviceKeyOf,
  isSealedToDevice,
  seal,
  sealToDevice,
  unseal,
  unsealAsDevice,
} from './sealing.ts';

/** Tags in a Cluster: at most so many masters share the sessions. */
const CLUSTER_TAGS = 16;
const SLOTS = 16_384;

export interface RedisKeys {
  /** As in SessionStore. */
  readonly tags: number;
  /** A prefix: the instance's name follows. */
  readonly channelPrefix: string;
  /** The index of live sessions of each tag, by when they expire. */
  readonly live: readonly string[];
  /** Of the tag of this secret. In a Cluster they are in one slot. */
  of(secret: string): TagKeys;
  /** Of a session in the index of this tag. */
  recordKey(tag: number, id: string): string;
  refresh(refresh: Derived): string;
  bucket(limit: string, address: string): string;
}

/** Keys of the sessions with one tag. */
export interface TagKeys {
  readonly tag: number;
  readonly live: string;
  session(id: string): string;
  /** By session id. */
  outcome(id: string): string;
  poll(id: string): string;
  code(id: string): string;
}

export function createRedisKeys(prefix: string, isCluster: boolean): RedisKeys {
  // Without a Cluster the names have no tag, as in every earlier version.
  const prefixes = isCluster
    ? createHashTags().map((hashTag) => `${prefix}{${hashTag}}:`)
    : [prefix];
  const byTag = prefixes.map(
    (own, tag): TagKeys => ({
      tag,
      live: `${own}live`,
      session: (id) => `${own}session:${id}`,
      outcome: (id) => `${own}outcome:${id}`,
      poll: (id) => `${own}poll:${id}`,
      code: (id) => `${own}code:${id}`,
    }),
  );
  return {
    tags: byTag.length,
    channelPrefix: `${prefix}wake:`,
    live: byTag.map(({ live }) => live),
    of(secret) {
      const keys = byTag[tagOf(secret, byTag.length)];
      if (keys === undefined) throw new Error('a tag without keys');
      return keys;
    },
    recordKey: (tag, id) => byTag[tag]?.session(id) ?? '',
    refresh: ({ id }) => `${prefix}refresh:${id}`,
    bucket: (limit, address) => `${prefix}rate:${limit}:${address}`,
  };
}

/** For each tag the first number whose slot lies in its sixteenth, so that masters get even shares. */
function createHashTags(): number[] {
  return Array.from({ length: CLUSTER_TAGS }, (_, tag) => {
    let name = 0;
    while (Math.floor((slotOf(`${name}`) * CLUSTER_TAGS) / SLOTS) !== tag) name += 1;
    return name;
  });
}

/** The slot of a key in a Cluster: CRC-16/XMODEM of its hash tag. https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/ */
export function slotOf(key: string): number {
  const [, tag = key] = /\{([^}]+)\}/.exec(key) ?? [];
  let crc = 0;
  for (const byte of new TextEncoder().encode(tag)) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) {
      crc = ((crc << 1) ^ (crc & 0x8000 ? 0x1021 : 0)) & 0xffff;
    }
  }
  return crc % 16_384;
}

/* The authenticated text of each sealed message, so that none can replace another. */
const pointerContext = (poll: Derived, sessionId: string) => `pointer ${poll.id} ${sessionId}`;
const codeContext = (code: Derived) => `code ${code.id}`;
const verifierContext = (sessionId: string, service: string) => `verifier ${sessionId} ${service}`;
const nameContext = (sessionId: string) => `device name ${sessionId}`;
const keyContext = (sessionId: string) => `device key ${sessionId}`;
const resultContext = (sessionId: string) => `result ${sessionId}`;

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
  const { browserState, pollSecret, service, userCode, deviceName } = newSession;
  const link = deriveFromBrowserState(browserState);
  const poll = deriveFromPollSecret(pollSecret);
  const sealed = (context: string, plaintext: string | Buffer) =>
    seal(link.key, context, plaintext, randomBytes);
  const wrapped = seal(poll.key, pointerContext(poll, link.id), link.key, randomBytes);
  const record = { sessionId: link.id, pollId: poll.id, pointer: `${link.id}.${wrapped}` };
  // Sealed even if it is empty, so that its removal, or another service, is detected.
  const sealedVerifier = sealed(verifierContext(link.id, service), writeAuthorization(newSession));
  const fields = [FIELD.service, service, FIELD.poll_id, poll.id, FIELD.verifier, sealedVerifier];
  fields.push(FIELD.sign_in, signInIdOf(browserState), FIELD.waiting + instance, '');
  if (deviceName !== undefined)
    fields.push(FIELD.device_name, sealed(nameContext(link.id), deviceName));
  if (newSession.repeatMs !== undefined) fields.push(FIELD.repeat_ms, String(newSession.repeatMs));
  if (newSession.keepsErrors) fields.push(FIELD.keeps_errors, '');
  if (userCode === undefined) return { ...record, fields };
  fields.push(FIELD.device_key, sealed(keyContext(link.id), deviceKeyOf(pollSecret)));
  const code = deriveFromUserCode(userCode);
  const value = seal(code.key, codeContext(code), browserState, randomBytes);
  return { ...record, fields, code: { id: code.id, value } };
}

export function authorizationOf(
  link: Derived,
  service: string,
  sealedVerifier: string,
): Authorization {
  const context = verifierContext(link.id, service);
  return readAuthorization(unseal(link.key, context, sealedVerifier).toString());
}

/** The verifier or nothing; JSON if there is more, which is never taken for a verifier. RFC 7636 §4.1. */
function writeAuthorization({ verifier = '', challenge, details }: NewSession): string {
  if (challenge === undefined && !details) return verifier;
  return JSON.stringify({ verifier: verifier || undefined, challenge, details });
}

function readAuthorization(text: string): Authorization {
  if (text.startsWith('{')) return JSON.parse(text) as Authorization;
  return { verifier: text === '' ? undefined : text };
}

/** Undefined for an empty name: the device gave none. */
export function nameOf(link: Derived, sealedName: string): string | undefined {
  if (sealedName === '') return undefined;
  return unseal(link.key, nameContext(link.id), sealedName).toString();
}

/** An error that stays was probably delivered, so it has no stage. */
const STAGES: ReadonlyMap<string, ExpiredStage> = new Map([
  [STATE.pending, 'started'],
  [STATE.exchanging, 'called_back'],
  [STATE.completed, 'called_back'],
]);

/** From the reply of `describe-expired`. Undefined for a session that was delivered or cancelled, or whose record is removed. */
export function expiredOf([service = '', state = '', opened, signIn]: readonly string[]):
  | ExpiredSession
  | undefined {
  const stage = STAGES.get(state);
  if (stage === undefined) return undefined;
  return {
    service,
    stage: stage === 'started' && opened ? 'opened' : stage,
    signIn: signIn || undefined,
  };
}

const OUTCOMES: ReadonlySet<unknown> = new Set<SessionOutcome>([
  ...(['in_progress', 'signed_in', 'access_denied', 'failed', 'cancelled'] as const),
]);

/** From the reply of `find`. */
export function foundOf(
  browserState: string,
  link: Derived,
  reply: unknown,
): SessionInfo | SessionOutcome | undefined {
  if (!Array.isArray(reply)) return OUTCOMES.has(reply) ? (reply as SessionOutcome) : undefined;
  const [service, sealedVerifier, ageMs, sealedName] = reply as [string, string, number, string];
  // Opens only for the session's own service.
  authorizationOf(link, service, sealedVerifier);
  const deviceName = nameOf(link, sealedName);
  return { service, browserState, ageMs, deviceName };
}

export function browserStateOf(code: Derived, sealed: string): string {
  return unseal(code.key, codeContext(code), sealed).toString();
}

/** `sealedDeviceKey` is empty for a session without a user code. */
export function sealResult(
  link: Derived,
  sealedDeviceKey: string,
  result: SessionResult,
  randomBytes: RandomBytes,
): string {
  const [context, text] = [resultContext(link.id), JSON.stringify(result)];
  if (sealedDeviceKey === '') return seal(link.key, context, text, randomBytes);
  const deviceKey = unseal(link.key, keyContext(link.id), sealedDeviceKey);
  return sealToDevice({ sessionKey: link.key, deviceKey }, context, text, randomBytes);
}

/** A session, found by its poll secret. */
export interface DevicePlace {
  readonly pollSecret: string;
  readonly poll: Derived;
  readonly sessionId: string;
  /** As in SessionRecord. */
  readonly pointer: string;
}

/** An empty result: the lease ran out, and no process was there to seal one. */
export function openResult(place: DevicePlace, sealed: string): SessionResult {
  if (sealed === '') return { error: 'exchange_failed' };
  const { pollSecret, poll, sessionId, pointer } = place;
  const wrapped = pointer.slice(pointer.indexOf('.') + 1);
  const sessionKey = unseal(poll.key, pointerContext(poll, sessionId), wrapped);
  const context = resultContext(sessionId);
  const text = isSealedToDevice(sealed)
    ? unsealAsDevice({ sessionKey, pollSecret }, context, sealed)
    : unseal(sessionKey, context, sealed);
  return JSON.parse(text.toString()) as SessionResult;
}
