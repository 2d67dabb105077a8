/** What the store holds of a session, sealed, and how it opens. The construction is docs/sealing.md. */
import type { Buffer } from 'node:buffer';
import { type RandomBytes, signInIdOf } from '../../relay/secrets.ts';
import type { ExpiredStage, SessionResult } from '../../relay/session.ts';
import type {
  Authorization,
  ExpiredSession,
  NewSession,
  SessionInfo,
  StoreObserver,
} from '../../relay/store.ts';
import {
  type Derived,
  deriveFromBrowserState,
  deriveFromPollSecret,
  deriveFromUserCode,
  seal,
  unseal,
} from './seal.ts';
import { deviceKeyOf, isSealedToDevice, sealToDevice, unsealAsDevice } from './seal-to-device.ts';

/* What each message is sealed for, so that none opens in another's place. */
const pointerContext = (poll: Derived, sessionId: string) => `pointer ${poll.id} ${sessionId}`;
const codeContext = (code: Derived) => `code ${code.id}`;
const verifierContext = (sessionId: string, service: string) => `verifier ${sessionId} ${service}`;
const nameContext = (sessionId: string) => `device name ${sessionId}`;
const keyContext = (sessionId: string) => `device key ${sessionId}`;
const resultContext = (sessionId: string) => `result ${sessionId}`;

/** Whom a store tells, which may change. */
export interface Observed {
  by: StoreObserver;
}

/** All that a registration writes. */
export interface SessionRecord {
  readonly session: Derived;
  readonly poll: Derived;
  /** Session id and wrapped key. */
  readonly pointer: string;
  /** The way from the code to the link, when there is a code. */
  readonly code?: { readonly id: string; readonly value: string };
  /** Names and values in turn, as scripts.ts has them. */
  readonly fields: readonly string[];
}

export function recordOf(newSession: NewSession, randomBytes: RandomBytes): SessionRecord {
  const { browserState, pollSecret, service, userCode, deviceName } = newSession;
  const session = deriveFromBrowserState(browserState);
  const poll = deriveFromPollSecret(pollSecret);
  const sealed = (context: string, plaintext: string | Buffer) =>
    seal(session.key, context, plaintext, randomBytes);
  const wrapped = seal(poll.key, pointerContext(poll, session.id), session.key, randomBytes);
  const record = { session, poll, pointer: `${session.id}.${wrapped}` };
  // Sealed even when there is none, so that nobody can take it away or change the service.
  const sealedVerifier = sealed(
    verifierContext(session.id, service),
    writeAuthorization(newSession),
  );
  const fields = ['n', service, 'd', poll.id, 'v', sealedVerifier, 'g', signInIdOf(browserState)];
  if (deviceName !== undefined) fields.push('m', sealed(nameContext(session.id), deviceName));
  if (newSession.repeatMs !== undefined) fields.push('a', String(newSession.repeatMs));
  if (newSession.keepsErrors) fields.push('f', '');
  if (userCode === undefined) return { ...record, fields };
  fields.push('k', sealed(keyContext(session.id), deviceKeyOf(pollSecret)));
  const code = deriveFromUserCode(userCode);
  const value = seal(code.key, codeContext(code), browserState, randomBytes);
  return { ...record, fields, code: { id: code.id, value } };
}

export function openedOf(session: Derived, service: string, sealedVerifier: string): Authorization {
  const context = verifierContext(session.id, service);
  return readAuthorization(unseal(session.key, context, sealedVerifier).toString());
}

/** The verifier or nothing; JSON, which no verifier looks like, where there is more. RFC 7636 §4.1. */
function writeAuthorization({ verifier = '', challenge, details }: NewSession): string {
  if (challenge === undefined && !details) return verifier;
  return JSON.stringify({ verifier: verifier || undefined, challenge, details });
}

function readAuthorization(text: string): Authorization {
  if (text.startsWith('{')) return JSON.parse(text) as Authorization;
  return { verifier: text === '' ? undefined : text };
}

/** By the states of scripts.ts. An error that stays was probably delivered. */
const STAGES: Readonly<Record<string, ExpiredStage>> = {
  p: 'started',
  x: 'called_back',
  c: 'called_back',
};

/** What TELL_EXPIRED leaves. Undefined for a session that has come to its end, or that is forgotten. */
export function expiredOf([service = '', state = '', opened, signIn]: readonly string[]):
  | ExpiredSession
  | undefined {
  const stage = STAGES[state];
  if (stage === undefined) return undefined;
  return {
    service,
    stage: stage === 'started' && opened ? 'opened' : stage,
    signIn: signIn || undefined,
  };
}

/** What FIND returns, as the user is to see it. */
export function foundOf(
  browserState: string,
  session: Derived,
  reply: readonly string[],
): SessionInfo {
  const [service = '', sealedVerifier = '', startedAtMs, sealedName = ''] = reply;
  // Opens for the service of the session alone.
  openedOf(session, service, sealedVerifier);
  const deviceName = nameOf(session, sealedName);
  return { service, browserState, startedAtMs: Number(startedAtMs), deviceName };
}

/** The name of the device; empty if it gave none. */
export function nameOf(session: Derived, sealedName: string): string | undefined {
  if (sealedName === '') return undefined;
  return unseal(session.key, nameContext(session.id), sealedName).toString();
}

export function browserStateOf(code: Derived, sealed: string): string {
  return unseal(code.key, codeContext(code), sealed).toString();
}

/** `sealedDeviceKey` is empty for a session without a user code. */
export function sealResult(
  session: Derived,
  sealedDeviceKey: string,
  result: SessionResult,
  randomBytes: RandomBytes,
): string {
  const [context, text] = [resultContext(session.id), JSON.stringify(result)];
  if (sealedDeviceKey === '') return seal(session.key, context, text, randomBytes);
  const deviceKey = unseal(session.key, keyContext(session.id), sealedDeviceKey);
  return sealToDevice({ sessionKey: session.key, deviceKey }, context, text, randomBytes);
}

/** An empty result is that of a lease that ran out: nobody was left to seal one. */
export function openResult(
  { pollSecret, poll }: { readonly pollSecret: string; readonly poll: Derived },
  pointer: string,
  sealed: string,
): SessionResult {
  if (sealed === '') return { error: 'exchange_failed' };
  const [, sessionId = '', wrapped = ''] = pointer.split('.');
  const sessionKey = unseal(poll.key, pointerContext(poll, sessionId), wrapped);
  const context = resultContext(sessionId);
  const text = isSealedToDevice(sealed)
    ? unsealAsDevice({ sessionKey, pollSecret }, context, sealed)
    : unseal(sessionKey, context, sealed);
  return JSON.parse(text.toString()) as SessionResult;
}
