/** What differs between the two builds: requests, time, and what a page has. Everything else is the same source. */

export interface Request {
  readonly url: string;
  /** Not given: a GET. Sent as text/plain, for which a browser needs no preflight. */
  readonly body?: string;
  /** A form to a provider. Anything else is to the relay, with the app's headers. */
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

/** A PKCE verifier and its S256 challenge (RFC 7636 §4). */
interface Challenge {
  readonly verifier: string;
  readonly challenge: string;
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
  /** Undefined where there is no cryptography. */
  challenge(): Promise<Challenge | undefined>;
  /** Calls back with the key of what another tab has changed in localStorage. Null: everything. */
  onStored?(changed: (key: string | null) => void): void;
  /** Of a web page, which CORS may keep from reading an answer. */
  readonly origin?: string | undefined;
}

export const later: Platform['later'] = (delayMs, run) => {
  const timer = setTimeout(run, delayMs);
  return () => clearTimeout(timer);
};

export const sleep = (platform: Platform, ms: number): Promise<void> =>
  new Promise((resolve) => {
    platform.later(ms, resolve);
  });

/** Base64url: 32 bytes make a verifier, and its digest the challenge. */
const encode = (bytes: Uint8Array) =>
  btoa(String.fromCharCode.apply(null, bytes as object as number[]))
    .replace(/\+/g, '-')
    .replace(/\//g, '_')
    .replace(/=/g, '');

/** By Web Crypto, which a page has over https alone. @internal */
export function challengeBy(crypto: Crypto | undefined): Promise<Challenge | undefined> {
  if (!crypto?.subtle) return Promise.resolve(undefined);
  const verifier = encode(crypto.getRandomValues(new Uint8Array(32)));
  const digest = crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier));
  return digest.then((bytes) => ({ verifier, challenge: encode(new Uint8Array(bytes)) }));
}
