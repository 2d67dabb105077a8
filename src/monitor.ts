/**
 * The events that the metrics count. Implemented by the admin port (src/admin). Each method is
 * called where its event happens, and gets no secret and nothing that identifies a user.
 */

/*
 * Every value that a label can have. The metrics begin with all of them at 0: Prometheus
 * does not notice the first increase of a series that begins above it.
 */
export const GRANTS = ['exchange', 'refresh', 'revoke'] as const;
export const STAGES = ['started', 'opened', 'called_back'] as const;
export const RATE_LIMIT_KINDS = [
  'start',
  'open',
  'refresh',
  'revoke',
  'code',
  'qr',
  'poll',
] as const;
/** The kinds of failed requests: a start, any other of a device, or a browser's. */
export const REQUEST_KINDS = ['start', 'device', 'browser'] as const;
export const STORE_FAILURES = ['refused', 'unreachable'] as const;

/** The outcomes of the log's `sign_in_finished`, and `cancelled` by the device, and `expired`. */
export const SIGN_IN_OUTCOMES = [
  'signed_in',
  'access_denied',
  'declined',
  'cancelled',
  'authorization_failed',
  'missing_code',
  'exchange_failed',
  'expired',
] as const;

/** The errors of RFC 6749 §5.2, and the last one of RFC 7009 §2.2.1. Any other error of a provider may contain anything, so it is not logged or passed on as an error. */
export const TOKEN_ERRORS = [
  'invalid_request',
  'invalid_client',
  'invalid_grant',
  'unauthorized_client',
  'unsupported_grant_type',
  'invalid_scope',
  'unsupported_token_type',
] as const;

/** The outcome of a request to a provider: a success, one of these errors, or the `reason` in the log. */
export const UPSTREAM_OUTCOMES = [
  'granted',
  'revoked',
  ...TOKEN_ERRORS,
  'timeout',
  'unreachable',
  'status',
  'too_large',
  'not_json',
  'no_token',
] as const;

export type ProviderError = (typeof TOKEN_ERRORS)[number];
export type Grant = (typeof GRANTS)[number];
export type Stage = (typeof STAGES)[number];
export type RateLimitKind = (typeof RATE_LIMIT_KINDS)[number];
export type RequestKind = (typeof REQUEST_KINDS)[number];
export type StoreFailure = (typeof STORE_FAILURES)[number];
export type SignInOutcome = (typeof SIGN_IN_OUTCOMES)[number];
export type UpstreamOutcome = (typeof UPSTREAM_OUTCOMES)[number];

export interface FailureEvent {
  readonly event: string;
  /** Undefined if the failure is the store's. */
  readonly service: string | undefined;
  /** The id of the sign-in in the log. */
  readonly signIn: string | undefined;
  readonly hint: string;
  /** If a store refuses: the first word of its error, such as OOM. */
  readonly reason?: string | undefined;
}

export interface Monitor {
  started(service: string): void;
  /** The link was opened for the first time. */
  opened(service: string): void;
  calledBack(service: string): void;
  providerResponded(service: string, grant: Grant, outcome: UpstreamOutcome, tookMs: number): void;
  /** A result was delivered for the first time: tokens or what leads to them, or an error. */
  delivered(service: string, waitedMs: number, isError: boolean): void;
  ended(service: string, outcome: SignInOutcome): void;
  expired(service: string, stage: Stage): void;
  rateLimited(kind: RateLimitKind): void;
  /** The response was a 5xx, or after a fault the 204 or 400 that devices get instead. */
  requestFailed(kind: RequestKind): void;
  storeAnswered(tookMs: number): void;
  storeFailed(reason: StoreFailure): void;
  failed(failure: FailureEvent): void;
  /** The store's failures with this event and this reason have ended. */
  recovered(event: string, reason: string | undefined): void;
}

const ignore = () => {};

/** Counts nothing: there is no admin port. */
export const NO_MONITOR: Monitor = {
  started: ignore,
  opened: ignore,
  calledBack: ignore,
  providerResponded: ignore,
  delivered: ignore,
  ended: ignore,
  expired: ignore,
  rateLimited: ignore,
  requestFailed: ignore,
  storeAnswered: ignore,
  storeFailed: ignore,
  failed: ignore,
  recovered: ignore,
};
