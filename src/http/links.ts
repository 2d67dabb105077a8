/** The URLs that devices and users get, and how a user code is shown and typed. */
import { USER_CODE_ALPHABET, USER_CODE_LENGTH } from '../limits.ts';

const USER_CODE = new RegExp(`^[${USER_CODE_ALPHABET}]{${USER_CODE_LENGTH}}$`);

/** `XXXX-XXXX`: two halves are easier to read and type. RFC 8628 §6.1. */
export function formatUserCode(userCode: string): string {
  const half = USER_CODE_LENGTH / 2;
  return `${userCode.slice(0, half)}-${userCode.slice(half)}`;
}

/** Accepts any case, any separators, and the full-width letters of a Japanese keyboard. Undefined if it cannot be a code. */
export function parseUserCode(typed: string): string | undefined {
  // Normalizing comes second: for a long run of combining marks it takes quadratic time.
  const letters = typed
    .replace(/[^\p{L}\p{N}]/gu, '')
    .normalize('NFKC')
    .toUpperCase();
  return USER_CODE.test(letters) ? letters : undefined;
}

/** The link that a device shows. Both parts need no escaping. */
export function linkOf(baseUrl: string, service: string, browserState: string): string {
  return `${baseUrl}/auth/${service}?state=${browserState}`;
}

/** The short link, which contains the user code. */
export function shortLinkOf(baseUrl: string, userCode: string): string {
  return `${baseUrl}/L/${formatUserCode(userCode)}`;
}

/** The QR code of the short link. */
export function qrLinkOf(baseUrl: string, userCode: string): string {
  return `${baseUrl}/qr/${formatUserCode(userCode)}.png`;
}
