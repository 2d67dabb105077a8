/**
 * Requests to providers' token endpoints. Revocations (revocation.ts) share their limit on concurrent
 * requests, their connections, and the distrust of every response.
 */
import { readAtMost } from '../body.ts';
import { EXCHANGE_TIMEOUT_MS, TOKEN_RESPONSE_BYTES, UPSTREAM_REQUESTS } from '../limits.ts';
import type { Grant, Monitor, UpstreamOutcome } from '../monitor.ts';
import {
  type Clock,
  createDeadlineQueue,
  type Deadline,
  type DeadlineQueue,
} from '../sign-ins/time.ts';
import { type Fetch, type ProviderConfig, type ProviderResponse, USER_AGENT } from './config.ts';
import { codeOf, describeConnectProblem } from './connect-problem.ts';
import { basicCredentials, formEncode } from './credentials.ts';
import {
  type Failed,
  failed,
  readTokens,
  type TokenFailure,
  type TokenOutcome,
  type TokenResponse,
} from './token-response.ts';

/** One provider may use a quarter of UPSTREAM_REQUESTS: even if three hang, a quarter is left for the others. */
export const PROVIDER_SHARES = 4;

/** Concurrent requests reserved for discovery. */
export const RESERVED_FOR_DISCOVERY = 16;

export interface TokenRequest {
  readonly url: string;
  readonly method: 'POST' | 'DELETE';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** For the metrics. */
  readonly grant: Grant;
}

export interface TokenEndpointOptions {
  readonly fetch: Fetch;
  readonly clock: Clock;
  /** How many requests the runtime sends at once. More would wait. Default: no limit. */
  readonly fetchesAtOnce?: number | undefined;
  /** Called when a request is over the limit. */
  readonly onFull?: () => void;
  readonly monitor: Monitor;
}

export class TokenEndpoint {
  readonly #options: TokenEndpointOptions;
  /**
   * Origins that have responded. Keep-alive connections save a TLS handshake, which
   * costs more than the rest of a sign-in. A provider may close one just as it is reused. Then
   * it is unknown whether the request arrived, and the relay repeats it once over a new
   * connection. This loses nothing, although a code can be spent only once: if the first
   * request did arrive, its response is lost and the second request is refused. The result is
   * `exchange_failed`, as it would be without the repeat. A revocation does no harm twice, and a
   * refresh without a response would be repeated by the device.
   * Never repeated: a request to an origin that has not responded before, and one with a
   * partial response.
   */
  readonly #answered = new Set<string>();
  readonly #deadlines: DeadlineQueue;
  readonly #maxInProgress: number;
  readonly #inProgress = new Map<string, number>();
  #allInProgress = 0;

  constructor(options: TokenEndpointOptions) {
    this.#options = options;
    this.#deadlines = createDeadlineQueue(options.clock, EXCHANGE_TIMEOUT_MS);
    const { fetchesAtOnce = Number.POSITIVE_INFINITY } = options;
    const available = fetchesAtOnce - RESERVED_FOR_DISCOVERY;
    this.#maxInProgress = Math.max(1, Math.min(UPSTREAM_REQUESTS, available));
  }

  /** Calls `send`, which sends one request. Undefined at the limit for that provider or for all together. */
  async withinLimit<T>(provider: string, send: () => Promise<T>): Promise<T | undefined> {
    const own = this.#inProgress.get(provider) ?? 0;
    const maxOfProvider = Math.ceil(this.#maxInProgress / PROVIDER_SHARES);
    if (this.#allInProgress >= this.#maxInProgress || own >= maxOfProvider) {
      this.#options.onFull?.();
      return undefined;
    }
    this.#inProgress.set(provider, own + 1);
    this.#allInProgress += 1;
    return send().finally(() => {
      this.#inProgress.set(provider, (this.#inProgress.get(provider) ?? 1) - 1);
      this.#allInProgress -= 1;
    });
  }

  /**
   * Sends one request, follows no redirect, and returns the response as `parse` reads it, or why
   * there is none. Takes at most EXCHANGE_TIMEOUT_MS, to the last byte of the response. Never
   * rejects: an error of fetch may contain secrets.
   */
  async send<Outcome extends { readonly ok: true } | Failed>(
    provider: ProviderConfig,
    { url, grant, ...request }: TokenRequest,
    parse: (answer: TokenResponse) => Outcome,
  ): Promise<Outcome | Failed> {
    const { clock, monitor } = this.#options;
    const startedAtMs = clock.now();
    const controller = new AbortController();
    const deadline: Deadline = { dueAtMs: 0, onDue: () => controller.abort() };
    this.#deadlines.add(deadline);
    let outcome: Outcome | Failed;
    try {
      const { response, reset } = await this.#fetch(url, request, controller.signal);
      const { status, headers } = response;
      const text = await readText(response);
      outcome = parse({ status, headers, text, receivedAtMs: clock.now() });
      // The first request arrived and spent the code, so the reset is the cause of the failure.
      const isSpent = !outcome.ok && outcome.failure.refusal === 'invalid_grant';
      if (reset !== undefined && grant === 'exchange' && isSpent) {
        outcome = failed(describeFailure(reset, controller.signal));
      }
    } catch (error) {
      outcome = failed(describeFailure(error, controller.signal));
    } finally {
      this.#deadlines.cancel(deadline);
    }
    const tookMs = clock.now() - startedAtMs;
    monitor.providerResponded(provider.name, grant, describeOutcome(grant, outcome), tookMs);
    return outcome;
  }

  /** `reset`: the error of the first request, if it was repeated. */
  async #fetch(
    url: string,
    request: Pick<TokenRequest, 'method' | 'headers' | 'body'>,
    signal: AbortSignal,
  ): Promise<{ readonly response: ProviderResponse; readonly reset?: unknown }> {
    const { fetch } = this.#options;
    // A followed 307 would send the code and the secret to another server. RFC 9700 §4.12.
    const init = { ...request, redirect: 'manual', signal } as const;
    const { origin } = new URL(url);
    try {
      const response = await fetch(url, init);
      this.#answered.add(origin);
      return { response };
    } catch (reset) {
      if (!this.#answered.has(origin) || !RESETS.has(codeOf(reset))) throw reset;
      return { response: await fetch(url, { ...init, keepalive: false }), reset };
    }
  }
}

/** Sends a grant (RFC 6749 §4.1.3, §6) and the client's authentication, once. Never rejects. */
export function requestTokens(
  endpoint: TokenEndpoint,
  provider: ProviderConfig,
  grant: 'exchange' | 'refresh',
  form: string,
  hasScope = false,
): Promise<TokenOutcome> {
  const request = {
    url: (grant === 'refresh' && provider.refreshUrl) || provider.tokenUrl,
    grant,
    method: 'POST',
    headers: headersFor(provider),
    body: encodeBody(provider, form + credentialsInBody(provider)),
  } as const;
  return endpoint.send(provider, request, (answer) =>
    readTokens(answer, provider, { grant, hasScope }),
  );
}

/** The outcome for the metrics: if the provider decided, the error that a device gets; otherwise the reason. */
function describeOutcome(grant: Grant, outcome: { readonly ok: true } | Failed): UpstreamOutcome {
  if (!outcome.ok) return outcome.failure.refusal ?? outcome.failure.reason;
  return grant === 'revoke' ? 'revoked' : 'granted';
}

function describeFailure(error: unknown, { aborted }: AbortSignal): TokenFailure {
  if (aborted) return { reason: 'timeout' };
  // The body does not match its Content-Encoding.
  if (/^(Z_|ERR__ERROR_)/.test(codeOf(error))) return { reason: 'not_json', answer: 'compressed' };
  return { reason: 'unreachable', ...describeConnectProblem(error) };
}

const RESETS: ReadonlySet<unknown> = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']);

const HEADERS = {
  // Otherwise fetch adds a charset.
  'Content-Type': 'application/x-www-form-urlencoded',
  Accept: 'application/json',
  // Some providers compress anyway. Such a response is decoded as it is read, up to the limit.
  'Accept-Encoding': 'identity',
  'User-Agent': USER_AGENT,
} as const;

export function headersFor(provider: ProviderConfig): Record<string, string> {
  const { clientId, quirks: { tokenRequest, clientIdHeader, userAgent } = {} } = provider;
  return {
    ...HEADERS,
    ...(usesBasic(provider) && { Authorization: `Basic ${basicCredentials(provider)}` }),
    ...(tokenRequest === 'json' && { 'Content-Type': 'application/json' }),
    ...(clientIdHeader !== undefined && { [clientIdHeader]: clientId }),
    ...(userAgent !== undefined && { 'User-Agent': userAgent }),
  };
}

export function encodeBody({ quirks }: ProviderConfig, form: string): string {
  if (quirks?.tokenRequest !== 'json') return form;
  return JSON.stringify(Object.fromEntries(new URLSearchParams(form)));
}

/** True if the client authenticates by HTTP Basic. A request must not authenticate in two ways. RFC 6749 §2.3. */
function usesBasic({ clientAuth, clientSecret }: ProviderConfig): boolean {
  return clientAuth === 'basic' && clientSecret !== undefined;
}

export function credentialsInBody(provider: ProviderConfig): string {
  if (usesBasic(provider)) return '';
  const id = `&client_id=${formEncode(provider.clientId)}`;
  if (provider.clientSecret === undefined) return id;
  return `${id}&client_secret=${formEncode(provider.clientSecret)}`;
}

/** Undefined when it is longer than TOKEN_RESPONSE_BYTES. */
function readText(response: ProviderResponse): Promise<string | undefined> {
  if (isShort(response) || response.body === null) return response.text();
  const reading = readAtMost(response.body.getReader(), TOKEN_RESPONSE_BYTES);
  return reading.then(({ text, isTruncated }) => (isTruncated ? undefined : text));
}

/** True if Content-Length is within the limit. It cannot be trusted if the body is chunked (RFC 9112 §6.3) or compressed. */
function isShort({ headers }: ProviderResponse): boolean {
  const length = headers.get('content-length');
  const isExact = !headers.has('transfer-encoding') && !headers.has('content-encoding');
  return isExact && length !== null && Number(length) <= TOKEN_RESPONSE_BYTES;
}
