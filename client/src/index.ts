/** The build for Bun, Node, Deno, browsers and React Native: `fetch` and promises. */
import { createCall, stop } from './ask.ts';
import { type Failure, fail, type SignInErrorCode } from './errors.ts';
import { createKeeper, type KeeperOptions, type Lock } from './keeper.ts';
import {
  attempt,
  MAX_CHARACTERS,
  type Operation,
  type Platform,
  type RequestOptions,
} from './platform.ts';
import * as parts from './session.ts';
import * as core from './sign-in.ts';
import * as out from './sign-out.ts';
import { type RefreshOptions, refresh as refreshTokens, type Tokens } from './tokens.ts';

export type { SignInErrorCode } from './errors.ts';
export type { KeeperOptions } from './keeper.ts';
export type { Headers, RequestOptions } from './platform.ts';
export type { Qr } from './qr.ts';
export type { PollOptions, Prompt, StartOptions } from './session.ts';
export type { Offer, Pending, Service, SignInOptions } from './sign-in.ts';
export type { SignedOut, SignOutOptions } from './sign-out.ts';
export type { Place, RefreshOptions, Tokens } from './tokens.ts';

/** Why there are no tokens. Its message is `detail`. */
export class SignInError extends Error {
  declare readonly code: SignInErrorCode;
  /** What the app shows, in English. For other languages, translate by `code`. */
  declare readonly show: string;
  /** One sentence for the app's developer. It has no secret. */
  declare readonly detail: string;
  /** With `not_saved`: the tokens, for the app to keep. Not enumerable, so that no log shows them. */
  declare readonly tokens?: Tokens;

  /** @internal */
  constructor({ code, show, detail, cause, tokens }: Failure) {
    super(detail, cause === undefined ? {} : { cause });
    Object.assign(this, { code, show, detail, name: 'SignInError' });
    Object.defineProperty(this, 'tokens', { value: tokens });
  }
}

/** An `AbortSignal`, of whichever runtime. */
export interface CancelSignal {
  readonly aborted: boolean;
  readonly reason?: unknown;
  addEventListener(type: 'abort', listener: () => void): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

export interface Cancellable {
  /**
   * Cancels. The promise resolves with undefined, since a user who changes their mind is no
   * error. With `AbortSignal.timeout` it rejects with the code `timeout`.
   */
  readonly signal?: CancelSignal | undefined;
}

/** What is used of a response. */
export interface FetchResponse {
  readonly status: number;
  readonly type?: string;
  readonly url?: string;
  readonly redirected?: boolean;
  readonly headers: { get(name: string): string | null };
  readonly body?: unknown;
  text(): PromiseLike<string>;
}

export interface CallOptions extends Cancellable {
  /** In place of the global `fetch`: for a proxy, a certificate authority of your own, or a test. */
  readonly fetch?: ((url: string, init: object) => PromiseLike<FetchResponse>) | undefined;
}

type Fetch = NonNullable<CallOptions['fetch']>;

const encode = (bytes: Uint8Array) =>
  btoa(String.fromCharCode(...bytes)).replace(/\W/g, (character) =>
    character === '+' ? '-' : character === '/' ? '_' : '',
  );

const subtle = globalThis.crypto?.subtle;

/** React Native has no streams: there the whole text is read. */
async function readText(response: FetchResponse): Promise<string> {
  const body = response.body as Partial<ReadableStream<Uint8Array>> | null | undefined;
  const reader = body?.getReader?.();
  if (!reader) return (await response.text()).slice(0, MAX_CHARACTERS);
  const decoder = new TextDecoder();
  let text = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text;
    text += decoder.decode(value, { stream: true });
    if (text.length > MAX_CHARACTERS) {
      void reader.cancel().catch(() => {});
      throw new Error(`a response of more than ${MAX_CHARACTERS} characters`);
    }
  }
}

/** Where it went, if it is a redirect, or if the platform has followed one although it was asked not to. */
function redirectOf({ status, type, redirected, url, headers }: FetchResponse) {
  if (redirected) return { status: 302, location: url };
  if (type === 'opaqueredirect') return { status: 302, location: 'another address' };
  return { status, location: /^3/.test(`${status}`) ? headers.get('Location') : undefined };
}

const later: Platform['later'] = (delayMs, run) => {
  const timer = setTimeout(run, delayMs);
  return () => clearTimeout(timer);
};

const createPlatform = (fetch: Fetch = (url, init) => globalThis.fetch(url, init)): Platform => ({
  send({ url, body, isProvider }, headers, receive) {
    const control = new AbortController();
    const { signal } = control;
    const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
    const init = {
      signal,
      redirect: 'manual',
      headers: isProvider ? form : headers,
      ...(body !== undefined && { method: 'POST', body }),
    };
    const ask = async () => {
      const response = await fetch(url, init);
      const text = await readText(response);
      return { text, retryAfter: response.headers.get('Retry-After'), ...redirectOf(response) };
    };
    ask().then(
      (response) => signal.aborted || receive(response),
      (cause) => signal.aborted || receive({ status: 0, text: '', cause }),
    );
    return () => control.abort();
  },
  now: () => performance.now(),
  date: Date.now,
  later,
  random: Math.random,
  page:
    typeof document === 'undefined'
      ? undefined
      : {
          origin: location.origin,
          reach: (url, done) => void fetch(url, { mode: 'no-cors' }).then(done, () => {}),
        },
  challenge:
    subtle &&
    (async (done) => {
      const verifier = encode(crypto.getRandomValues(new Uint8Array(32)));
      const digest = await subtle.digest('SHA-256', new TextEncoder().encode(verifier));
      done(verifier, encode(new Uint8Array(digest)));
    }),
});

/** Also an injected `fetch`. */
type Transport = RequestOptions & Pick<CallOptions, 'fetch'>;

/** What the app's own functions throw stays as it is. */
const errorOf = (failure: unknown): unknown =>
  failure instanceof Error || !Object(failure).show ? failure : new SignInError(failure as Failure);

/** `AbortSignal.timeout` is not the user who goes back. */
function timeoutOf(signal: CancelSignal | undefined): SignInError | undefined {
  const { name } = Object(signal?.reason);
  if (name !== 'TimeoutError') return undefined;
  return new SignInError(fail('timeout', 'The signal timed out', signal?.reason));
}

/** Resolves with undefined when it is cancelled. */
function promise<Options extends object, Value>(
  operation: Operation<Options, Value>,
  options: Options & Cancellable,
  transport: Transport = options as Transport,
): Promise<Value> {
  const { signal } = options;
  return new Promise((resolve, reject) => {
    const call = createCall(createPlatform(transport.fetch), transport);
    const cancel = () => {
      stop(call);
      const timeout = timeoutOf(signal);
      if (timeout === undefined) resolve(undefined as Value);
      else reject(timeout);
    };
    if (signal?.aborted) return cancel();
    signal?.addEventListener('abort', cancel);
    operation(call, options, (failure, value) => {
      signal?.removeEventListener('abort', cancel);
      if (!failure) resolve(value as Value);
      else reject(errorOf(failure));
    });
  });
}

/** Signs a user in: starts, shows what `onPrompt` gets, waits for the tokens, and saves them. */
export const signIn = (options: core.SignInOptions & CallOptions): Promise<Tokens | undefined> =>
  promise(core.signIn, options);

/** What the relay offers, in the operator's order. An older relay does not say: then both lists are empty. */
export const discover = (
  options: { readonly relay: string } & RequestOptions & CallOptions,
): Promise<core.Offer> => promise(core.discover, options);

/** A sign-in that was started: `signIn` in its parts. */
export interface Session {
  readonly prompt: parts.Prompt;
  /** For `resume` in another process. As secret as tokens. */
  readonly state: string;
  /** Waits for the tokens, and saves them. A session that expires fails with `expired`. The signal ends the waiting, not the session. */
  poll(options: parts.PollOptions & Cancellable): Promise<Tokens | undefined>;
  /** Ends the session, so that its link says so. Resolves also if the relay could not be told. */
  cancel(): Promise<void>;
}

const sessionOf = (session: parts.Session, options: Transport): Session => ({
  prompt: session.prompt,
  state: session.state,
  poll: (polling) => promise(session.poll, polling, options),
  cancel: () => promise(session.cancel, {}, options),
});

export const start = async (
  options: parts.StartOptions & CallOptions,
): Promise<Session | undefined> => {
  const session = await promise<typeof options, parts.Session | undefined>(
    core.start as never,
    options,
  );
  return session && sessionOf(session, options);
};

/** A session that another process has started. Undefined if the state is of another relay or service, or damaged. */
export const resume = (
  state: string,
  options: parts.StartOptions & CallOptions,
): Session | undefined => {
  const session = parts.resume({ platform: createPlatform() }, options, state);
  return session && sessionOf(session, options);
};

/**
 * New tokens for old ones. With a signal: aborted, it resolves with undefined (or rejects with
 * `timeout`), and nobody knows whether the refresh token was used. If the provider's are good for
 * one use, that is the end of the sign-in: rather wait, or use `keepTokens`.
 */
export function refresh(
  options: RefreshOptions & CallOptions & { readonly signal?: undefined },
): Promise<Tokens>;
export function refresh(options: RefreshOptions & CallOptions): Promise<Tokens | undefined>;
export function refresh(options: RefreshOptions & CallOptions): Promise<Tokens | undefined> {
  return promise(refreshTokens, options);
}

/**
 * Signs the user out: calls `forget`, then has the provider accept the tokens no longer, and
 * resolves within 15 s with whether it confirmed that. Rejects only with what `forget` has thrown.
 */
export const signOut = (
  options: out.SignOutOptions & Pick<CallOptions, 'fetch'>,
): Promise<out.SignedOut> => promise(out.signOut, options);

/** How `keepTokens` reaches the app's storage. */
export interface KeepTokensOptions extends KeeperOptions, Pick<CallOptions, 'fetch'> {
  /**
   * Runs `run` alone among all processes that share the storage, such as with a lock on a file,
   * until its promise is settled. Not given: `navigator.locks`, for tabs and workers of a browser.
   */
  readonly lock?: ((run: () => Promise<void>) => unknown) | undefined;
}

/**
 * Resolves with an access token. Give it the token that the API rejected, to get another one.
 * The signal ends the waiting, not the refresh: the promise rejects with `timeout`, or with the
 * reason of the signal.
 */
export type AccessToken = (rejected?: string, options?: Cancellable) => Promise<string>;

/** Gives access tokens, which it refreshes before they expire, once for all who ask. */
export function keepTokens(options: KeepTokensOptions): AccessToken {
  const call = createCall(createPlatform(options.fetch), options);
  const get = createKeeper(call, options, lockBy(options.lock));
  return (rejected, { signal } = {}) =>
    new Promise((resolve, reject) => {
      let leave = () => {};
      const abort = () => {
        leave();
        // React Native's signals have no reason.
        reject(timeoutOf(signal) ?? signal?.reason ?? new Error('aborted'));
      };
      if (signal?.aborted) return abort();
      signal?.addEventListener('abort', abort);
      leave = get((failure, accessToken) => {
        signal?.removeEventListener('abort', abort);
        if (failure) reject(errorOf(failure));
        else resolve(accessToken as string);
      }, rejected);
    });
}

/** A tab sees what another one has written to localStorage a moment later, although it has the lock. */
const LAG_MS = 250;

/** The app's lock, or that of the browser. Some pages may not use that: then none. */
function lockBy(own: KeepTokensOptions['lock']): Lock {
  return (name, run, failed) => {
    const locks = globalThis.navigator?.locks;
    let isHeld = false;
    const start = () => {
      isHeld = true;
      return new Promise<void>((release) => run(own ? release : () => later(LAG_MS, release)));
    };
    attempt(
      () => (own ? own(start) : locks ? locks.request(name, start) : start()),
      (failure) => {
        if (!failure || isHeld) return;
        if (own) failed(failure);
        else void start();
      },
    );
  };
}
