/** What differs between the two builds: requests, time, and the page's events. Everything else is shared. */

export interface Request {
  readonly url: string;
  /** Absent for a GET. */
  readonly body?: string;
  /** True for a form to a provider. Other requests go to the relay, with the app's headers, and as text/plain, for which a browser needs no preflight. */
  readonly isProvider?: boolean;
  /** Default: the app's `timeoutMs`. */
  readonly timeoutMs?: number;
}

export interface Response {
  /** 0 if there was no complete response. */
  readonly status: number;
  readonly text: string;
  readonly retryAfter?: string | null;
  /** Where a redirect pointed. */
  readonly location?: string | null | undefined;
  /** The platform's error. */
  readonly cause?: unknown;
}

/** More than any valid response of a relay or a provider, so that an endless one does not fill the memory. */
export const MAX_CHARACTERS = 256 * 1_024;

export type Headers = Readonly<Record<string, string>>;

/** What an app may set for each request. */
export interface RequestOptions {
  /** Sent to the relay, never to a provider. */
  readonly headers?: Headers | undefined;
  /** The timeout of a request that does not wait for the user. Default: 17 s. */
  readonly timeoutMs?: number | undefined;
  /** True if tokens may go unencrypted to a relay or provider on another machine. For development in a local network. */
  readonly allowHttp?: boolean | undefined;
}

export interface Platform {
  /** Calls `receive` once, never before it returns. Returns a function that aborts the request, and then `receive` is not called. */
  send(request: Request, headers: Headers, receive: (response: Response) => void): () => void;
  /** Milliseconds of a monotonic clock. */
  now(): number;
  /** Wall-clock time in milliseconds, which continues while a device sleeps. */
  date(): number;
  later(delayMs: number, run: () => void): () => void;
  random(): number;
  /** A new verifier and its S256 challenge (RFC 7636 §4). Undefined if the platform has no cryptography. */
  challenge(): Promise<{ readonly verifier: string; readonly challenge: string } | undefined>;
  /** Calls back when localStorage may have changed. */
  onStored?(changed: () => void): void;
  /** The origin of a web page, where CORS may block responses. */
  readonly origin?: string | undefined;
}

/** Another tab has written, or the page is back from the back/forward cache, where it may have missed that. */
export function onStored(changed: () => void): void {
  addEventListener('storage', changed);
  addEventListener('pageshow', changed);
}

/** Settles like `answer`, but rejects if that takes longer. */
export const within = <Value>(
  platform: Platform,
  ms: number,
  answer: Promise<Value>,
): Promise<Value> =>
  new Promise((resolve, reject) => {
    const late = () => reject(new Error(`no answer within ${ms / 1_000} s`));
    const cancelTimer = platform.later(ms, late);
    void answer.then(resolve, reject).then(cancelTimer);
  });

/** Encodes as base64url, for a verifier and its challenge. */
const encode = (bytes: Uint8Array) =>
  btoa(String.fromCharCode.apply(null, bytes as object as number[]))
    .replace(/\+/g, '-')
    .replace(/\//g, '_')
    .replace(/=/g, '');

export const common = {
  now: () => performance.now(),
  // A test may replace `Date`.
  date: () => Date.now(),
  later(delayMs: number, run: () => void) {
    const timer = setTimeout(run, delayMs);
    return () => clearTimeout(timer);
  },
  random: Math.random,
  /** Uses Web Crypto, which a page has only over https. */
  challenge() {
    if (typeof crypto === 'undefined' || !crypto.subtle) return Promise.resolve(undefined);
    const verifier = encode(crypto.getRandomValues(new Uint8Array(32)));
    const digest = crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier));
    return digest.then((bytes) => ({ verifier, challenge: encode(new Uint8Array(bytes)) }));
  },
};
