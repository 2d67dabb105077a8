/** The capabilities of a sign-in. Randomness is an argument. */
import { Buffer } from 'node:buffer';
import { hash } from 'node:crypto';
import {
  CAPABILITY_BYTES,
  CAPABILITY_SHAPE,
  USER_CODE_ALPHABET,
  USER_CODE_LENGTH,
  VERIFIER_BYTES,
} from '../limits.ts';

/** `length` bytes from a cryptographic source. */
export type RandomBytes = (length: number) => Uint8Array;

/** A browser state or a poll secret: 24 characters of base64url. `protocol.md` §2. */
export function createCapability(randomBytes: RandomBytes): string {
  return base64url(randomBytes(CAPABILITY_BYTES));
}

/** Anything else was never given out, so no store needs to be asked for it. */
export function isCapability(text: string): boolean {
  return CAPABILITY_SHAPE.test(text);
}

/** 64 characters of base64url, a subset of what a verifier may hold. `protocol.md` §2, RFC 7636 §4.1. */
export function createVerifier(randomBytes: RandomBytes): string {
  return base64url(randomBytes(VERIFIER_BYTES));
}

/** Eight consonants, each as likely as any other. RFC 8628 §6.1. */
export function createUserCode(randomBytes: RandomBytes): string {
  const letters = USER_CODE_ALPHABET.length;
  const evenBytes = 256 - (256 % letters);
  let code = '';
  while (code.length < USER_CODE_LENGTH) {
    for (const byte of randomBytes(USER_CODE_LENGTH)) {
      // A byte above the last whole round of letters would favour the first ones.
      if (byte < evenBytes && code.length < USER_CODE_LENGTH) {
        code += USER_CODE_ALPHABET[byte % letters];
      }
    }
  }
  return code;
}

/** What is kept of a poll secret. Looking up by it also hides how near a guess came. */
export function digestOf(pollSecret: string): string {
  return hash('sha256', pollSecret, 'base64url');
}

function base64url(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64url');
}
