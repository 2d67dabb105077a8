/**
 * A device: starts a sign-in at a relay and waits for its result. docs/protocol.md.
 * It knows nothing of terminals, and uses nothing of the relay's own code.
 */

export interface SignIn {
  /** For the user: the short link where the relay has one, otherwise the long one. */
  readonly link: string;
  /** Where the user types the code. Absent: the relay has no codes. */
  readonly codePage?: string;
  readonly userCode?: string;
  /** Only for this device: never show it, log it or put it into a link. */
  readonly session: string;
  readonly expiresIn: number;
  /** By `performance.now()`, because the clock of a device may not be set yet. */
  readonly expiresAtMs: number;
}

/** As the relay gave them, whatever members it has. */
export type Tokens = Readonly<Record<string, unknown>> & { readonly accessToken: string };

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

export interface StartOptions {
  readonly service: string;
  /** What the user sees on the confirmation page. */
  readonly deviceName: string;
  /** Also token type, scope and id token. */
  readonly details: boolean;
}

/** What the user may want to see meanwhile. */
export interface Watch {
  /** Before a retry: what went wrong. */
  onRetry(trouble: string): void;
  /** The user has opened the link. */
  onOpened(): void;
}

export interface Device {
  start(options: StartOptions): Promise<SignIn>;
  /** Until the user has signed in, or the link expires. */
  waitForTokens(signIn: SignIn): Promise<Tokens>;
  /** Once the tokens are kept: the relay removes them. Never rejects. */
  acknowledge(signIn: SignIn): Promise<void>;
  /** Nobody waits any more: the link ends. Never rejects. */
  cancel(signIn: SignIn): Promise<void>;
}

const START_TIMEOUT_MS = 10_000;
const START_TRIES = 5;
/** The relay holds a poll for 50 s. A client with a shorter timeout would never see a response. */
const POLL_TIMEOUT_MS = 65_000;
const MIN_POLL_MS = 1_000;
const RETRY_MS = 2_000;
const ACKNOWLEDGE_TIMEOUT_MS = 5_000;
const ACKNOWLEDGE_TRIES = 3;
/** Short: the person who pressed Ctrl-C waits for it, and a relay that cannot cancel holds the request as a poll. */
const CANCEL_TIMEOUT_MS = 1_000;

/** `signal` ends whatever is in progress: it rejects with the signal's reason. `fetch` may trust other certificates. */
export function createDevice(
  relayUrl: string,
  watch: Watch,
  signal: AbortSignal,
  request: typeof fetch = fetch,
): Device {
  const resultUrl = ({ session }: SignIn, query: string) =>
    `${relayUrl}/auth/result?session=${encodeURIComponent(session)}&${query}`;

  /** Status 0 means no complete response. Throws only when the caller cancels. */
  async function ask(address: string, timeoutMs: number, init: RequestInit = {}) {
    const signals = AbortSignal.any([signal, AbortSignal.timeout(Math.ceil(timeoutMs))]);
    try {
      const response = await request(address, { ...init, signal: signals });
      const { status, headers } = response;
      const text = await response.text();
      return {
        status,
        // Throws when a captive portal answers 200 with its own page: that counts as no response.
        json: status === 200 ? parseObject(text) : {},
        trouble: `the relay answered ${status} ${text.trim().slice(0, 100)}`.trim(),
        retryMs: Number(headers.get('Retry-After')) * 1_000 || RETRY_MS,
      };
    } catch {
      signal.throwIfAborted();
      return { status: 0, json: {}, trouble: 'the relay does not answer', retryMs: RETRY_MS };
    }
  }

  return {
    async start({ service, deviceName, details }) {
      const asked = { service, device: deviceName, code: true, ack: true };
      const body = JSON.stringify(details ? { ...asked, details } : asked);
      const init = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body };
      for (let tries = 1; ; tries += 1) {
        const startUrl = `${relayUrl}/auth/start`;
        const { status, json, trouble, retryMs } = await ask(startUrl, START_TIMEOUT_MS, init);
        if (status === 200) return readSignIn(json, relayUrl);
        // Any other 4xx would be the answer to the same request again.
        if (status >= 400 && status < 500 && status !== 429) {
          throw new SignInError('refused', trouble);
        }
        if (tries === START_TRIES) {
          throw new SignInError(status === 429 ? 'rate_limited' : 'unreachable', trouble);
        }
        watch.onRetry(trouble);
        await pause(retryMs, signal);
      }
    },

    async waitForTokens(signIn) {
      const { expiresAtMs } = signIn;
      while (performance.now() < expiresAtMs) {
        const askedAtMs = performance.now();
        const timeoutMs = Math.min(POLL_TIMEOUT_MS, expiresAtMs - askedAtMs);
        const answer = await ask(resultUrl(signIn, 'progress=1'), timeoutMs);
        const { status, json, trouble, retryMs } = answer;
        if (status === 410) break;
        if (status === 200 && typeof json.error === 'string') {
          throw new SignInError(json.error as Failure);
        }
        if (status === 200 && typeof json.accessToken === 'string') return json as Tokens;
        if (status === 200 && json.progress === 'opened') watch.onOpened();
        // 204 means that the user has not signed in yet. It takes 50 s, but less while the relay restarts.
        const isGood = status === 200 || status === 204;
        if (!isGood) watch.onRetry(trouble);
        const againAtMs = isGood ? askedAtMs + MIN_POLL_MS : performance.now() + retryMs;
        await pause(Math.min(againAtMs, expiresAtMs) - performance.now(), signal);
      }
      throw new SignInError('expired');
    },

    async acknowledge(signIn) {
      for (let tries = 1; tries <= ACKNOWLEDGE_TRIES; tries += 1) {
        const url = resultUrl(signIn, 'ack=1');
        const status = await askWithoutSignal(request, url, ACKNOWLEDGE_TIMEOUT_MS);
        if (status === 204 || status === 410) return;
      }
    },

    async cancel(signIn) {
      await askWithoutSignal(request, resultUrl(signIn, 'cancel=1'), CANCEL_TIMEOUT_MS);
    },
  };
}

/** The status; 0 without a response. For what is done although everything else is cancelled. */
async function askWithoutSignal(request: typeof fetch, url: string, timeoutMs: number) {
  try {
    const response = await request(url, { signal: AbortSignal.timeout(timeoutMs) });
    await response.body?.cancel();
    return response.status;
  } catch {
    return 0;
  }
}

function readSignIn(json: Readonly<Record<string, unknown>>, relayUrl: string): SignIn {
  const { session, url, expiresIn, link, userCode } = json;
  if (typeof session !== 'string' || typeof url !== 'string' || typeof expiresIn !== 'number') {
    throw new SignInError('refused', 'what answers there is not a relay');
  }
  const hasCode = typeof link === 'string' && typeof userCode === 'string';
  return {
    session,
    expiresIn,
    expiresAtMs: performance.now() + expiresIn * 1_000,
    ...(hasCode ? { link, userCode, codePage: `${relayUrl}/link` } : { link: url }),
  };
}

function parseObject(text: string): Readonly<Record<string, unknown>> {
  const json: unknown = JSON.parse(text);
  if (typeof json !== 'object' || json === null) throw new TypeError('not an object');
  return json as Readonly<Record<string, unknown>>;
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const cancel = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', cancel);
      resolve();
    }, ms);
    signal.addEventListener('abort', cancel);
  });
}
