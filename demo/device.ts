/**
 * All that a device does to sign a person in through the relay. Copy it into
 * your app: it needs `fetch` and nothing else.
 *
 *   const signIn = await startSignIn(relayUrl, 'mal');
 *   show(signIn.url);                                  // as a link and a QR code
 *   const tokens = await waitForTokens(relayUrl, signIn);
 */

export interface SignIn {
  /** For the person. */
  readonly url: string;
  /** For this device alone: never shown, never in a link or a log. */
  readonly session: string;
  readonly expiresIn: number;
  /** When the link ends, by `performance.now()`: a television's clock may yet be set. */
  readonly expiresAtMs: number;
}

export interface Tokens {
  readonly accessToken: string;
  readonly refreshToken?: string;
  readonly expiresIn?: number;
}

/** Why there are no tokens. The first four are the relay's words, the rest this file's. */
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
  /** Calls it off: the promise rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /** Told of each trouble that waiting may cure. */
  readonly onRetry?: (trouble: string) => void;
}

const START_TIMEOUT_MS = 10_000;
const START_TRIES = 5;
/** The relay holds a poll for 50 s; a client that gives up sooner would see no answer, ever. */
const POLL_TIMEOUT_MS = 65_000;
const MIN_POLL_MS = 2_000;
const RETRY_MS = 2_000;

/** Asks the relay for a link. */
export async function startSignIn(
  relayUrl: string,
  service: string,
  { signal, onRetry }: Options = {},
): Promise<SignIn> {
  const startUrl = `${relayUrl}/auth/start`;
  const request = {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ service }),
  };
  for (let tries = 1; ; tries += 1) {
    const { status, json, trouble, retryMs } = await ask(
      startUrl,
      START_TIMEOUT_MS,
      signal,
      request,
    );
    if (status === 200) {
      const started = json as Omit<SignIn, 'expiresAtMs'>;
      return { ...started, expiresAtMs: performance.now() + started.expiresIn * 1_000 };
    }
    // The same request would be refused again.
    if (status >= 400 && status < 500 && status !== 429) throw new SignInError('refused', trouble);
    if (tries === START_TRIES) {
      throw new SignInError(status === 429 ? 'rate_limited' : 'unreachable', trouble);
    }
    onRetry?.(trouble);
    await pause(retryMs, signal);
  }
}

/** Waits for the person, through every network trouble, until the link ends. The tokens come once. */
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
    // 204: nobody has signed in yet. It took 50 s, unless the relay is restarting: no rush then.
    if (status !== 204) onRetry?.(trouble);
    const againAtMs = status === 204 ? askedAtMs + MIN_POLL_MS : performance.now() + retryMs;
    await pause(Math.min(againAtMs, expiresAtMs) - performance.now(), signal);
  }
  throw new SignInError('expired');
}

/** Status 0 when no whole answer came. Throws only when the caller has called it off. */
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
      // Throws where a hotel's Wi-Fi answers 200 with its own page: no answer of the relay's.
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
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(resolve, Math.max(0, ms));
    signal?.addEventListener('abort', () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}
