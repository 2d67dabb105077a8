/** The build for old TV engines (webOS 3, Tizen 3): XMLHttpRequest and callbacks. Its global is `SignInRelay`. */
import { stop } from './ask.ts';
import type { Call, Done, Operation, Platform } from './platform.ts';
import { sha256 } from './sha256.ts';
import * as core from './sign-in.ts';
import {
  createKeeper,
  type KeeperOptions,
  type RefreshOptions,
  refresh,
  type Tokens,
} from './tokens.ts';

export type { Failure, SignInErrorCode } from './errors.ts';
export type { Done } from './platform.ts';
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

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

/** Of random bytes: 6 bits of each are used. */
function randomText(length: number): string {
  const bytes = crypto.getRandomValues(new Uint8Array(length));
  let text = '';
  for (let index = 0; index < length; index += 1) {
    text += DIGITS.charAt((bytes[index] as number) & 63);
  }
  return text;
}

function encode(bytes: readonly number[]): string {
  let text = '';
  for (let bit = 0; bit < bytes.length * 8; bit += 6) {
    const pair = ((bytes[bit >> 3] as number) << 8) | (bytes[(bit >> 3) + 1] || 0);
    text += DIGITS.charAt((pair >> (10 - (bit % 8))) & 63);
  }
  return text;
}

const platform: Platform = {
  send({ url, body, isForm }, timeoutMs, receive) {
    const request = new XMLHttpRequest();
    let isOver = false;
    const abandon = () => {
      isOver = true;
      clearTimeout(timer);
      request.abort();
    };
    const finish = (status: number, text: string, retryAfter: string | null) => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      receive(status, text, retryAfter);
    };
    const fail = () => {
      finish(0, '', null);
      request.abort();
    };
    const timer = setTimeout(fail, timeoutMs);
    request.onload = () =>
      finish(request.status, request.responseText, request.getResponseHeader('Retry-After'));
    request.onerror = fail;
    try {
      request.open(body === undefined ? 'GET' : 'POST', url);
      if (isForm) request.setRequestHeader('Content-Type', 'application/x-www-form-urlencoded');
      request.send(body);
    } catch {
      setTimeout(fail, 0);
    }
    return abandon;
  },
  now: () => (self.performance || Date).now(),
  later(delayMs, run) {
    const timer = setTimeout(run, delayMs);
    return () => clearTimeout(timer);
  },
  random: Math.random,
  isPage: typeof document !== 'undefined',
  challenge:
    self.crypto &&
    ((done) => {
      const verifier = randomText(43);
      done(verifier, encode(sha256(verifier)));
    }),
  attempt: (run, done) => done(undefined, run() as never),
};

/** Returns a function that cancels: then `done` is not called any more. */
function called<Options, Value>(
  operation: Operation<Options, Value>,
  options: Options,
  done: Done<Value>,
): () => void {
  const call: Call = { platform };
  operation(call, options, done);
  return () => stop(call);
}

/** A sign-in that was started, for apps that do not use `signIn`. */
export interface Session {
  readonly prompt: core.Prompt;
  /** Waits for the tokens. Fails with `expired` when the session expires. Returns a function that ends the waiting, not the session. */
  poll(options: core.PollOptions, done: Done<Tokens>): () => void;
  /** Ends the session and its link. Calls back even if the relay cannot be reached. */
  cancel(done?: () => void): void;
}

export interface SignInRelay {
  /** Signs a user in: starts, shows what `onPrompt` gets, and waits for the tokens. Returns a function that cancels. */
  signIn(options: core.SignInOptions, done: Done<Tokens>): () => void;
  /** What the relay offers, in the operator's order. With an older relay both lists are empty. */
  discover(options: { readonly relay: string }, done: Done<core.Offer>): () => void;
  start(options: core.StartOptions, done: Done<Session>): () => void;
  /** New tokens for old ones. */
  refresh(options: RefreshOptions, done: Done<Tokens>): () => void;
  /**
   * Returns a function that gives an access token, which it refreshes before it expires, once
   * for all callers. Pass the token that the API rejected, to get another one.
   */
  keepTokens(options: KeeperOptions): (done: Done<string>, rejected?: string) => void;
}

declare global {
  var SignInRelay: SignInRelay;
}

self.SignInRelay = {
  signIn: (options, done) => called(core.signIn, options, done),
  discover: (options, done) => called(core.discover, options, done),
  refresh: (options, done) => called(refresh, options, done),
  keepTokens: (options) => createKeeper(platform, options),
  start: (options, done) =>
    called(core.start, options, (failure, session) =>
      done(
        failure,
        session && {
          prompt: session.prompt,
          poll: (polling, end) => called(session.poll, polling, end),
          cancel: (end) => void called(session.cancel, {}, end || (() => {})),
        },
      ),
    ),
};
