/**
 * The result of a session with a user code is sealed to its device alone. A
 * code has 34 bits: whoever has the store tries them all, and so has the link,
 * and the session's key. The tokens need the poll secret besides. docs/sealing.md.
 */
import { Buffer } from 'node:buffer';
import { createPrivateKey, createPublicKey, diffieHellman } from 'node:crypto';
import type { RandomBytes } from '../../relay/secrets.ts';
import { expand, seal, unseal } from './seal.ts';

const KEY_BYTES = 32;

/* What stands before a raw X25519 key in PKCS #8 and in SubjectPublicKeyInfo. RFC 8410 §7, §4. */
const PRIVATE_HEADER = Buffer.from('302e020100300506032b656e04220420', 'hex');
const PUBLIC_HEADER = Buffer.from('302a300506032b656e032100', 'hex');

/** The public half of the key pair that the poll secret yields. RFC 7748 §6.1. */
export function deviceKeyOf(pollSecret: string): Buffer {
  return publicKeyOf(deriveDevicePrivateKey(pollSecret));
}

/** The ephemeral public key and the sealed message; what is sealed for neither session nor device stays shut. */
export function sealToDevice(
  to: { readonly sessionKey: Buffer; readonly deviceKey: Buffer },
  context: string,
  plaintext: string,
  randomBytes: RandomBytes,
): string {
  const ephemeral = Buffer.from(randomBytes(KEY_BYTES));
  const ephemeralKey = publicKeyOf(ephemeral);
  const shared = agree(ephemeral, to.deviceKey);
  const key = deriveResultKey({ ...to, ephemeralKey, shared });
  return `${ephemeralKey.toString('base64url')}.${seal(key, context, plaintext, randomBytes)}`;
}

/** Throws on anything that was not sealed to this device for this context. */
export function unsealAsDevice(
  by: { readonly sessionKey: Buffer; readonly pollSecret: string },
  context: string,
  sealed: string,
): Buffer {
  const [ephemeral = '', message = ''] = sealed.split('.');
  const ephemeralKey = Buffer.from(ephemeral, 'base64url');
  const privateKey = deriveDevicePrivateKey(by.pollSecret);
  const shared = agree(privateKey, ephemeralKey);
  const deviceKey = publicKeyOf(privateKey);
  const key = deriveResultKey({ sessionKey: by.sessionKey, deviceKey, ephemeralKey, shared });
  return unseal(key, context, message);
}

export function isSealedToDevice(sealed: string): boolean {
  return sealed.includes('.');
}

function deriveDevicePrivateKey(pollSecret: string): Buffer {
  return expand(pollSecret, 'sign-in-relay/1 device key');
}

/** Bound to both public keys, so that each message has one key and no other. RFC 9180 §4.1. */
function deriveResultKey(parts: {
  readonly sessionKey: Buffer;
  readonly shared: Buffer;
  readonly ephemeralKey: Buffer;
  readonly deviceKey: Buffer;
}): Buffer {
  const { sessionKey, shared, ephemeralKey, deviceKey } = parts;
  const secret = Buffer.concat([sessionKey, shared, ephemeralKey, deviceKey]);
  return expand(secret, 'sign-in-relay/1 result to device');
}

/** Throws where the other key would make the secret known to all. RFC 7748 §6.1. */
function agree(privateKey: Buffer, publicKey: Buffer): Buffer {
  return diffieHellman({
    privateKey: importPrivateKey(privateKey),
    publicKey: createPublicKey({
      key: Buffer.concat([PUBLIC_HEADER, publicKey]),
      format: 'der',
      type: 'spki',
    }),
  });
}

function publicKeyOf(privateKey: Buffer): Buffer {
  const spki = createPublicKey(importPrivateKey(privateKey)).export({
    format: 'der',
    type: 'spki',
  });
  return spki.subarray(PUBLIC_HEADER.length);
}

function importPrivateKey(privateKey: Buffer) {
  const key = Buffer.concat([PRIVATE_HEADER, privateKey]);
  return createPrivateKey({ key, format: 'der', type: 'pkcs8' });
}
