/**
 * What happens, told to whoever counts it: the admin port (src/admin), or nobody. Every
 * method is called where the event happens, with nothing that identifies a user and no
 * secret. The relay works the same whether anybody listens.
 */

export type RateLimitKind = 'start' | 'refresh' | 'code' | 'qr' | 'poll';

export interface FailureEvent {
  readonly event: string;
  readonly service: string;
  /** The id of the sign-in, as in the log. */
  readonly signIn: string | undefined;
  readonly hint: string;
}

export interface Monitor {
  started(service: string): void;
  /** The link was opened for the first time. */
  opened(service: string): void;
  calledBack(service: string): void;
  /** `outcome` is `granted` or the reason of the failure; `status` 0 without an answer. */
  answered(
    service: string,
    grant: 'exchange' | 'refresh',
    outcome: string,
    status: number,
    tookMs: number,
  ): void;
  /** A result was delivered for the first time. */
  delivered(service: string, waitedMs: number): void;
  /** `outcome` as in the log's `sign_in_finished`; also `cancelled` and `expired`. */
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
