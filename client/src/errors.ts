/** How a sign-in or a refresh can fail, and what the app shows then. */

const FAILED = 'Sign-in failed. Please try again.';

const SHOWN = {
  /** The user declined. */
  access_denied: 'Sign-in was declined.',
  /** The provider sent the user back with another error. */
  authorization_failed: FAILED,
  /** The provider sent the user back with neither a code nor an error. */
  missing_code: FAILED,
  /** The provider gave no tokens for the code. */
  exchange_failed: FAILED,
  /** Nobody signed in in time, or the relay does not know the session any more. */
  expired: 'The link has expired. Please try again.',
  /** No response of the relay. */
  unreachable: 'No connection. Please try again later.',
  /** The relay answers, but cannot serve: full, restarting, too many requests. */
  busy: 'Too busy. Please try again later.',
  /** This relay, or this device, does not support what the app requests. `detail` says more. */
  refused: 'Sign-in is not available here.',
  /** The refresh token does not work any more, or there is none. */
  invalid_grant: 'Please sign in again.',
  /** The storage could not be read, or not written four times. `cause` is what it has thrown. */
  storage_failed: FAILED,
} as const;

export type SignInErrorCode = keyof typeof SHOWN;

export interface Failure {
  readonly code: SignInErrorCode;
  /** What the app shows, in English. For other languages, translate by `code`. */
  readonly show: string;
  /** One sentence for the app's developer. It has no secret. */
  readonly detail: string;
  /** The platform's error, or what the storage has thrown. */
  readonly cause?: unknown;
}

export const fail = (code: SignInErrorCode, detail: string, cause?: unknown): Failure => ({
  code,
  show: SHOWN[code],
  detail,
  cause,
});

/** What a stranger writes, for a log: the first line, and nothing in it that is long enough to be a secret. Error codes are words. */
export const quote = (text: unknown): string =>
  (typeof text === 'string' ? text : typeof text)
    .replace(/^\s+|[\r\n][\s\S]*/g, '')
    .replace(/[\w.~+/=%-]{20,}/g, (long) => (/^[a-z_]{1,40}$/.test(long) ? long : '…'))
    .slice(0, 99);
