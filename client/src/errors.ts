/** Errors, and what the app shows for them. client/README.md says what each code means. */

const FAILED = 'Sign-in failed. Please try again.';
const MISTAKE = 'Sign-in is not available here.';

const SHOWN = {
  access_denied: 'Sign-in was declined.',
  authorization_failed: FAILED,
  missing_code: FAILED,
  exchange_failed: FAILED,
  expired: 'The link has expired. Please try again.',
  unreachable: 'No connection. Please try again later.',
  busy: 'Too busy. Please try again later.',
  refused: MISTAKE,
  options_differ: MISTAKE,
  signed_out: 'Please sign in.',
  invalid_grant: 'Please sign in again.',
  storage_failed: FAILED,
} as const;

export type SignInErrorCode = keyof typeof SHOWN;

/** `message` is `detail`. */
export class SignInError extends Error {
  /** What the app shows, in English. For other languages, translate by `code`. */
  readonly show: string;

  /** `detail`: one sentence for the app's developer, without a secret. */
  constructor(
    readonly code: SignInErrorCode,
    readonly detail: string,
    cause?: unknown,
  ) {
    super(detail);
    // Old engines take no `cause`. Not enumerable: it may be circular.
    if (cause) Object.defineProperty(this, 'cause', { value: cause });
    this.name = 'SignInError';
    this.show = SHOWN[code];
  }
}

/** Undefined if it throws. */
export function attempt<Value>(run: () => Value): Value | undefined {
  try {
    return run();
  } catch {
    return undefined;
  }
}

/** Colours and cursor movements (ECMA-48 §5.4). */
const CONTROL_SEQUENCE = /(?:[^ -\uffff]\[|\x9b)[ -?]*[@-~]/g;

/** Controls, changes of direction, and invisible characters. Not a literal, of which the TV build would write out each character. */
const CHARACTERS = '[\\p{C}\\p{Default_Ignorable_Code_Point}\\u2800\\u{1D159}\\u{13441}\\u{13442}]';
/** Old engines have no Unicode property escapes. */
const INVISIBLE =
  attempt(() => new RegExp(CHARACTERS, 'gu')) ||
  /[^ -\uffff]|[\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

/** Untrusted text in one line, without terminal controls and invisible characters. */
export const visible = (text: string): string =>
  text.replace(/\s+/g, ' ').replace(CONTROL_SEQUENCE, '').replace(INVISIBLE, '').trim();

/** Untrusted text for a log: the first line, without anything long enough to be a secret. Error codes are words. */
export const quote = (text: unknown): string =>
  visible((typeof text === 'string' ? text : 'no text').replace(/^\s+|[\r\n][\s\S]*/g, ''))
    .replace(/[\w.~+/=%-]{20,}/g, (long) => (/^[a-z_]{1,40}$/.test(long) ? long : '…'))
    .slice(0, 99);
