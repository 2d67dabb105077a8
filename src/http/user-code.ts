/** A user code as a person sees and types it. RFC 8628 §6.1. */
import { USER_CODE_ALPHABET, USER_CODE_LENGTH } from '../limits.ts';

const SHAPE = new RegExp(`^[${USER_CODE_ALPHABET}]{${USER_CODE_LENGTH}}$`);

/** `XXXX-XXXX`: two halves are easier to carry from one screen to another. */
export function formatUserCode(userCode: string): string {
  const half = USER_CODE_LENGTH / 2;
  return `${userCode.slice(0, half)}-${userCode.slice(half)}`;
}

/** Any case, any separators, and the full-width letters of a Japanese keyboard. Undefined for what no code can be. */
export function parseUserCode(typed: string): string | undefined {
  const letters = typed
    .normalize('NFKC')
    .toUpperCase()
    .replace(/[^\p{L}\p{N}]/gu, '');
  return SHAPE.test(letters) ? letters : undefined;
}

/** The person's short way in. */
export function shortLinkOf(baseUrl: string, userCode: string): string {
  return `${baseUrl}/L/${formatUserCode(userCode)}`;
}
