/**
 * The state of a session: a pure function for each event returns the next state, and effects.
 * Nothing else sets the state. An event that belongs to an earlier version of the account or to an
 * earlier attempt changes nothing.
 */
import { SignInError } from './errors.ts';
import type { Prompt } from './link.ts';
import { isExpired, type Tokens, type UnverifiedUser, userOf } from './tokens.ts';

export type SessionState =
  /** The storage has not answered yet. */
  | { readonly status: 'loading' }
  /**
   * `error`: why the user has to sign in again, or how the storage failed. `resumable`: `signIn`
   * continues an unfinished sign-in, perhaps of an earlier process.
   */
  | { readonly status: 'signed-out'; readonly error?: SignInError; readonly resumable?: true }
  /** There is no link yet. */
  | { readonly status: 'starting' }
  /** Show the prompt. A new one replaces it when the link expires, three times at most. */
  | { readonly status: 'waiting'; readonly prompt: Prompt }
  /** The user has opened the link. */
  | { readonly status: 'opened'; readonly prompt: Prompt }
  /** The relay cannot be reached, or cannot serve: `detail` says why. The client retries until it can. */
  | { readonly status: 'reconnecting'; readonly detail: string; readonly prompt?: Prompt }
  /**
   * `expiresAt`: when the access token expires, in milliseconds of `Date.now()`; it is refreshed
   * before. `user`: if there is an ID token (option `details`), and not verified.
   */
  | { readonly status: 'signed-in'; readonly expiresAt?: number; readonly user?: UnverifiedUser }
  /** The sign-in failed. A user who was signed in before still is. */
  | { readonly status: 'failed'; readonly error: SignInError };

export interface State {
  /** Increases at a sign-out, with the tokens of a new sign-in, and when the provider ends the session. */
  readonly version: number;
  /** The current tokens, stored or not. */
  readonly tokens?: Tokens | undefined;
  readonly unsaved?: Unsaved | undefined;
  /** What is shown while there is neither a sign-in nor a failed one. */
  readonly account: SessionState;
  /** What is shown of a sign-in that failed, until it is dismissed. */
  readonly failure?: SessionState | undefined;
  /** The number of sign-ins so far, and the one in progress. */
  readonly attempt: number;
  readonly signIn?: SignIn | undefined;
}

/** What is to be stored. */
export interface Unsaved {
  /** The tokens, or why there are none: empty after a sign-out. */
  readonly value: Tokens | { readonly ended: string };
  /** The access token that it replaces in the storage. If that has another one, another process has stored it. */
  readonly before: string | undefined;
}

interface SignIn {
  readonly shown: SessionState;
  /** Shown instead while the relay does not answer. */
  readonly outage?: SessionState;
  /** True once the tokens have arrived: it is too late to cancel. */
  readonly isSaving?: boolean;
}

/** `overtaken`: another tab or process has signed in. */
export type End = 'saved' | 'failed' | 'cancelled' | 'overtaken';

export type Effect =
  | { readonly type: 'sign-in'; readonly attempt: number }
  | { readonly type: 'end'; readonly how: End; readonly error?: SignInError }
  | { readonly type: 'save' }
  /** Deletes and revokes what is stored. If nothing is, or the storage cannot be read, revokes `known`. */
  | { readonly type: 'clear'; readonly known: Tokens | undefined }
  /** Revokes tokens that nothing uses any more. */
  | { readonly type: 'revoke'; readonly tokens: Tokens };

type Step = readonly [State, ...Effect[]];

export type Event = (state: State, dateMs: number) => Step;

const STARTING: SessionState = { status: 'starting' };
export const FIRST_STATE: State = { version: 1, account: { status: 'loading' }, attempt: 0 };

export const shownOf = ({ account, failure, signIn }: State): SessionState =>
  signIn ? signIn.outage || signIn.shown : failure || account;

const signedOut = (error?: SignInError, isResumable?: boolean): SessionState => ({
  status: 'signed-out',
  ...(error && { error }),
  ...(isResumable && { resumable: true }),
});

/* What the app does. */

export const signIn: Event = (state) => {
  if (state.signIn) return [state];
  const { account } = state;
  const attempt = state.attempt + 1;
  // A sign-in that has begun is no longer resumable.
  const kept = account.status === 'signed-out' ? signedOut(account.error) : account;
  return [
    { ...state, attempt, signIn: { shown: STARTING }, account: kept, failure: undefined },
    { type: 'sign-in', attempt },
  ];
};

export const cancel: Event = (state) => {
  if (!state.signIn) return [{ ...state, failure: undefined }];
  return state.signIn.isSaving ? [state] : endSignIn(state, 'cancelled');
};

export const signOut: Event = ({ version, attempt, tokens, unsaved, signIn }) => {
  const next = { ...FIRST_STATE, version: version + 1, attempt, account: signedOut() };
  const step: [State, ...Effect[]] = [next, { type: 'clear', known: tokens }];
  if (unsaved && tokens) step.push({ type: 'revoke', tokens });
  if (signIn) step.push({ type: 'end', how: 'cancelled' });
  return step;
};

/* What happens in a sign-in. */

const ifAttempt =
  (attempt: number, event: (state: State, signIn: SignIn) => Step): Event =>
  (state) =>
    state.signIn && state.attempt === attempt ? event(state, state.signIn) : [state];

export const linkShown = (attempt: number, status: 'waiting' | 'opened', prompt: Prompt): Event =>
  ifAttempt(attempt, (state) => [{ ...state, signIn: { shown: { status, prompt } } }]);

/** The relay answered, or did not: `detail` says why. */
export const connectionChanged = (attempt: number, detail: string | undefined): Event =>
  ifAttempt(attempt, (state, { shown }) => {
    if (!detail) return [{ ...state, signIn: { shown } }];
    const { prompt } = shown as { readonly prompt?: Prompt };
    const outage: SessionState = { status: 'reconnecting', detail, ...(prompt && { prompt }) };
    return [{ ...state, signIn: { shown, outage } }];
  });

/** The attempt returned tokens, which begin a new version of the account. */
export const granted =
  (attempt: number, tokens: Tokens): Event =>
  (state, dateMs) => {
    if (!state.signIn || state.attempt !== attempt) return tooLate(state, tokens);
    const signIn = { shown: state.signIn.shown, isSaving: true };
    return withTokens({ ...state, version: state.version + 1, signIn }, tokens, dateMs);
  };

export const failed = (attempt: number, error: SignInError): Event =>
  ifAttempt(attempt, (state) => [
    { ...state, signIn: undefined, failure: { status: 'failed', error } },
    { type: 'end', how: 'failed', error },
  ]);

const endSignIn = (state: State, how: End): Step => [
  { ...state, signIn: undefined },
  { type: 'end', how },
];

/* What happens to tokens. */

/** The storage was read: it has these tokens, or why the provider ended them, or an unfinished sign-in. */
export const storageRead =
  (
    version: number,
    tokens: Tokens | undefined,
    ended: string | undefined,
    isResumable: boolean,
  ): Event =>
  (state, dateMs) => {
    if (state.version !== version) return [state];
    const { unsaved, account, signIn } = state;
    const isKnown = (tokens || state.tokens) && tokens?.accessToken === unsaved?.before;
    if (unsaved && (signIn?.isSaving || isKnown)) return [state];
    const error = ended ? new SignInError('invalid_grant', ended) : undefined;
    const next: State = {
      ...state,
      tokens,
      unsaved: undefined,
      account: tokens ? accountOf(tokens, dateMs) : signedOut(error, isResumable),
    };
    if (account.status === 'signed-out' && next.account.status === 'signed-in') {
      return signIn ? endSignIn(next, 'overtaken') : [{ ...next, failure: undefined }];
    }
    // Another tab or process has signed out before these could be stored.
    const isLost = unsaved && state.tokens && !tokens;
    return isLost ? [next, { type: 'revoke', tokens: state.tokens }] : [next];
  };

/** The storage could not be read, so it is unknown who is signed in. */
export const storageFailed =
  (error: SignInError): Event =>
  (state) => [state.account.status === 'loading' ? { ...state, account: signedOut(error) } : state];

/** `spent`: the refresh token that was used. */
export const refreshed =
  (version: number, spent: string, tokens: Tokens): Event =>
  (state, dateMs) => {
    const isCurrent = state.version === version && state.tokens?.refreshToken === spent;
    return isCurrent ? withTokens(state, tokens, dateMs) : tooLate(state, tokens);
  };

/** The provider no longer accepts the tokens, or a sign-out could not delete them from the storage: `stored`. */
export const ended =
  (version: number, error: SignInError, stored?: Tokens): Event =>
  (state) => {
    if (state.version !== version) return [state];
    // After a sign-out there is no reason to say after a restart.
    const value = { ended: error.code === 'storage_failed' ? '' : error.detail };
    const next = withUnsaved({ ...state, tokens: state.tokens || stored }, value);
    const account = signedOut(error);
    return [{ ...next, version: version + 1, tokens: undefined, account }, { type: 'save' }];
  };

/** The storage has this value now, which may not be the newest. */
export const saved =
  (value: Unsaved['value']): Event =>
  (state) => {
    const { unsaved, tokens, signIn, failure } = state;
    if (unsaved?.value !== value) {
      const { accessToken: before } = value as Partial<Tokens>;
      return [{ ...state, unsaved: unsaved && { ...unsaved, before } }];
    }
    const next = { ...state, unsaved: undefined, failure: tokens ? undefined : failure };
    return signIn?.isSaving ? endSignIn(next, 'saved') : [next];
  };

/** The storage refused what is unsaved. */
export const saveFailed =
  (error: SignInError): Event =>
  (state, dateMs) =>
    state.signIn?.isSaving ? failed(state.attempt, error)(state, dateMs) : [state];

/**
 * Revokes tokens that nothing uses, unless a user is signed in: two tabs that show one link get the
 * same tokens, and some providers would revoke newer ones too.
 */
const tooLate = (state: State, tokens: Tokens): Step =>
  state.tokens ? [state] : [state, { type: 'revoke', tokens }];

const withTokens = (state: State, tokens: Tokens, dateMs: number): Step => [
  { ...withUnsaved(state, tokens), tokens, account: accountOf(tokens, dateMs) },
  { type: 'save' },
];

const withUnsaved = (state: State, value: Unsaved['value']): State => ({
  ...state,
  unsaved: { value, before: state.unsaved ? state.unsaved.before : state.tokens?.accessToken },
});

function accountOf(tokens: Tokens, dateMs: number): SessionState {
  const { refreshToken, expiresAt } = tokens;
  if (!refreshToken && isExpired(tokens, dateMs)) return signedOut(noRefreshToken('has expired'));
  const user = userOf(tokens);
  return { status: 'signed-in', ...(expiresAt && { expiresAt }), ...(user && { user }) };
}

export const noRefreshToken = (what: string): SignInError =>
  new SignInError('invalid_grant', `The access token ${what}, and there is no refresh token`);
