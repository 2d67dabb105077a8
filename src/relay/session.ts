/**
 * The life of one sign-in: its states, and one function for each event. Pure: no
 * I/O, no clock, no HTTP. A store changes a session only by these functions. The
 * scripts in stores/redis must have the same outcomes.
 *
 *                   pending        exchanging     completed          delivered          cancelled
 * find              pending        in_progress    already_completed  already_completed  cancelled
 * authorize         pending        in_progress    already_completed  already_completed  cancelled
 * fail              completed      in_progress    already_completed  already_completed  cancelled
 * lease             exchanging     in_progress    already_completed  already_completed  cancelled
 * complete          not_leased     completed      already_completed  already_completed  cancelled
 * takeOpenedNotice  pending        exchanging     nothing_to_report  nothing_to_report  nothing_to_report
 * claim             still_pending  still_pending  delivered          delivered          cancelled
 * acknowledge       early          early          early              acknowledged       cancelled
 * cancel            cancelled      cancelled      cancelled          already_completed  cancelled
 *
 * 'exchanging' is a lease, so that a code is spent once: only its holder may
 * complete the session. A lease that ran out means that its holder failed, so the
 * session is then 'completed' with `exchange_failed`. An expired session refuses
 * every event.
 */
import { EXCHANGE_LEASE_MS } from '../limits.ts';

/** What a device receives after a sign-in. */
export interface TokenResult {
  readonly accessToken: string;
  readonly refreshToken?: string;
  readonly expiresIn?: number;
  /* As the provider gave them. Passed on by the device grant (RFC 6749 §5.1), and with `details`. */
  readonly tokenType?: string;
  readonly scope?: string;
  readonly idToken?: string;
  /** The device asked for these three too. */
  readonly details?: true;
}

/** What a device with its own challenge receives: it exchanges the code itself. */
export interface CodeResult {
  readonly code: string;
  readonly tokenUrl: string;
  readonly clientId: string;
  readonly redirectUri: string;
  /** Absent: the provider has none that a device can use. */
  readonly revocationUrl?: string;
}

/** What the client of an open sign-in receives: the query of the callback, and where that was. docs/open.md. */
export interface CallbackResult {
  readonly callback: Readonly<Record<string, string>>;
  readonly redirectUri: string;
}

/** What a device receives instead of tokens. */
export interface ErrorResult {
  readonly error: 'access_denied' | 'authorization_failed' | 'missing_code' | 'exchange_failed';
}

export type SessionResult = TokenResult | CodeResult | CallbackResult | ErrorResult;

/** What a page says about a sign-in that cannot be continued. 'in_progress': the provider's code is being exchanged. */
export type SessionOutcome = 'in_progress' | 'signed_in' | 'access_denied' | 'failed' | 'cancelled';

/** How far an expired session came: its link was not opened, its user did not come back from the provider, or its result was not fetched. */
export type ExpiredStage = 'started' | 'opened' | 'called_back';

interface Common {
  readonly service: string;
  /** SHA-256 of the poll secret: all that is kept of it. */
  readonly pollDigest: string;
  readonly startedAtMs: number;
  /** The last millisecond at which the session is alive. */
  readonly expiresAtMs: number;
  /** How long after its first delivery the result may be claimed again, unless it is acknowledged. Undefined: it is claimed once. */
  readonly repeatMs: number | undefined;
  /** An error may be claimed until the session expires, because it is not secret. */
  readonly keepsErrors: boolean;
  readonly userCode: string | undefined;
  /** When the user was first redirected to the provider, and whether the device was notified. */
  readonly opening: { readonly atMs: number; readonly isReported: boolean } | undefined;
}

export interface Pending extends Common {
  readonly state: 'pending';
  readonly verifier: string | undefined;
  /* As in NewSession. */
  readonly challenge?: string | undefined;
  readonly authorizationUrl?: string | undefined;
  readonly details?: boolean;
  readonly deviceName: string | undefined;
}

export interface Exchanging extends Common {
  readonly state: 'exchanging';
  readonly leaseEndsAtMs: number;
}

export interface Completed extends Common {
  readonly state: 'completed';
  readonly result: SessionResult;
  readonly completedAtMs: number;
}

export interface Delivered extends Common {
  readonly state: 'delivered';
  readonly result: SessionResult;
}

/** Ended by the device. Only what a page needs to say so is kept. */
export interface Cancelled extends Common {
  readonly state: 'cancelled';
}

export type Session = Pending | Exchanging | Completed | Delivered | Cancelled;

/** Why an event was refused. */
export type SessionRefusal =
  | 'expired'
  | 'in_progress'
  | 'already_completed'
  | 'not_leased'
  | 'still_pending'
  | 'nothing_to_report'
  | 'cancelled';

/**
 * How far an expired session came. Undefined if it was cancelled or delivered, or may
 * have been delivered: an error that stays until the session expires.
 */
export function stageOf(session: Session): ExpiredStage | undefined {
  switch (session.state) {
    case 'pending':
      return session.opening === undefined ? 'started' : 'opened';
    case 'exchanging':
      return 'called_back';
    case 'completed':
      return session.keepsErrors && 'error' in session.result ? undefined : 'called_back';
    case 'delivered':
    case 'cancelled':
      return undefined;
  }
}

/** A session is alive up to and including its last millisecond. Expiry does not depend on removal. */
export function isExpired(session: Session, nowMs: number): boolean {
  return nowMs > session.expiresAtMs;
}

/** The time until a live session changes by itself: it has expired, or its lease has run out. */
export function endsInMs(session: Session, nowMs: number): number {
  const { expiresAtMs } = session;
  const { leaseEndsAtMs = expiresAtMs } = session as Partial<Exchanging>;
  return Math.min(leaseEndsAtMs, expiresAtMs) + 1 - nowMs;
}

/** Changes nothing: a link preview may call it. */
export function find(session: Session, nowMs: number): Pending | SessionRefusal {
  const current = stateAt(session, nowMs);
  return current?.state === 'pending' ? current : refusalOf(current);
}

/** Undefined while the session is pending, and once it has expired. */
export function outcomeOf(session: Session, nowMs: number): SessionOutcome | undefined {
  const current = stateAt(session, nowMs);
  switch (current?.state) {
    case undefined:
    case 'pending':
      return undefined;
    case 'exchanging':
      return 'in_progress';
    case 'cancelled':
      return 'cancelled';
    case 'completed':
    case 'delivered':
      return outcomeOfResult(current.result);
  }
}

export function outcomeOfResult(result: SessionResult): SessionOutcome {
  if (!('error' in result)) return 'signed_in';
  return result.error === 'access_denied' ? 'access_denied' : 'failed';
}

/** The user is redirected to the provider. The first time is recorded. */
export function authorize(session: Session, nowMs: number): Pending | SessionRefusal {
  const pending = find(session, nowMs);
  if (typeof pending === 'string' || pending.opening !== undefined) return pending;
  return { ...pending, opening: { atMs: nowMs, isReported: false } };
}

/** The sign-in ended without an authorization code. */
export function fail(
  session: Session,
  error: ErrorResult,
  nowMs: number,
): Completed | SessionRefusal {
  const pending = find(session, nowMs);
  return typeof pending === 'string' ? pending : completed(pending, error, nowMs);
}

/** There is an authorization code, which only the caller may exchange. The verifier is not kept. */
export function lease(session: Session, nowMs: number): Exchanging | SessionRefusal {
  const pending = find(session, nowMs);
  if (typeof pending === 'string') return pending;
  return { ...commonOf(pending), state: 'exchanging', leaseEndsAtMs: nowMs + EXCHANGE_LEASE_MS };
}

/** The holder of the lease has a result. */
export function complete(
  session: Session,
  result: SessionResult,
  nowMs: number,
): Completed | SessionRefusal {
  const current = stateAt(session, nowMs);
  if (current?.state === 'pending') return 'not_leased';
  return current?.state === 'exchanging' ? completed(current, result, nowMs) : refusalOf(current);
}

/** Reports once to the device that the user has opened the link, unless there is a result already. */
export function takeOpenedNotice(
  session: Session,
  nowMs: number,
): Pending | Exchanging | SessionRefusal {
  const current = stateAt(session, nowMs);
  if (current === undefined) return 'expired';
  const isOpen = current.state === 'pending' || current.state === 'exchanging';
  const { opening } = current;
  if (!isOpen || opening === undefined || opening.isReported) return 'nothing_to_report';
  return { ...current, opening: { ...opening, isReported: true } };
}

/** The device ends the sign-in. Drops a verifier and tokens. What was delivered stays as it is. */
export function cancel(session: Session, nowMs: number): Cancelled | SessionRefusal {
  const current = stateAt(session, nowMs);
  if (current === undefined) return 'expired';
  if (current.state === 'delivered') return 'already_completed';
  if (current.state === 'cancelled') return current;
  return { ...commonOf(current), state: 'cancelled' };
}

export interface Claimed {
  readonly result: SessionResult;
  /** Undefined: the session is removed. */
  readonly next: Completed | Delivered | undefined;
}

/** The device claims the result. */
export function claim(
  session: Session,
  nowMs: number,
): Claimed | 'expired' | 'still_pending' | 'cancelled' {
  const current = stateAt(session, nowMs);
  switch (current?.state) {
    case undefined:
      return 'expired';
    case 'pending':
    case 'exchanging':
      return 'still_pending';
    case 'cancelled':
      return 'cancelled';
    case 'completed':
      return { result: current.result, next: afterDelivery(current, nowMs) };
    case 'delivered':
      return { result: current.result, next: current };
  }
}

/** The device confirms what it received, which removes the session. */
export function acknowledge(
  session: Session,
  nowMs: number,
): 'acknowledged' | 'early' | 'expired' | 'cancelled' {
  if (isExpired(session, nowMs)) return 'expired';
  if (session.state === 'cancelled') return 'cancelled';
  return session.state === 'delivered' ? 'acknowledged' : 'early';
}

function afterDelivery(session: Completed, nowMs: number): Completed | Delivered | undefined {
  if (session.keepsErrors && 'error' in session.result) return session;
  if (session.repeatMs === undefined) return undefined;
  return { ...session, state: 'delivered', expiresAtMs: nowMs + session.repeatMs };
}

/** The session as of now. Undefined once it has expired. */
function stateAt(session: Session, nowMs: number): Session | undefined {
  if (isExpired(session, nowMs)) return undefined;
  return session.state === 'exchanging' && nowMs > session.leaseEndsAtMs
    ? completed(session, { error: 'exchange_failed' }, session.leaseEndsAtMs)
    : session;
}

function refusalOf(current: Exclude<Session, Pending> | undefined): SessionRefusal {
  if (current === undefined) return 'expired';
  if (current.state === 'cancelled') return 'cancelled';
  return current.state === 'exchanging' ? 'in_progress' : 'already_completed';
}

function completed(
  session: Pending | Exchanging,
  result: SessionResult,
  completedAtMs: number,
): Completed {
  return { ...commonOf(session), state: 'completed', result, completedAtMs };
}

/** The fields that stay in every state, one by one, so that a verifier is never kept after its use. */
function commonOf(session: Common): Common {
  const { service, pollDigest, startedAtMs, expiresAtMs } = session;
  const { repeatMs, keepsErrors, userCode, opening } = session;
  return {
    service,
    pollDigest,
    startedAtMs,
    expiresAtMs,
    repeatMs,
    keepsErrors,
    userCode,
    opening,
  };
}
