/** The random secrets of a sign-in. Randomness is an argument. */
import type { Buffer } from 'node:buffer';
import { hash } from 'node:crypto';
import { USER_CODE_ALPHABET, USER_CODE_LENGTH } from '../limits.ts';

/** `length` bytes from a cryptographic source, such as node:crypto's. */
export type RandomBytes = (length: number) => Buffer;

/** 144 bits: 24 characters of base64url. RFC 6819 §5.1.4.2.2 asks for 128. */
const CAPABILITY_BYTES = 18;
const CAPABILITY = /^[\w-]{24}$/;

/** 48 bytes are 64 characters of base64url, all legal in a verifier. RFC 7636 §4.1. */
const VERIFIER_BYTES = 48;

/** A browser state or a poll secret. */
export function createCapability(randomBytes: RandomBytes): string {
  return randomBytes(CAPABILITY_BYTES).toString('base64url');
}

/** Whether the text can be a capability. Anything else is refused before it reaches the store. */
export function isCapability(text: string): boolean {
  return CAPABILITY.test(text);
}

export function createVerifier(randomBytes: RandomBytes): string {
  return randomBytes(VERIFIER_BYTES).toString('base64url');
}

/** Eight consonants, each as likely as any other. RFC 8628 §6.1. */
export function createUserCode(randomBytes: RandomBytes): string {
  const letters = USER_CODE_ALPHABET.length;
  const evenBytes = 256 - (256 % letters);
  let code = '';
  while (code.length < USER_CODE_LENGTH) {
    for (const byte of randomBytes(USER_CODE_LENGTH)) {
      // Skipped: higher bytes would make the first letters more likely.
      if (byte < evenBytes && code.length < USER_CODE_LENGTH) {
        code += USER_CODE_ALPHABET[byte % letters];
      }
    }
  }
  return code;
}

/**
 * The id of a sign-in in the log and on pages, the same at every instance: 32 bits of a digest
 * of its browser state, which has 144. docs/operating.md "The id of a sign-in" says why it is
 * not secret.
 */
export function signInIdOf(browserState: string): string {
  const digits = hash('sha256', `sign-in:${browserState}`, 'hex');
  return `${digits.slice(0, 4)}-${digits.slice(4, 8)}`;
}

/** The secrets by which one session is found. */
export interface SessionSecrets {
  readonly browserState: string;
  readonly pollSecret: string;
  readonly userCode: string | undefined;
}

export interface DrawOptions {
  readonly withUserCode: boolean;
  /** As in SessionStore. */
  readonly tags?: number | undefined;
  /** Tags that have no room for another session. */
  readonly without?: ReadonlySet<number>;
}

/**
 * Draws each secret until it has the tag of the others, so that a store can keep a
 * session in one place. Each by itself stays as random as without tags.
 */
export function createSessionSecrets(
  randomBytes: RandomBytes,
  { withUserCode, tags = 1, without = new Set() }: DrawOptions,
): SessionSecrets {
  function draw(create: (randomBytes: RandomBytes) => string, fits: (tag: number) => boolean) {
    let secret = create(randomBytes);
    while (!fits(tagOf(secret, tags))) secret = create(randomBytes);
    return secret;
  }
  const browserState = draw(createCapability, (tag) => !without.has(tag));
  const isSame = (tag: number) => tag === tagOf(browserState, tags);
  const pollSecret = draw(createCapability, isSame);
  return {
    browserState,
    pollSecret,
    userCode: withUserCode ? draw(createUserCode, isSame) : undefined,
  };
}

/** Which of `tags` tags a secret has: a few bits of a digest that is used for nothing else. docs/sealing.md "Tags". */
export function tagOf(secret: string, tags: number): number {
  return tags === 1 ? 0 : hash('sha256', `tag ${secret}`, 'buffer').readUInt32BE() % tags;
}

/** Stores keep only this of a secret. The timing of a lookup by digest does not reveal how close a guess was. */
export function digestOf(secret: string): string {
  return hash('sha256', secret, 'base64url');
}
