/** The build for Bun, Node, Deno, browsers and React Native. It uses `fetch`. */
import { addressProblem, originOf } from './ask.ts';
import { SignInError } from './errors.ts';
import { createPlatform, type Fetch, type FetchResponse } from './fetch.ts';
import { lockFor } from './lock.ts';
import * as offers from './offer.ts';
import * as core from './session.ts';
import type { Relay } from './tokens.ts';

export { SignInError, type SignInErrorCode } from './errors.ts';
export type { FetchResponse } from './fetch.ts';
export type { OpenClient, Prompt, StartOptions } from './link.ts';
export type { SessionState } from './machine.ts';
export type { Offer, Service } from './offer.ts';
export type { Headers, RequestOptions } from './platform.ts';
export type { SignedOut } from './revoke.ts';
export type { SessionStorage } from './storage.ts';
export type { RelayService, Tokens, UnverifiedUser } from './tokens.ts';

/** An `AbortSignal` of any runtime. */
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

export type DiscoverOptions = Pick<SessionOptions, keyof Relay | 'fetch'>;

/** What the relay offers, in the operator's order. Rejects if there is no relay, or an older one that does not say. */
export const discover = (options: DiscoverOptions): Promise<offers.Offer> =>
  offers.discover({ platform: createPlatform(options.fetch), options });

export interface SessionOptions extends core.SessionOptions {
  /** Replaces the global `fetch`: for a proxy, a private certificate authority, or a test. */
  readonly fetch?: Fetch | undefined;
  /**
   * The origins of the app's API, such as `https://api.example`: then `fetch` of the session
   * refuses any other. Default: the token goes to any https URL that the app passes.
   */
  readonly origins?: readonly string[] | undefined;
}

type RuntimeFetch = typeof globalThis extends { fetch: infer Own }
  ? Own
  : (url: string, init?: object) => Promise<FetchResponse>;

export interface Session extends core.Session {
  /** An aborted signal cancels the sign-in. */
  signIn(options?: Cancellable): Promise<boolean>;
  /** A refresh continues after an abort, since other callers may need it. */
  getToken(options?: core.RejectedToken & Cancellable): Promise<string>;
  /** `fetch` with the access token as a bearer token (RFC 6750). After a 401 it refreshes the token and repeats the request. */
  readonly fetch: RuntimeFetch;
}

/**
 * Opens the session of this relay, service, account and storage: the same object each time. Throws
 * `options_differ` if it is open with other options.
 */
export const createSession = (options: SessionOptions): Session =>
  core.openOnce(options, (items, key) => {
    const platform = createPlatform(options.fetch);
    const session = core.createCore(platform, options, items, key, lockFor(platform, items, key));
    const { signIn, getToken: tokenFor, cancel } = session;
    const getToken: Session['getToken'] = ({ rejected, signal } = {}) =>
      unlessAborted(signal, () => tokenFor({ rejected }));
    return Object.assign(session, {
      signIn({ signal }: Cancellable = {}) {
        const ended = unlessAborted(signal, signIn, cancel);
        ended.catch(() => {});
        return ended;
      },
      getToken,
      fetch: ((input: string | URL | Request, init?: RequestInit) =>
        fetchWith(getToken, options, input, init)) as RuntimeFetch,
    });
  });

async function fetchWith(
  getToken: Session['getToken'],
  { allowHttp, origins, fetch = globalThis.fetch }: SessionOptions,
  input: string | URL | Request,
  init: RequestInit = {},
): Promise<FetchResponse> {
  const request = Object(input).clone ? (input as Request) : undefined;
  const url = request ? request.url : `${input}`;
  // A URL may end with its host; `originOf` needs a slash there.
  const address = url.replace(/[?#]|$/, '/$&');
  const problem = addressProblem(address, allowHttp);
  if (problem) throw new SignInError('refused', `The URL ${problem}`);
  const origin = `${originOf(address)}`;
  // Not `indexOf`, which a text has too: it would find the beginning of an origin.
  if (origins?.every((each) => each !== origin)) {
    throw new SignInError('refused', `The option origins does not have ${origin}`);
  }
  const { signal = request?.signal } = init as Cancellable;
  const ask = (token: string, target: string | Request) => {
    const headers = new Headers(init.headers ?? request?.headers);
    headers.set('Authorization', `Bearer ${token}`);
    return fetch(target as string, { ...init, headers });
  };
  const rejected = await getToken({ signal });
  // A body can be sent only once, so it is copied.
  const again = request?.clone() || url;
  const response = await ask(rejected, request || url);
  // A web stream, or one of Node.
  const isStream = Object(init.body).getReader || Symbol.asyncIterator in Object(init.body);
  if (response.status !== 401 || isStream) return response;
  const fresh = await getToken({ rejected, signal });
  // A relay repeats its response to a refresh for a while, so this may be the same token.
  if (fresh === rejected) return response;
  // An unread body would keep its connection open.
  void (response.body as Partial<ReadableStream> | null | undefined)?.cancel?.().catch(() => {});
  return ask(fresh, again);
}

/** Waits for `run`. An abort meanwhile ends the wait, and calls `onAbort`. An earlier one prevents `run`. */
function unlessAborted<Value>(
  signal: CancelSignal | undefined,
  run: () => Promise<Value>,
  onAbort: () => void = () => {},
): Promise<Value> {
  if (!signal) return run();
  return new Promise((resolve, reject) => {
    // Signals of older React Native have no reason.
    const end = () =>
      reject(signal.reason ?? Object.assign(Error('aborted'), { name: 'AbortError' }));
    if (signal.aborted) return end();
    const abort = () => {
      end();
      onAbort();
    };
    signal.addEventListener('abort', abort);
    const free = () => signal.removeEventListener('abort', abort);
    void run().then(resolve, reject).then(free);
  });
}
