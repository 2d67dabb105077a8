/** The capabilities of a sign-in. Randomness is an argument. */
import { Buffer } from 'node:buffer';
import { hash } from 'node:crypto';
import { CAPABILITY_BYTES, VERIFIER_BYTES } from '../limits.ts';

/** `length` bytes from a cryptographic source. */
export type RandomBytes = (length: number) => Uint8Array;

/** A browser state or a poll secret: 24 characters of base64url. `protocol.md` §2. */
export function createCapability(randomBytes: RandomBytes): string {
  return base64url(randomBytes(CAPABILITY_BYTES));
}

/** 64 characters of base64url, a subset of what a verifier may hold. `protocol.md` §2, RFC 7636 §4.1. */
export function createVerifier(randomBytes: RandomBytes): string {
  return base64url(randomBytes(VERIFIER_BYTES));
}

/** What is kept of a poll secret. Looking up by it also hides how near a guess came. */
export function digestOf(pollSecret: string): string {
  return hash('sha256', pollSecret, 'base64url');
}

function base64url(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64url');
}
