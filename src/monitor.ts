/**
 * The events that the metrics count. Implemented by the admin port (src/admin). Each method is
 * called where its event happens, and gets no secret and nothing that identifies a user.
 */

export type RateLimitKind = 'start' | 'refresh' | 'revoke' | 'code' | 'qr' | 'poll';

export interface FailureEvent {
  readonly event: string;
  readonly service: string;
  /** The id of the sign-in in the log. */
  readonly signIn: string | undefined;
  readonly hint: string;
}

export interface Monitor {
  started(service: string): void;
  /** The link was opened for the first time. */
  opened(service: string): void;
  calledBack(service: string): void;
  /** `outcome` is `granted`, `revoked` or the reason of the failure; `status` is 0 if there was no response. */
  answered(
    service: string,
    grant: 'exchange' | 'refresh' | 'revoke',
    outcome: string,
    status: number,
    tookMs: number,
  ): void;
  /** A result was delivered for the first time. */
  delivered(service: string, waitedMs: number): void;
  /** `outcome` is that of the log's `sign_in_finished`, or `cancelled`, or `expired`. */
  ended(service: string, outcome: string): void;
  expired(service: string, stage: string): void;
  rateLimited(kind: RateLimitKind): void;
  storeAnswered(tookMs: number): void;
  storeFailed(reason: 'refused' | 'unreachable'): void;
  failed(failure: FailureEvent): void;
}

const ignore = () => {};

/** Without an admin port. */
export const NO_MONITOR: Monitor = {
  started: ignore,
  opened: ignore,
  calledBack: ignore,
  answered: ignore,
  delivered: ignore,
  ended: ignore,
  expired: ignore,
  rateLimited: ignore,
  storeAnswered: ignore,
  storeFailed: ignore,
  failed: ignore,
};
