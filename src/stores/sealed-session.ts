/**
 * What a store that others may read keeps of a session: each secret sealed, so that only a
 * request that brings the link, the code or the poll secret can open it. The construction is
 * docs/sealing.md.
 */
import type { Buffer } from 'node:buffer';
import type { RandomBytes } from '../relay/secrets.ts';
import type { SessionResult } from '../relay/session.ts';
import type { ExchangeParameters, NewSession } from '../relay/store.ts';
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

/* The authenticated text of each sealed message, so that none can replace another. */
const pointerContext = (poll: Derived, sessionId: string) => `pointer ${poll.id} ${sessionId}`;
const codeContext = (code: Derived) => `code ${code.id}`;
const verifierContext = (sessionId: string, service: string) => `verifier ${sessionId} ${service}`;
const nameContext = (sessionId: string) => `device name ${sessionId}`;
const keyContext = (sessionId: string) => `device key ${sessionId}`;
const resultContext = (sessionId: string) => `result ${sessionId}`;

export function sealSession(newSession: NewSession, randomBytes: RandomBytes) {
  const { browserState, pollSecret, service, userCode, deviceName } = newSession;
  const link = deriveFromBrowserState(browserState);
  const poll = deriveFromPollSecret(pollSecret);
  const sealed = (context: string, plaintext: string | Buffer) =>
    seal(link.key, context, plaintext, randomBytes);
  const sessionId = link.id;
  return {
    sessionId,
    pollId: poll.id,
    /** The session key, sealed under the poll secret's key. */
    wrappedKey: seal(poll.key, pointerContext(poll, sessionId), link.key, randomBytes),
    /** The ExchangeParameters. Sealed even if it is empty, so that its removal, or another service, is detected. */
    verifier: sealed(verifierContext(sessionId, service), writeExchangeParameters(newSession)),
    deviceName: deviceName === undefined ? undefined : sealed(nameContext(sessionId), deviceName),
    /** What leads from the user code, if there is one, to the link, and the key to which the result is sealed. */
    code:
      userCode === undefined
        ? undefined
        : {
            ...sealCode(userCode, browserState, randomBytes),
            deviceKey: sealed(keyContext(sessionId), deviceKeyOf(pollSecret)),
          },
  };
}

function sealCode(userCode: string, browserState: string, randomBytes: RandomBytes) {
  const code = deriveFromUserCode(userCode);
  const sealed = seal(code.key, codeContext(code), browserState, randomBytes);
  return { id: code.id, browserState: sealed };
}

export function exchangeParametersOf(
  link: Derived,
  service: string,
  sealedVerifier: string,
): ExchangeParameters {
  const context = verifierContext(link.id, service);
  return readExchangeParameters(unseal(link.key, context, sealedVerifier).toString());
}

/** The verifier or nothing; JSON if there is more, which is never taken for a verifier. RFC 7636 §4.1. */
function writeExchangeParameters(newSession: NewSession): string {
  const { verifier = '', challenge, authorizationUrl, details } = newSession;
  if (challenge === undefined && !details) return verifier;
  return JSON.stringify({ verifier: verifier || undefined, challenge, authorizationUrl, details });
}

function readExchangeParameters(text: string): ExchangeParameters {
  if (text.startsWith('{')) return JSON.parse(text) as ExchangeParameters;
  return { verifier: text === '' ? undefined : text };
}

/** Undefined for an empty name: the device gave none. */
export function nameOf(link: Derived, sealedName: string): string | undefined {
  if (sealedName === '') return undefined;
  return unseal(link.key, nameContext(link.id), sealedName).toString();
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
  /** The session key, sealed under the poll secret's key. */
  readonly wrappedKey: string;
}

export function openResult(place: DevicePlace, sealed: string): SessionResult {
  const { pollSecret, poll, sessionId, wrappedKey } = place;
  const sessionKey = unseal(poll.key, pointerContext(poll, sessionId), wrappedKey);
  const context = resultContext(sessionId);
  const text = isSealedToDevice(sealed)
    ? unsealAsDevice({ sessionKey, pollSecret }, context, sealed)
    : unseal(sessionKey, context, sealed);
  return JSON.parse(text.toString()) as SessionResult;
}
