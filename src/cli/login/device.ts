/**
 * A device: starts a sign-in at a relay and waits for its result. docs/protocol.md. It does
 * not depend on the terminal, nor on the relay's own code.
 */
import { Buffer } from 'node:buffer';

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

/** All members that the relay sent, except nested ones. */
export type Tokens = Readonly<Record<string, unknown>> & { readonly accessToken: string };

/** docs/protocol.md §3. */
const RELAY_ERRORS = [
  'access_denied',
  'authorization_failed',
  'missing_code',
  'exchange_failed',
] as const;

/** Why there are no tokens. */
export type Failure =
  | (typeof RELAY_ERRORS)[number]
  | 'expired'
  | 'refused'
  | 'rate_limited'
  | 'unreachable'
  | 'invalid_response';

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

/** Notified while the device waits. */
export interface Watch {
  /** Called before a retry, with what went wrong. */
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
  /** Ends the link. Never rejects. */
  cancel(signIn: SignIn): Promise<void>;
}

const START_TIMEOUT_MS = 10_000;
const START_TRIES = 5;
/** The relay holds a poll for 50 s. A client with a shorter timeout would never see a response. */
const POLL_TIMEOUT_MS = 65_000;
const MIN_POLL_MS = 1_000;
const RETRY_MS = 2_000;
/** Bounds of `Retry-After`: neither a busy loop nor a wait without an end. */
const [MIN_RETRY_MS, MAX_RETRY_MS] = [1_000, 60_000];
/** Tokens have 64 KiB at most (docs/protocol.md §6), and in JSON a character may take six. */
const MAX_BODY_BYTES = 393_216;
const SHOWN_BODY_CHARACTERS = 100;
/** The longest that SESSION_SECONDS can be. */
const MAX_SESSION_SECONDS = 86_400;
/** More than any terminal shows, and less than the 2,953 bytes that the largest QR code holds. */
const MAX_LINK_CHARACTERS = 2_048;
/** docs/protocol.md §8. */
const POLL_SECRET = /^[\w-]{24}$/;
/** docs/protocol.md §4.1. */
const USER_CODE = /^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/;
const ACKNOWLEDGE_TIMEOUT_MS = 5_000;
const ACKNOWLEDGE_TRIES = 3;
/** Short: the user who pressed Ctrl-C waits for it, and a relay that cannot cancel holds the request as a poll. */
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
  async function send(url: string, timeoutMs: number, body?: string) {
    const ending = new AbortController();
    const timeout = AbortSignal.timeout(Math.ceil(timeoutMs));
    const signals = AbortSignal.any([signal, ending.signal, timeout]);
    try {
      const sent = body === undefined ? AS_SENT : { ...AS_SENT, ...postOf(body) };
      const response = await request(url, { ...sent, signal: signals });
      const { status, headers } = response;
      const text = await readBody(response);
      return {
        status,
        // Throws when a captive portal answers 200 with its own page: that counts as no response.
        json: status === 200 ? parseObject(text) : {},
        trouble: `the relay answered ${status} ${describeBody(status, text, headers)}`.trim(),
        retryMs: retryMsOf(headers),
      };
    } catch {
      signal.throwIfAborted();
      return { status: 0, json: {}, trouble: 'the relay does not answer', retryMs: RETRY_MS };
    } finally {
      // Cancels the rest of the body.
      ending.abort();
    }
  }

  return {
    async start({ service, deviceName, details }) {
      const asked = { service, device: deviceName, code: true, ack: true };
      const body = JSON.stringify(details ? { ...asked, details } : asked);
      for (let tries = 1; ; tries += 1) {
        const startUrl = `${relayUrl}/auth/start`;
        const { status, json, trouble, retryMs } = await send(startUrl, START_TIMEOUT_MS, body);
        if (status === 200) return readSignIn(json, relayUrl);
        // A retry would get the same 4xx or redirect again.
        if (status >= 300 && status < 500 && status !== 429) {
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
        const response = await send(resultUrl(signIn, 'progress=1'), timeoutMs);
        const { status, json, trouble, retryMs } = response;
        if (status === 410) break;
        if (typeof json.error === 'string') {
          const { error } = json;
          const known = RELAY_ERRORS.find((each) => each === error);
          throw new SignInError(known ?? 'authorization_failed');
        }
        const tokens = readTokens(json);
        if (tokens !== undefined) return tokens;
        if (json.progress === 'opened') watch.onOpened();
        // 204: the user has not signed in yet. It comes after 50 s, or sooner if the relay restarts.
        const isGood = status === 204 || typeof json.progress === 'string';
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
  const ending = new AbortController();
  const signal = AbortSignal.any([ending.signal, AbortSignal.timeout(timeoutMs)]);
  try {
    return (await request(url, { ...AS_SENT, signal })).status;
  } catch {
    return 0;
  } finally {
    ending.abort();
  }
}

/**
 * A redirect is not followed: it could send a device's request to any server that the
 * device reaches. A body is not decompressed, since a short one may become a long one.
 */
const AS_SENT = {
  redirect: 'manual',
  decompress: false,
  headers: { 'Accept-Encoding': 'identity' },
} as const;

const postOf = (body: string) => ({
  method: 'POST',
  headers: { ...AS_SENT.headers, 'Content-Type': 'application/json' },
  body,
});

/** Rejects for a body of more than MAX_BODY_BYTES. */
async function readBody({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let lengthBytes = 0;
  for await (const chunk of body ?? []) {
    lengthBytes += chunk.byteLength;
    if (lengthBytes > MAX_BODY_BYTES) throw new RangeError('too long');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function describeBody(status: number, text: string, headers: Headers): string {
  // It may hold tokens.
  if (status === 200) return 'with an invalid body';
  const location = headers.get('Location');
  const shown = location === null ? text.trim() : `and redirects to ${location}`;
  return shown.slice(0, SHOWN_BODY_CHARACTERS);
}

function retryMsOf(headers: Headers): number {
  const askedMs = Number(headers.get('Retry-After')) * 1_000 || RETRY_MS;
  return Math.min(Math.max(askedMs, MIN_RETRY_MS), MAX_RETRY_MS);
}

type Members = Readonly<Record<string, unknown>>;

/** The response to a start, docs/protocol.md §2 and §4.1. Checked, because the user opens its link. */
function readSignIn(json: Members, relayUrl: string): SignIn {
  const { session, url, expiresIn, link, userCode } = json;
  if (typeof session !== 'string' || !POLL_SECRET.test(session)) {
    throw invalidMember('session', 'poll secret');
  }
  if (typeof expiresIn !== 'number' || !(expiresIn > 0 && expiresIn <= MAX_SESSION_SECONDS)) {
    throw invalidMember('expiresIn', `number of seconds up to ${MAX_SESSION_SECONDS}`);
  }
  const started = { session, expiresIn, expiresAtMs: performance.now() + expiresIn * 1_000 };
  const longLink = readLink('url', url);
  if (link === undefined || userCode === undefined) return { ...started, link: longLink };
  if (typeof userCode !== 'string' || !USER_CODE.test(userCode)) {
    throw invalidMember('userCode', 'code such as BCDF-GHJK');
  }
  return { ...started, link: readLink('link', link), userCode, codePage: `${relayUrl}/link` };
}

/** In ASCII, as browsers write it. */
function readLink(member: string, value: unknown): string {
  const isShort = typeof value === 'string' && value.length <= MAX_LINK_CHARACTERS;
  const url = isShort && URL.canParse(value) ? new URL(value) : undefined;
  const isWeb = url?.protocol === 'https:' || url?.protocol === 'http:';
  const { href = '', username, password } = url ?? {};
  if (!isWeb || username || password || href.length > MAX_LINK_CHARACTERS) {
    throw invalidMember(member, 'http or https link');
  }
  return href;
}

const invalidMember = (member: string, wanted: string) =>
  new SignInError('invalid_response', `its "${member}" is not a ${wanted}`);

/** Without nested members: no token is one, and a very deep one could not be written as JSON. */
function readTokens(json: Members): Tokens | undefined {
  const { accessToken } = json;
  if (typeof accessToken !== 'string' || accessToken === '') return undefined;
  const flat = Object.entries(json).filter(([, value]) => typeof value !== 'object');
  return { ...Object.fromEntries(flat), accessToken };
}

function parseObject(text: string): Members {
  const json: unknown = JSON.parse(text);
  if (typeof json !== 'object' || json === null) throw new TypeError('not an object');
  return json as Members;
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
