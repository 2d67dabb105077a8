/**
 * Encryption at rest: what a shared store keeps can be opened only with the user's
 * link or code, or with the device's secrets. docs/sealing.md describes the
 * construction and has test vectors.
 */
import { Buffer } from 'node:buffer';
import {
  createCipheriv,
  createDecipheriv,
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  hkdfSync,
} from 'node:crypto';
import type { RandomBytes } from '../sign-ins/secrets.ts';

/** Derived from a secret: the id under which the store keeps a record, and the key that opens it. */
export interface Derived {
  /** 16 bytes in base64url. Reveals nothing about the key, and nothing about a secret that can't be guessed. */
  readonly id: string;
  readonly key: Buffer;
}

const ID_BYTES = 16;
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Each kind of secret gives an id and a key:
 * - browser state: the id of the session, and the key that seals its delivery and its result;
 * - poll secret: an id that leads to the session, and the key that wraps the session's key;
 * - refresh token, with its service and scope: the id of the refresh, and the key of its result;
 * - user code: an id that leads to the link, and the key that seals the browser state alone, because
 *   anybody who has the store can guess a code. The result is sealed to the device (below).
 */
export function derive(
  secret: string,
  kind: 'browser state' | 'poll secret' | 'user code' | 'refresh',
): Derived {
  const bytes = expand(secret, `sign-in-relay/1 ${kind}`, ID_BYTES + KEY_BYTES);
  return {
    id: bytes.subarray(0, ID_BYTES).toString('base64url'),
    key: bytes.subarray(ID_BYTES),
  };
}

/**
 * HKDF-SHA-256 without salt: a capability is 144 random bits already, so it
 * needs spreading, not strengthening. RFC 5869 §3.1, §3.3.
 */
export function expand(secret: string | Buffer, purpose: string, length = KEY_BYTES): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', purpose, length));
}

/**
 * AES-256-GCM: nonce, ciphertext and tag in base64url. `context` is authenticated with it, so
 * that no message can replace another. A key seals at most a handful of messages, far below
 * what random nonces allow.
 */
export function seal(
  key: Buffer,
  context: string,
  plaintext: string | Buffer,
  randomBytes: RandomBytes,
): string {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(context));
  // workerd refuses a text without an encoding.
  const bytes = Buffer.from(plaintext);
  const sealed = [nonce, cipher.update(bytes), cipher.final(), cipher.getAuthTag()];
  return Buffer.concat(sealed).toString('base64url');
}

/** Throws on anything that was not sealed with this key for this context. */
export function unseal(key: Buffer, context: string, sealed: string): Buffer {
  const bytes = Buffer.from(sealed, 'base64url');
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  })
    .setAAD(Buffer.from(context))
    .setAuthTag(bytes.subarray(-TAG_BYTES));
  return Buffer.concat([
    decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)),
    decipher.final(),
  ]);
}

/*
 * The result of a session with a user code. A code has 34 bits, so anybody who has the store can
 * try all of them, and then has the link and the session key. Opening the tokens needs the
 * poll secret as well. docs/sealing.md "To the device alone".
 */

/* Prefixes of a raw X25519 key in PKCS #8 and in SubjectPublicKeyInfo. RFC 8410 §7, §4. */
const PRIVATE_HEADER = Buffer.from('302e020100300506032b656e04220420', 'hex');
const PUBLIC_HEADER = Buffer.from('302a300506032b656e032100', 'hex');

/** The public half of the key pair derived from the poll secret. RFC 7748 §6.1. */
export function deviceKeyOf(pollSecret: string): Buffer {
  return publicKeyOf(deriveDevicePrivateKey(pollSecret));
}

/** The ephemeral public key and the sealed message. Decrypting it takes the session key and the device's key. */
export function sealToDevice(
  to: { readonly sessionKey: Buffer; readonly deviceKey: Buffer },
  context: string,
  plaintext: string,
  randomBytes: RandomBytes,
): string {
  const ephemeral = randomBytes(KEY_BYTES);
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

/** Bound to both public keys. RFC 9180 §4.1. */
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

/** Throws for a key with which the shared secret would be all zeros. RFC 7748 §6.1. */
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
