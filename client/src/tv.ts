/** The build for old TV engines (webOS 3, Tizen 3): XMLHttpRequest and callbacks. Its global is `SignInRelay`. */
import { createCall, stop } from './ask.ts';
import type { Failure } from './errors.ts';
import { createKeeper, type KeeperOptions } from './keeper.ts';
import {
  type Done as Callback,
  type Headers,
  MAX_CHARACTERS,
  type Operation,
  type Platform,
  type RequestOptions,
} from './platform.ts';
import * as parts from './session.ts';
import { sha256 } from './sha256.ts';
import * as core from './sign-in.ts';
import { type SignedOut, type SignOutOptions, signOut } from './sign-out.ts';
import { type RefreshOptions, refresh, type Tokens } from './tokens.ts';

export type { Failure, SignInErrorCode } from './errors.ts';
export type { KeeperOptions } from './keeper.ts';
export type { Headers, RequestOptions } from './platform.ts';
export type { Qr } from './qr.ts';
export type { PollOptions, Prompt, StartOptions } from './session.ts';
export type { Offer, Pending, Service, SignInOptions } from './sign-in.ts';
export type { SignedOut, SignOutOptions } from './sign-out.ts';
export type { Place, RefreshOptions, Tokens } from './tokens.ts';

/** Without a failure: it succeeded. What a function of the app has thrown is passed on as it is. */
export type Done<Value> = (failure: Failure | undefined, value?: Value) => void;

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
  send({ url, body, isProvider }, headers, receive) {
    const request = new XMLHttpRequest();
    let isOver = false;
    const finish = (status: number, text: string, retryAfter: string | null) => {
      if (isOver) return;
      isOver = true;
      receive({ status, text, retryAfter });
    };
    const abandon = () => {
      isOver = true;
      request.abort();
    };
    const fail = () => finish(0, '', null);
    request.onload = () =>
      finish(request.status, request.responseText, request.getResponseHeader('Retry-After'));
    request.onerror = fail;
    request.onprogress = () => {
      if (request.responseText.length < MAX_CHARACTERS) return;
      fail();
      request.abort();
    };
    try {
      request.open(body === undefined ? 'GET' : 'POST', url);
      const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
      const all: Headers = isProvider ? form : headers;
      for (const name in all) request.setRequestHeader(name, all[name] as string);
      request.send(body);
    } catch {
      setTimeout(fail, 0);
    }
    return abandon;
  },
  now: () => performance.now(),
  date: Date.now,
  later(delayMs, run) {
    const timer = setTimeout(run, delayMs);
    return () => clearTimeout(timer);
  },
  random: Math.random,
  page: {
    origin: location.origin,
    // An engine without `fetch` cannot tell a relay without CORS from one that does not answer.
    reach(url, done) {
      if ('fetch' in self) void fetch(url, { mode: 'no-cors' }).then(done, () => {});
    },
  },
  challenge:
    self.crypto &&
    ((done) => {
      const verifier = randomText(43);
      done(verifier, encode(sha256(verifier)));
    }),
};

/** Returns what cancels: then `done` is not called any more. */
function called<Options, Value>(
  operation: Operation<Options, Value>,
  options: Options,
  done: Done<Value>,
  transport: RequestOptions = options as object,
): () => void {
  const call = createCall(platform, transport);
  operation(call, options, done as Callback<Value>);
  return () => stop(call);
}

/** A sign-in that was started: `signIn` in its parts. */
export interface Session {
  readonly prompt: parts.Prompt;
  /** For `resume` in another process. As secret as tokens. */
  readonly state: string;
  /** Waits for the tokens, and saves them. A session that expires fails with `expired`. Returns what ends the waiting, not the session. */
  poll(options: parts.PollOptions, done: Done<Tokens>): () => void;
  /** Ends the session, so that its link says so. Calls back also if the relay could not be told. */
  cancel(done?: () => void): void;
}

const sessionOf = (session: parts.Session, options: RequestOptions): Session => ({
  prompt: session.prompt,
  state: session.state,
  poll: (polling, end) => called(session.poll, polling, end, options),
  cancel: (end) => void called(session.cancel, {}, end || (() => {}), options),
});

export interface SignInRelay {
  /** Signs a user in: starts, shows what `onPrompt` gets, and waits for the tokens, and saves them. Returns what cancels. */
  signIn(options: core.SignInOptions, done: Done<Tokens>): () => void;
  /** What the relay offers, in the operator's order. An older relay does not say: then both lists are empty. */
  discover(
    options: { readonly relay: string } & RequestOptions,
    done: Done<core.Offer>,
  ): () => void;
  start(options: parts.StartOptions, done: Done<Session>): () => void;
  /** A session that an earlier run of the app has started. Undefined if the state is of another relay or service, or damaged. */
  resume(state: string, options: parts.StartOptions): Session | undefined;
  /** New tokens for old ones. */
  refresh(options: RefreshOptions, done: Done<Tokens>): () => void;
  /** Signs the user out: calls `forget`, then has the provider accept the tokens no longer, and calls back within 15 s. A failure is what `forget` has thrown. */
  signOut(options: SignOutOptions, done: Done<SignedOut>): () => void;
  /**
   * Returns a function that gives an access token, which it refreshes before it expires,
   * once for all who ask. Give it the token that the API rejected, to get another one.
   */
  keepTokens(options: KeeperOptions): (done: Done<string>, rejected?: string) => () => void;
}

declare global {
  var SignInRelay: SignInRelay;
}

self.SignInRelay = {
  signIn: (options, done) => called(core.signIn, options, done),
  discover: (options, done) => called(core.discover, options, done),
  refresh: (options, done) => called(refresh, options, done),
  signOut: (options, done) => called(signOut, options, done),
  keepTokens(options) {
    const get = createKeeper(createCall(platform, options), options);
    return (done, rejected) => get(done as Callback<string>, rejected);
  },
  start: (options, done) =>
    called(core.start, options, (failure, session) =>
      done(failure, session && sessionOf(session, options)),
    ),
  resume(state, options) {
    const session = parts.resume({ platform }, options, state);
    return session && sessionOf(session, options);
  },
};
