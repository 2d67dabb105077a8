/** The random secrets of a sign-in, and how a user code is shown and typed. Randomness is an argument. */
import type { Buffer } from 'node:buffer';
import { hash } from 'node:crypto';
import { USER_CODE_ALPHABET, USER_CODE_LENGTH } from '../limits.ts';

/** `length` bytes from a cryptographic source, such as node:crypto's. */
export type RandomBytes = (length: number) => Buffer;

/** Almost 144 bits: 24 characters of base64url. RFC 6819 §5.1.4.2.2 asks for 128. */
const CAPABILITY_BYTES = 18;
const CAPABILITY = /^[\w-]{24}$/;

/**
 * A poll secret or a browser state. A link ends with its browser state, and apps that turn text
 * into links drop a `-` or `_` at the end, so a secret never ends with one.
 */
export function createCapability(randomBytes: RandomBytes): string {
  let capability: string;
  do capability = randomBytes(CAPABILITY_BYTES).toString('base64url');
  while (/[-_]$/.test(capability));
  return capability;
}

/** True if the text can be a capability. Anything else is refused before it reaches the store. */
export function isCapability(text: string): boolean {
  return CAPABILITY.test(text);
}

/** SHA-256 in base64url: 43 characters. The last one carries four bits. RFC 7636 §4.2. */
const CHALLENGE = /^[\w-]{42}[AEIMQUYcgkosw048]$/;

/** True if it can be the S256 challenge of a device. */
export function isChallenge(value: unknown): value is string {
  return typeof value === 'string' && CHALLENGE.test(value);
}

/** Eight consonants, each as likely as any other. RFC 8628 §6.1. */
export function createUserCode(randomBytes: RandomBytes): string {
  const letters = USER_CODE_ALPHABET.length;
  const evenBytes = 256 - (256 % letters);
  let code = '';
  while (code.length < USER_CODE_LENGTH) {
    for (const byte of randomBytes(USER_CODE_LENGTH)) {
      // Rejection sampling: higher bytes would make the first letters more likely.
      if (byte < evenBytes && code.length < USER_CODE_LENGTH) {
        code += USER_CODE_ALPHABET[byte % letters];
      }
    }
  }
  return code;
}

const USER_CODE = new RegExp(`^[${USER_CODE_ALPHABET}]{${USER_CODE_LENGTH}}$`);

/** `XXXX-XXXX`: two halves are easier to read and type. RFC 8628 §6.1. */
export function formatUserCode(userCode: string): string {
  const half = USER_CODE_LENGTH / 2;
  return `${userCode.slice(0, half)}-${userCode.slice(half)}`;
}

/** Letters of Cyrillic and Greek that look like one of the alphabet, which is below. UTS #39 §4. */
const LOOK_ALIKES = 'ВСНКМРТХЅЈԚԜΒΗΚΜΝΡΤΧΖ';
const LOOKS_LIKE = 'BCHKMPTXSJQWBHKMNPTXZ';

/**
 * Accepts any case, any separators, the full-width letters and the dash (Lm) of a Japanese keyboard,
 * and letters of others that look the same. Undefined if it cannot be a code.
 */
export function parseUserCode(typed: string): string | undefined {
  // Normalizing comes second: for a long run of combining marks it takes quadratic time.
  const letters = typed
    .replace(/[^\p{LC}\p{Lo}\p{N}]/gu, '')
    .normalize('NFKC')
    .toUpperCase()
    .replace(/[^A-Z]/g, (letter) => LOOKS_LIKE[LOOK_ALIKES.indexOf(letter)] ?? letter);
  return USER_CODE.test(letters) ? letters : undefined;
}

/**
 * The id of a sign-in in the log and on pages, the same at every instance: 32 bits of a digest
 * of its browser state, which has 144. docs/reference.md "The id of a sign-in" says why it is
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

/** Stores keep only this of a secret. The timing of a lookup by digest does not reveal how close a guess was. */
export function digestOf(secret: string): string {
  return hash('sha256', secret, 'base64url');
}
