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

/** Colours and moves of the cursor (ECMA-48 §5.4). */
const CONTROL_SEQUENCE = /(?:[^ -\uffff]\[|\x9b)[ -?]*[@-~]/g;
/**
 * Controls, changes of direction, and characters that show nothing. By ranges, since old engines
 * know no properties of Unicode. The group is what stays of the characters beyond U+FFFF.
 */
const UNSEEN =
  /\ud80d[\udc30-\udc3f\udc41\udc42]|\ud82f[\udca0-\udca3]|\ud834[\udd59\udd73-\udd7a]|([\ud800-\udb3f][\udc00-\udfff])|[^ -\uffff]|\u034f|[\u180b-\u180f]|[\ufe00-\ufe0f]|[\x7f-\x9f\xad\u061c\u115f\u1160\u17b4-\u17b5\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ud800-\uf8ff\ufeff\uffa0\ufff0-\ufffb]/g;

/** What a stranger writes, in one line, with nothing in it that controls a terminal or cannot be seen. */
export const visible = (text: string): string =>
  text.replace(/\s+/g, ' ').replace(CONTROL_SEQUENCE, '').replace(UNSEEN, '$1').trim();

/** What a stranger writes, for a log: the first line, and nothing in it that is long enough to be a secret. Error codes are words. */
export const quote = (text: unknown): string =>
  visible((typeof text === 'string' ? text : typeof text).replace(/^\s+|[\r\n][\s\S]*/g, ''))
    .replace(/[\w.~+/=%-]{20,}/g, (long) => (/^[a-z_]{1,40}$/.test(long) ? long : '…'))
    .slice(0, 99)
    // Half a pair of surrogates.
    .replace(/[\ud800-\udbff]$/, '');
