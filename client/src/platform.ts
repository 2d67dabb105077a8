/**
 * What differs between the two builds: requests and time. The logic is the same,
 * and written with callbacks, because the engines of the TV build have no Promise.
 */

export interface Request {
  readonly url: string;
  /** Not given: a GET. Sent as text/plain, for which a browser needs no preflight. */
  readonly body?: string;
  /** The body is sent as a form. */
  readonly isForm?: boolean;
}

/** Status 0: there was no complete response. */
export type Receive = (status: number, text: string, retryAfter: string | null) => void;

export interface Platform {
  /** Calls back once, after `timeoutMs` at the latest. Returns what abandons the request: then it never calls back. */
  send(request: Request, timeoutMs: number, receive: Receive): () => void;
  /** Milliseconds of a clock that nobody sets: a television's clock may be wrong when an app starts. */
  now(): number;
  /** Returns what cancels it. */
  later(delayMs: number, run: () => void): () => void;
  random(): number;
  /** Makes a PKCE verifier and its S256 challenge (RFC 7636). Undefined where it cannot. */
  readonly challenge?: ((done: (verifier: string, challenge: string) => void) => void) | undefined;
  /** Runs a function of the app. */
  attempt<Value>(run: () => Value | PromiseLike<Value>, done: Done<Value>): void;
  /** A web page may be kept from reading what a provider's token endpoint answers (CORS). */
  readonly isPage: boolean;
}

/** A call in progress. */
export interface Call {
  readonly platform: Platform;
  isStopped?: boolean;
  /** Abandons the request or the pause that it is in. */
  abandon?: () => void;
  /** Tells the relay that nobody waits any more. */
  cancel?: Operation<object, void> | undefined;
}

/** Called once, unless the call is stopped before. A failure is a `Failure`, or what a function of the app has thrown. */
export type Done<Value> = (failure: unknown, value?: Value) => void;

/** Every operation has this form, which each build turns into its own: a promise, or a callback and a function that cancels. */
export type Operation<Options, Value> = (call: Call, options: Options, done: Done<Value>) => void;
