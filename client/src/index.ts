/** The build for Bun, Node, Deno, browsers and React Native: `fetch` and promises. */
import { addressProblem, createCall, originOf, stop } from './ask.ts';
import { type Failure, fail, type SignInErrorCode } from './errors.ts';
import type { Lock } from './keeper.ts';
import {
  attempt,
  challengeBy,
  MAX_CHARACTERS,
  type Platform,
  type RequestOptions,
} from './platform.ts';
import type { SignedOut } from './revoke.ts';
import * as core from './session.ts';
import * as menu from './sign-in.ts';
import type { SessionStorage } from './storage.ts';
import type { Tokens } from './tokens.ts';

export type { SignInErrorCode } from './errors.ts';
export type { OpenClient, Prompt, StartOptions } from './link.ts';
export type { Headers, RequestOptions } from './platform.ts';
export type { SignedOut } from './revoke.ts';
export type { SessionEvent } from './session.ts';
export type { Offer, Service } from './sign-in.ts';
export type { SessionStorage } from './storage.ts';
export type { Place, Tokens } from './tokens.ts';

/** Why there are no tokens. Its message is `detail`. */
export class SignInError extends Error {
  declare readonly code: SignInErrorCode;
  /** What the app shows, in English. For other languages, translate by `code`. */
  declare readonly show: string;
  /** One sentence for the app's developer. It has no secret. */
  declare readonly detail: string;

  /** @internal */
  constructor({ code, show, detail, cause }: Failure) {
    super(detail, cause === undefined ? {} : { cause });
    Object.assign(this, { code, show, detail, name: 'SignInError' });
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
  /** Ends the waiting: the promise rejects with the signal's reason, as that of `fetch` does. */
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

type Fetch = (url: string, init: object) => PromiseLike<FetchResponse>;

export interface CallOptions {
  /** Used instead of the global `fetch`: for a proxy, a certificate authority of your own, or a test. */
  readonly fetch?: Fetch | undefined;
}

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

/** A worker of a page meets the same CORS. Other runtimes have one of the two at most. */
const isPage =
  typeof location !== 'undefined' &&
  ('document' in globalThis || 'WorkerGlobalScope' in globalThis);

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
  page: isPage
    ? {
        origin: location.origin,
        reach: (url, done) => void fetch(url, { mode: 'no-cors' }).then(done, () => {}),
      }
    : undefined,
  challenge: challengeBy(globalThis.crypto),
});

const errorOf = (failure: unknown): unknown =>
  Object(failure).show ? new SignInError(failure as Failure) : failure;

/** `run` gets a callback, and returns what ends the waiting. */
function promise<Value>(
  run: (done: (failure: unknown, value?: Value) => void) => unknown,
  signal?: CancelSignal,
): Promise<Value> {
  return new Promise((resolve, reject) => {
    let leave: unknown;
    const abort = () => {
      // React Native's signals have no reason.
      reject(signal?.reason ?? new Error('aborted'));
      if (typeof leave === 'function') leave();
    };
    if (signal?.aborted) return abort();
    signal?.addEventListener('abort', abort);
    leave = run((failure, value) => {
      signal?.removeEventListener('abort', abort);
      if (failure) reject(errorOf(failure));
      else resolve(value as Value);
    });
  });
}

export interface DiscoverOptions extends RequestOptions, CallOptions, Cancellable {
  readonly relay: string;
}

/** What the relay offers, in the operator's order. An older relay does not say: then both lists are empty. */
export const discover = (options: DiscoverOptions): Promise<menu.Offer> =>
  promise((done) => {
    const call = createCall(createPlatform(options.fetch), options);
    menu.discover(call, options, done);
    return () => stop(call);
  }, options.signal);

export interface SessionOptions extends core.SessionOptions, CallOptions {
  /**
   * The origins of the app's API, such as `https://api.example`: then `fetch` of the session
   * refuses any other. Not given: the token goes to each https URL that the app passes.
   */
  readonly origins?: readonly string[] | undefined;
}

export type SessionState = core.SessionState<SignInError>;

/** `rejected`: the access token that the API did not accept, so that another one is fetched. */
export interface TokenOptions extends Cancellable {
  readonly rejected?: string | undefined;
}

/** The `fetch` of the app's runtime. */
type RuntimeFetch = typeof globalThis extends { fetch: infer Own }
  ? Own
  : (url: string, init?: object) => Promise<FetchResponse>;

/** One account at one service. Every function can be passed on by itself. */
export interface Session {
  readonly state: SessionState;
  /** Called after each change of `state`. Returns what ends that. */
  subscribe(listener: () => void): () => void;
  /**
   * Resolves with true when the user has signed in and the tokens are stored, with false after
   * `cancel`. Goes on with a sign-in that the process before has not ended. Whoever calls it
   * during a sign-in waits for that one. An aborted signal cancels.
   */
  signIn(options?: Cancellable): Promise<boolean>;
  /** Ends a sign-in, so that its link says so, and dismisses a failed one. Too late once the tokens have arrived. */
  cancel(): void;
  /**
   * Deletes the tokens, then has the provider accept them no longer, which is tried for 15 s.
   * Rejects only if the storage cannot delete them.
   */
  signOut(): Promise<SignedOut>;
  /**
   * An access token that is valid, as far as the device knows. Refreshed in time, once for all
   * who ask. Rejects with `invalid_grant` if the user has to sign in again.
   */
  getToken(options?: TokenOptions): Promise<string>;
  /** All that is stored, as it is: nothing is refreshed. Undefined: nobody is signed in. */
  getTokens(): Promise<Tokens | undefined>;
  /** `fetch` with the access token as a bearer token (RFC 6750), once more with a fresh one after a 401. */
  readonly fetch: RuntimeFetch;
}

/** Opens the session of this relay, service, account and storage: the same object each time. */
export const createSession = (options: SessionOptions): Session =>
  core.openOnce(options, (items, key) => {
    const call = createCall(createPlatform(options.fetch), options);
    const opened = core.createCore(call, options, items, key, lockFor(items, key));
    const { subscribe, cancel } = opened;
    let before: core.SessionState | undefined;
    let shown: SessionState;

    const getToken: Session['getToken'] = ({ rejected, signal } = {}) =>
      promise((done) => opened.getToken(done, rejected), signal);

    return {
      /** The same object until it changes, as React demands. */
      get state() {
        const state = opened.getState();
        if (state !== before) {
          before = state;
          const { status, error } = state as {
            readonly status: 'failed';
            readonly error?: Failure;
          };
          shown = error ? { status, error: new SignInError(error) } : (state as SessionState);
        }
        return shown;
      },
      subscribe,
      cancel,
      signIn({ signal } = {}) {
        const end = promise<boolean>((done) => {
          opened.signIn(done);
          return cancel;
        }, signal);
        // Who shows the state alone has nothing to catch.
        end.catch(() => {});
        return end;
      },
      signOut: () => promise(opened.signOut),
      getToken,
      getTokens: () => promise(opened.getTokens),
      fetch: ((url: string | URL, init?: RequestInit) =>
        fetchWith(getToken, options, `${url}`, init)) as RuntimeFetch,
    };
  });

async function fetchWith(
  getToken: Session['getToken'],
  { allowHttp, origins, fetch = globalThis.fetch }: SessionOptions,
  url: string,
  init: RequestInit = {},
): Promise<FetchResponse> {
  // The address may end with its host.
  const address = url.replace(/[?#]|$/, '/$&');
  const problem = addressProblem(address, allowHttp);
  if (problem) throw new SignInError(fail('refused', `The URL ${problem}`));
  const origin = `${originOf(address)}`;
  if (origins && origins.indexOf(origin) < 0) {
    const detail = `The token goes to ${origins.join(', ')} (see origins), and not to ${origin}`;
    throw new SignInError(fail('refused', detail));
  }
  const signal = init.signal ?? undefined;
  const ask = (token: string) => {
    const headers = new Headers(init.headers);
    headers.set('Authorization', `Bearer ${token}`);
    return fetch(url, { ...init, headers });
  };
  const rejected = await getToken({ signal });
  const response = await ask(rejected);
  // A body that is a stream cannot be sent twice.
  const isStream = typeof Object(init.body).getReader === 'function';
  return response.status !== 401 || isStream ? response : ask(await getToken({ rejected, signal }));
}

/** A tab sees what another one has written to localStorage a moment later, although it has the lock. */
const LAG_MS = 250;

/** The storage's own, or that of the browser. Some pages may not use that: then none. */
function lockFor(items: SessionStorage, key: string): Lock {
  return (run, failed) => {
    const locks = globalThis.navigator?.locks;
    const isOwn = !!items.lock;
    let isHeld = false;
    const start = () => {
      isHeld = true;
      return new Promise<void>((release) =>
        run(isOwn || !locks ? release : () => later(LAG_MS, release)),
      );
    };
    attempt(
      () => (items.lock ? items.lock(key, start) : locks ? locks.request(key, start) : start()),
      (failure) => {
        if (!failure || isHeld) return;
        if (isOwn) failed(fail('storage_failed', 'The lock of the storage failed', failure));
        else void start();
      },
    );
  };
}
