/** The build for Bun, Node, Deno, browsers and React Native: `fetch` and promises. */
import { stop } from './ask.ts';
import type { Failure, SignInErrorCode } from './errors.ts';
import type { Call, Operation, Platform } from './platform.ts';
import * as core from './sign-in.ts';
import {
  createKeeper,
  type KeeperOptions,
  type RefreshOptions,
  refresh as refreshTokens,
  type Tokens,
} from './tokens.ts';

export type { SignInErrorCode } from './errors.ts';
export type { Qr } from './qr.ts';
export type {
  Offer,
  PollOptions,
  Prompt,
  Service,
  SignInOptions,
  StartOptions,
} from './sign-in.ts';
export type { KeeperOptions, Place, RefreshOptions, Tokens } from './tokens.ts';

/** Why there are no tokens. */
export class SignInError extends Error {
  declare readonly code: SignInErrorCode;
  /** What the app shows, in English. For other languages, translate by `code`. */
  declare readonly show: string;
  /** For the app's developer. */
  declare readonly detail: string;

  constructor(failure: Failure) {
    super(`${failure.code} ${failure.detail}`);
    Object.assign(this, failure, { name: 'SignInError' });
  }
}

/** An `AbortSignal`, of whichever runtime. */
export interface CancelSignal {
  readonly aborted: boolean;
  addEventListener(type: 'abort', listener: () => void): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

/** Cancels. The promise then resolves with undefined: cancelling is not an error. */
export interface Cancellable {
  readonly signal?: CancelSignal | undefined;
}

const encode = (bytes: Uint8Array) =>
  btoa(String.fromCharCode(...bytes)).replace(/\W/g, (character) =>
    character === '+' ? '-' : character === '/' ? '_' : '',
  );

const subtle = globalThis.crypto?.subtle;

const platform: Platform = {
  send({ url, body, isForm }, timeoutMs, receive) {
    const control = new AbortController();
    const { signal } = control;
    const abandon = () => {
      clearTimeout(timer);
      control.abort();
    };
    const finish = (...reply: Parameters<typeof receive>) => {
      if (signal.aborted) return;
      abandon();
      receive(...reply);
    };
    const timer = setTimeout(finish, timeoutMs, 0, '', null);
    const form = isForm && { 'Content-Type': 'application/x-www-form-urlencoded' };
    // Undefined members count as absent.
    const init = { signal, body, method: body && 'POST', headers: form } as RequestInit;
    const ask = async () => {
      const response = await fetch(url, init);
      return [response.status, await response.text(), response.headers.get('Retry-After')] as const;
    };
    ask().then(
      (reply) => finish(...reply),
      () => finish(0, '', null),
    );
    return abandon;
  },
  now: () => performance.now(),
  later(delayMs, run) {
    const timer = setTimeout(run, delayMs);
    return () => clearTimeout(timer);
  },
  random: Math.random,
  isPage: typeof document !== 'undefined',
  challenge:
    subtle &&
    (async (done) => {
      const verifier = encode(crypto.getRandomValues(new Uint8Array(32)));
      const digest = await subtle.digest('SHA-256', new TextEncoder().encode(verifier));
      done(verifier, encode(new Uint8Array(digest)));
    }),
  attempt(run, done) {
    Promise.resolve()
      .then(run)
      .then(
        (value) => done(undefined, value),
        (reason) => done(reason || Error()),
      );
  },
};

/** Resolves with undefined when it is cancelled. */
function promise<Options extends object, Value>(
  operation: Operation<Options, Value>,
  options: Options,
): Promise<Value> {
  const { signal } = options as Cancellable;
  return new Promise((resolve, reject) => {
    const call: Call = { platform };
    const cancel = () => {
      stop(call);
      resolve(undefined as Value);
    };
    if (signal?.aborted) return cancel();
    signal?.addEventListener('abort', cancel);
    operation(call, options, (failure, value) => {
      signal?.removeEventListener('abort', cancel);
      if (!failure) resolve(value as Value);
      else reject((failure as Failure).show ? new SignInError(failure as Failure) : failure);
    });
  });
}

/** Signs a user in: starts, shows what `onPrompt` gets, and waits for the tokens. */
export const signIn = (options: core.SignInOptions & Cancellable): Promise<Tokens | undefined> =>
  promise(core.signIn, options);

/** What the relay offers, in the operator's order. With an older relay both lists are empty. */
export const discover = (options: { readonly relay: string }): Promise<core.Offer> =>
  promise(core.discover, options);

/** A sign-in that was started, for apps that do not use `signIn`. */
export interface Session {
  readonly prompt: core.Prompt;
  /** Waits for the tokens. Fails with `expired` when the session expires. The signal ends the waiting, not the session. */
  poll(options?: core.PollOptions & Cancellable): Promise<Tokens | undefined>;
  /** Ends the session and its link. Resolves even if the relay cannot be reached. */
  cancel(): Promise<void>;
}

export const start = async (
  options: core.StartOptions & Cancellable,
): Promise<Session | undefined> => {
  const session = await promise<typeof options, core.Session | undefined>(
    core.start as never,
    options,
  );
  return (
    session && {
      prompt: session.prompt,
      poll: (polling = {}) => promise(session.poll, polling),
      cancel: () => promise(session.cancel, {}),
    }
  );
};

/** New tokens for old ones. */
export const refresh = (options: RefreshOptions): Promise<Tokens> =>
  promise(refreshTokens, options);

/**
 * Returns a function that gives an access token, which it refreshes before it expires, once
 * for all callers. Pass the token that the API rejected, to get another one.
 */
export function keepTokens(options: KeeperOptions): (rejected?: string) => Promise<string> {
  const get = createKeeper(platform, options);
  return (rejected) => promise((_call, _options, done) => get(done, rejected), {});
}
