/** One POST to a provider's token address, its answer believed in nothing. `protocol.md` §4, Code exchange. */
import { Buffer } from 'node:buffer';
import { EXCHANGE_TIMEOUT_MS, TOKEN_RESPONSE_BYTES } from '../limits.ts';
import type { Clock } from '../relay/clock.ts';
import { createDeadlines } from '../relay/deadlines.ts';
import type { TokenResult } from '../relay/session.ts';
import { readAtMost } from './body.ts';
import type { Provider } from './provider.ts';

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** Why no tokens came, in words that are safe to log and to tell. */
export interface TokenFailure {
  readonly reason: 'timeout' | 'unreachable' | 'status' | 'too_large' | 'not_json' | 'no_token';
  readonly status?: number;
  /** The provider's `error`, where it is one of RFC 6749 §5.2. */
  readonly providerError?: ProviderError;
  /** What a refresh that failed so means to the device. Absent: nothing is known of its token. */
  readonly refusal?: ProviderError;
}

export type TokenOutcome =
  | { readonly ok: true; readonly tokens: TokenResult }
  | { readonly ok: false; readonly failure: TokenFailure };

/**
 * Sends a grant (RFC 6749 §4.1.3, §6) with the client's authentication added,
 * once: never redirected, never repeated here (kept-connections.ts says when
 * `fetch` does), over within the timeout counting the last byte of the answer.
 * Never rejects: an error of fetch holds the address, and may hold more.
 */
export type RequestTokens = (provider: Provider, grant: URLSearchParams) => Promise<TokenOutcome>;

export interface RequestTokensOptions {
  /** False: each request has a connection of its own. */
  readonly keepAlive?: boolean;
  readonly timeoutMs?: number;
}

/** All requests share one timer: one each is a twentieth of what a sign-in costs. */
export function createRequestTokens(
  fetch: Fetch,
  clock: Clock,
  { keepAlive = true, timeoutMs = EXCHANGE_TIMEOUT_MS }: RequestTokensOptions = {},
): RequestTokens {
  const deadlines = createDeadlines(clock, timeoutMs);
  return async (provider, grant) => {
    const timeout = new AbortController();
    const wait = deadlines.add(() => timeout.abort());
    try {
      const response = await fetch(provider.tokenUrl, {
        method: 'POST',
        // Bun heeds the option, Node the header.
        headers: { ...headersFor(provider), ...(!keepAlive && { Connection: 'close' }) },
        keepalive: keepAlive,
        body: authenticate(provider, grant).toString(),
        // A followed 307 would carry the code and the secret to another address. RFC 9700 §4.12.
        redirect: 'manual',
        signal: timeout.signal,
      });
      return parseAnswer(response.status, await readAtMost(response, TOKEN_RESPONSE_BYTES));
    } catch {
      return failed({ reason: timeout.signal.aborted ? 'timeout' : 'unreachable' });
    } finally {
      deadlines.callOff(wait);
    }
  };
}

function headersFor(provider: Provider): Record<string, string> {
  return {
    // Said here, because URLSearchParams as a body adds a charset.
    'Content-Type': 'application/x-www-form-urlencoded',
    Accept: 'application/json',
    // A compressed answer could be a thousand times its size.
    'Accept-Encoding': 'identity',
    ...(usesBasic(provider) && { Authorization: basicFor(provider) }),
  };
}

/** One way of authenticating in one request. RFC 6749 §2.3. */
function authenticate(provider: Provider, grant: URLSearchParams): URLSearchParams {
  if (usesBasic(provider)) return grant;
  grant.set('client_id', provider.clientId);
  if (provider.clientSecret !== undefined) grant.set('client_secret', provider.clientSecret);
  return grant;
}

function usesBasic(provider: Provider): boolean {
  return provider.clientAuth === 'basic' && provider.clientSecret !== undefined;
}

/** RFC 6749 §2.3.1: both halves are form-encoded first. */
function basicFor({ clientId, clientSecret = '' }: Provider): string {
  const credentials = `${formEncode(clientId)}:${formEncode(clientSecret)}`;
  return `Basic ${Buffer.from(credentials).toString('base64')}`;
}

function formEncode(text: string): string {
  return new URLSearchParams([['', text]]).toString().slice(1);
}

function parseAnswer(status: number, text: string | undefined): TokenOutcome {
  const answer = text === undefined ? undefined : parseObject(text);
  const tokens = status === 200 && answer !== undefined ? parseTokens(answer) : undefined;
  if (tokens !== undefined) return { ok: true, tokens };
  const providerError = ERROR_CODES.find((code) => code === answer?.error);
  const refusal = findRefusal(status, answer, providerError);
  const said = { ...(providerError && { providerError }), ...(refusal && { refusal }) };
  if (status !== 200) return failed({ reason: 'status', status, ...said });
  if (text === undefined) return failed({ reason: 'too_large' });
  return failed({ reason: answer === undefined ? 'not_json' : 'no_token', ...said });
}

/**
 * A device throws its tokens away at `invalid_grant`, so that takes the
 * provider's own word. A 401 without one speaks of the client, such as a secret
 * that was rotated (RFC 6749 §5.2). Anything else is no verdict.
 */
function findRefusal(
  status: number,
  answer: Record<string, unknown> = {},
  providerError: ProviderError | undefined,
): ProviderError | undefined {
  if (status >= 500 || status === 429) return undefined;
  if (DEAD_TOKEN_ANSWERS.some((words) => isPartOf(answer, words))) return 'invalid_grant';
  if (providerError !== undefined) return providerError;
  return status === 401 && !COME_AGAIN.has(answer.error) ? 'invalid_client' : undefined;
}

function isPartOf(answer: Record<string, unknown>, words: Record<string, string>): boolean {
  return Object.entries(words).every(([name, value]) => answer[name] === value);
}

/** What some providers say in place of `invalid_grant`. None says it of a wrong client id or secret. */
const DEAD_TOKEN_ANSWERS: readonly Record<string, string>[] = [
  // PHP League's server up to version 8, which MyAnimeList, AniList and Laravel Passport are made with.
  { error: 'invalid_request', hint: 'Token has expired' },
  { error: 'invalid_request', hint: 'Token has been revoked' },
  // GitHub, Slack, Twitch.
  { error: 'bad_refresh_token' },
  { error: 'invalid_refresh_token' },
  { message: 'Invalid refresh token' },
];

/** Errors of RFC 6749 §4.1.2.1, RFC 8628 §3.5 and of use elsewhere, that pass. */
const COME_AGAIN: ReadonlySet<unknown> = new Set([
  'temporarily_unavailable',
  'server_error',
  'slow_down',
  'rate_limit_exceeded',
  'too_many_requests',
]);

/** `protocol.md` §2: what is empty or zero is left out. A lifetime that is no whole number is no lifetime. */
function parseTokens(answer: Record<string, unknown>): TokenResult | undefined {
  const { access_token: accessToken, refresh_token: refreshToken } = answer;
  const { token_type: tokenType, scope, id_token: idToken } = answer;
  if (!isFilled(accessToken)) return undefined;
  const expiresIn = parseSeconds(answer.expires_in);
  return {
    accessToken,
    ...(isFilled(refreshToken) && { refreshToken }),
    ...(expiresIn !== undefined && { expiresIn }),
    ...(isFilled(tokenType) && { tokenType }),
    ...(isFilled(scope) && { scope }),
    ...(isFilled(idToken) && { idToken }),
  };
}

/** Some providers write the number as a string. */
function parseSeconds(value: unknown): number | undefined {
  const seconds = typeof value === 'string' ? Number(value) : value;
  return typeof seconds === 'number' && Number.isSafeInteger(seconds) && seconds > 0
    ? seconds
    : undefined;
}

function isFilled(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

function failed(failure: TokenFailure): TokenOutcome {
  return { ok: false, failure };
}

/** RFC 6749 §5.2, and nothing else: a provider's own words could hold anything. */
const ERROR_CODES = [
  'invalid_request',
  'invalid_client',
  'invalid_grant',
  'unauthorized_client',
  'unsupported_grant_type',
  'invalid_scope',
] as const;

export type ProviderError = (typeof ERROR_CODES)[number];
