/**
 * What differs between the two builds: requests and time. The logic is the same,
 * and written with callbacks, because the engines of the TV build have no Promise.
 */

export interface Request {
  readonly url: string;
  /** Not given: a GET. Sent as text/plain, for which a browser needs no preflight. */
  readonly body?: string;
  /** A form to a provider's token endpoint. Anything else is to the relay, with the app's headers. */
  readonly isProvider?: boolean;
  /** Not given: the app's, or that of a request that does not wait. */
  readonly timeoutMs?: number;
}

export interface Response {
  /** 0: there was no complete response. */
  readonly status: number;
  readonly text: string;
  readonly retryAfter?: string | null;
  /** Where a redirect pointed. */
  readonly location?: string | null | undefined;
  /** The platform's error. */
  readonly cause?: unknown;
}

/** More than any response of a relay or a provider (the relay reads 64 KiB of a provider): one that never ends fills no memory. */
export const MAX_CHARACTERS = 256 * 1_024;

export type Headers = Readonly<Record<string, string>>;

/** What an app may set for each request. */
export interface RequestOptions {
  /** Sent to the relay, never to a provider. */
  readonly headers?: Headers | undefined;
  /** How long one request may take that does not wait for the user. Not given: 17 s. */
  readonly timeoutMs?: number | undefined;
  /** Whether tokens may go unencrypted to a relay (or provider) on another machine. For development in one's own network. */
  readonly allowHttp?: boolean | undefined;
}

export interface Platform {
  /** Calls back once, and not before it has returned what abandons the request: then it never calls back. */
  send(request: Request, headers: Headers, receive: (response: Response) => void): () => void;
  /** Milliseconds of a clock that nobody sets: a television's clock may be wrong when an app starts. */
  now(): number;
  /** Milliseconds of the clock that people see, and that goes on while a device sleeps. */
  date(): number;
  /** Returns what cancels it. */
  later(delayMs: number, run: () => void): () => void;
  random(): number;
  /** Makes a PKCE verifier and its S256 challenge (RFC 7636 §4). Calls back without them where it cannot. */
  challenge(done: (verifier?: string, challenge?: string) => void): void;
  /** Present in a web page, which CORS may keep from reading what a relay or a provider answers. */
  readonly page?: Page | undefined;
}

export interface Page {
  readonly origin: string;
  /** Calls back if something answers at the address, whether or not the page may read it. */
  reach(url: string, done: () => void): void;
}

export interface Trouble {
  /** There was a complete response. */
  readonly isAnswered: boolean;
  readonly detail: string;
}

/** A call in progress. */
export interface Call extends RequestOptions {
  readonly platform: Platform;
  isStopped?: boolean;
  /** The last request has to be repeated. */
  isTroubled?: boolean;
  /** Called for each reply, and with what is wrong if its request has to be repeated. */
  onReply?: ((trouble: Trouble | undefined) => void) | undefined;
  /** Abandons the request or the pause that it is in. */
  abandon?: () => void;
  /** Tells the relay that nobody waits any more. */
  cancel?: (() => void) | undefined;
}

/** Called once, unless the call is stopped before. A failure is a `Failure`, or what a function of the app has thrown. */
export type Done<Value> = (failure: unknown, value?: Value) => void;

/** Every operation has this form, which each build turns into its own: a promise, or a callback and a function that cancels. */
export type Operation<Options, Value> = (call: Call, options: Options, done: Done<Value>) => void;

/** Base64url: 32 bytes make a verifier, and its digest the challenge. */
const encode = (bytes: Uint8Array) =>
  btoa(String.fromCharCode.apply(null, bytes as object as number[]))
    .replace(/\+/g, '-')
    .replace(/\//g, '_')
    .replace(/=/g, '');

/** By Web Crypto, which a page has over https alone. @internal */
export const challengeBy =
  (crypto: Crypto | undefined): Platform['challenge'] =>
  (done) => {
    const fail = () => done();
    if (!crypto?.subtle) return fail();
    const verifier = encode(crypto.getRandomValues(new Uint8Array(32)));
    crypto.subtle
      .digest('SHA-256', new TextEncoder().encode(verifier))
      .then((digest) => done(verifier, encode(new Uint8Array(digest))), fail);
  };

/** Runs a function of the app, which may return a promise. */
export function attempt<Value>(run: () => Value | PromiseLike<Value>, done: Done<Value>): void {
  const reject = (reason: unknown) => done(reason || Error('The app rejected without a reason.'));
  let value: Value | PromiseLike<Value>;
  try {
    value = run();
  } catch (reason) {
    reject(reason);
    return;
  }
  const { then } = Object(value);
  if (typeof then === 'function') {
    (value as PromiseLike<Value>).then((settled) => done(undefined, settled), reject);
  } else {
    done(undefined, value as Value);
  }
}

/** Tells the app. What it throws is its own, and disturbs nobody else. */
export function tellApp({ later }: Platform, tell: () => void): void {
  try {
    tell();
  } catch (error) {
    later(0, () => {
      throw error;
    });
  }
}
