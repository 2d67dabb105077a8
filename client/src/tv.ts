/** The build for old TV engines (webOS 3, Tizen 3): XMLHttpRequest and callbacks. Its global is `SignInRelay`. */
import { createCall, stop } from './ask.ts';
import type { Failure } from './errors.ts';
import {
  type Done as Callback,
  challengeBy,
  type Headers,
  MAX_CHARACTERS,
  type Platform,
  type RequestOptions,
} from './platform.ts';
import type { SignedOut } from './revoke.ts';
import { createCore, openOnce, type SessionOptions, type SessionState } from './session.ts';
import { discover, type Offer } from './sign-in.ts';
import type { Tokens } from './tokens.ts';

export type { Failure, SignInErrorCode } from './errors.ts';
export type { OpenClient, Prompt, StartOptions } from './link.ts';
export type { Headers, RequestOptions } from './platform.ts';
export type { SignedOut } from './revoke.ts';
export type { SessionEvent, SessionOptions, SessionState } from './session.ts';
export type { Offer, Service } from './sign-in.ts';
export type { SessionStorage } from './storage.ts';
export type { Place, Tokens } from './tokens.ts';

/** Without a failure: it succeeded. */
export type Done<Value> = (failure: Failure | undefined, value?: Value) => void;

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
  challenge: challengeBy(self.crypto),
};

/** The session of the module, with callbacks, and without `fetch`. */
export interface Session {
  getState(): SessionState;
  /** Returns what ends that. */
  subscribe(listener: () => void): () => void;
  /** The value is true when the user has signed in, false after `cancel`. */
  signIn(done?: Done<boolean>): void;
  cancel(): void;
  signOut(done?: Done<SignedOut>): void;
  /** `rejected`: the access token that the API did not accept. Returns what ends the waiting. */
  getToken(done: Done<string>, rejected?: string): () => void;
  getTokens(done: Done<Tokens>): void;
}

export interface SignInRelay {
  /** Opens the session of this relay, service, account and storage: the same object each time. */
  createSession(options: SessionOptions): Session;
  /** What the relay offers, in the operator's order. An older relay does not say: then both lists are empty. Returns what cancels. */
  discover(options: { readonly relay: string } & RequestOptions, done: Done<Offer>): () => void;
}

declare global {
  var SignInRelay: SignInRelay;
}

const ignore = () => {};

self.SignInRelay = {
  createSession: (options) =>
    openOnce(options, (items, key) => {
      const call = createCall(platform, options);
      const core = createCore(call, options, items, key, (run) => run(ignore));
      return {
        ...core,
        signIn: (done = ignore) => core.signIn(done as Callback<boolean>),
        signOut: (done = ignore) => core.signOut(done as Callback<SignedOut>),
      } as Session;
    }),
  discover(options, done) {
    const call = createCall(platform, options);
    discover(call, options, done as Callback<Offer>);
    return () => stop(call);
  },
};
