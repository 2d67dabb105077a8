/**
 * What differs between the two builds: requests and time. The logic is the same, with
 * callbacks, because the engines of the TV build have no Promise.
 */

export interface Request {
  readonly url: string;
  /** Absent: a GET. Sent as text/plain, which needs no preflight. */
  readonly body?: string;
  /** The body is sent as a form. */
  readonly isForm?: boolean;
}

/** Status 0: there was no complete response. */
export type Receive = (status: number, text: string, retryAfter: string | null) => void;

export interface Platform {
  /** Calls back once, after `timeoutMs` at the latest. Returns a function that aborts the request without calling back. */
  send(request: Request, timeoutMs: number, receive: Receive): () => void;
  /** Milliseconds of a monotonic clock: a television's clock may be wrong when an app starts. */
  now(): number;
  /** Returns a function that cancels it. */
  later(delayMs: number, run: () => void): () => void;
  random(): number;
  /** Makes a PKCE verifier and its S256 challenge (RFC 7636). Undefined if the engine cannot. */
  readonly challenge?: ((done: (verifier: string, challenge: string) => void) => void) | undefined;
  /** Runs a function of the app. */
  attempt<Value>(run: () => Value | PromiseLike<Value>, done: Done<Value>): void;
  /** CORS may prevent a web page from reading the response of a provider's token endpoint. */
  readonly isPage: boolean;
}

/** A call in progress. */
export interface Call {
  readonly platform: Platform;
  isStopped?: boolean;
  /** Ends the current request or pause. */
  abandon?: () => void;
  /** Ends the session at the relay. */
  cancel?: Operation<object, void> | undefined;
}

/** Called once, unless the call is stopped. A failure is a `Failure`, or what a function of the app has thrown. */
export type Done<Value> = (failure: unknown, value?: Value) => void;

/** Each build wraps it: in a promise, or in a callback and a function that cancels. */
export type Operation<Options, Value> = (call: Call, options: Options, done: Done<Value>) => void;
