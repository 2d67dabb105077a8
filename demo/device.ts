/**
 * What a device does to sign a user in through the relay. It needs only `fetch`, so
 * copy it into your app and adapt it. It uses no option of the protocol, such as a
 * user code or a confirmed delivery: docs/protocol.md has those.
 *
 *   const signIn = await startSignIn(relayUrl, 'mal');
 *   show(signIn.url);                                  // as a link and a QR code
 *   const tokens = await waitForTokens(relayUrl, signIn);
 */

export interface SignIn {
  /** For the user. */
  readonly url: string;
  /** Only for this device: never show it, log it or put it into a link. */
  readonly session: string;
  readonly expiresIn: number;
  /** By `performance.now()`, because the clock of a television may not be set yet. */
  readonly expiresAtMs: number;
}

export interface Tokens {
  readonly accessToken: string;
  readonly refreshToken?: string;
  readonly expiresIn?: number;
}

/** Why there are no tokens. The first four come from the relay, the others from this file. */
export type Failure =
  | 'access_denied'
  | 'authorization_failed'
  | 'missing_code'
  | 'exchange_failed'
  | 'expired'
  | 'refused'
  | 'rate_limited'
  | 'unreachable';

export class SignInError extends Error {
  constructor(
    readonly code: Failure,
    readonly detail = '',
  ) {
    super(detail ? `${code}: ${detail}` : code);
  }
}

export interface Options {
  /** Cancels: the promise rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /** Called before each retry. */
  readonly onRetry?: (trouble: string) => void;
}

const START_TIMEOUT_MS = 10_000;
const START_TRIES = 5;
/** The relay holds a poll for 50 s. A client with a shorter timeout would never see a response. */
const POLL_TIMEOUT_MS = 65_000;
const MIN_POLL_MS = 2_000;
const RETRY_MS = 2_000;

/** Asks the relay for a link. */
export async function startSignIn(
  relayUrl: string,
  service: string,
  { signal, onRetry }: Options = {},
): Promise<SignIn> {
  const request = {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ service }),
  };
  for (let tries = 1; ; tries += 1) {
    const response = await ask(`${relayUrl}/auth/start`, START_TIMEOUT_MS, signal, request);
    const { status, json, trouble, retryMs } = response;
    if (status === 200) {
      const started = json as Omit<SignIn, 'expiresAtMs'>;
      return { ...started, expiresAtMs: performance.now() + started.expiresIn * 1_000 };
    }
    // Any other 4xx would be the answer to the same request again.
    if (status >= 400 && status < 500 && status !== 429) throw new SignInError('refused', trouble);
    if (tries === START_TRIES) {
      throw new SignInError(status === 429 ? 'rate_limited' : 'unreachable', trouble);
    }
    onRetry?.(trouble);
    await pause(retryMs, signal);
  }
}

/** Polls until the user has signed in or the link expires, and retries after network errors. Tokens are delivered once. */
export async function waitForTokens(
  relayUrl: string,
  { session, expiresAtMs }: SignIn,
  { signal, onRetry }: Options = {},
): Promise<Tokens> {
  const resultUrl = `${relayUrl}/auth/result?session=${encodeURIComponent(session)}`;
  while (performance.now() < expiresAtMs) {
    const askedAtMs = performance.now();
    const timeoutMs = Math.min(POLL_TIMEOUT_MS, expiresAtMs - askedAtMs);
    const { status, json, trouble, retryMs } = await ask(resultUrl, timeoutMs, signal);
    if (status === 410) break;
    if (status === 200) {
      const result = json as Tokens | { readonly error: Failure };
      if ('error' in result) throw new SignInError(result.error);
      return result;
    }
    // 204 means that the user has not signed in yet. It takes 50 s, but less while the relay restarts.
    if (status !== 204) onRetry?.(trouble);
    const againAtMs = status === 204 ? askedAtMs + MIN_POLL_MS : performance.now() + retryMs;
    await pause(Math.min(againAtMs, expiresAtMs) - performance.now(), signal);
  }
  throw new SignInError('expired');
}

/** Status 0 means no complete response. Throws only when the caller cancels. */
async function ask(
  address: string,
  timeoutMs: number,
  signal: AbortSignal | undefined,
  init: RequestInit = {},
) {
  const timeout = AbortSignal.timeout(Math.ceil(timeoutMs));
  const signals = signal ? AbortSignal.any([signal, timeout]) : timeout;
  try {
    const response = await fetch(address, { ...init, signal: signals });
    const { status, headers } = response;
    const text = await response.text();
    return {
      status,
      // Throws when a captive portal answers 200 with its own page: that counts as no response.
      json: status === 200 ? (JSON.parse(text) as unknown) : undefined,
      trouble: `the relay answered ${status} ${text.trim().slice(0, 100)}`.trim(),
      retryMs: Number(headers.get('Retry-After')) * 1_000 || RETRY_MS,
    };
  } catch {
    signal?.throwIfAborted();
    return { status: 0, json: undefined, trouble: 'the relay does not answer', retryMs: RETRY_MS };
  }
}

async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted();
  // The link has expired: Node warns of negative timers.
  if (ms <= 0) return;
  await new Promise<void>((resolve, reject) => {
    const cancel = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', cancel);
      resolve();
    }, ms);
    signal?.addEventListener('abort', cancel);
  });
}
