/**
 * The life of one sign-in: its states, and one function for each event. Pure: no
 * I/O, no clock, no HTTP. A store changes a session only by these functions. The
 * scripts in stores/redis must have the same outcomes.
 *
 *             pending        exchanging     completed          delivered          cancelled
 * find        pending        in_progress    already_completed  already_completed  cancelled
 * authorize   pending        in_progress    already_completed  already_completed  cancelled
 * useCode     pending        in_progress    already_completed  already_completed  cancelled
 * fail        completed      in_progress    already_completed  already_completed  cancelled
 * lease       exchanging     in_progress    already_completed  already_completed  cancelled
 * complete    not_leased     completed      already_completed  already_completed  cancelled
 * tellOpened  pending        exchanging     not_to_be_told     not_to_be_told     not_to_be_told
 * claim       still_pending  still_pending  delivered          delivered          cancelled
 * acknowledge early          early          early              acknowledged       cancelled
 * cancel      cancelled      cancelled      cancelled          already_completed  cancelled
 *
 * 'exchanging' is a lease, so that a code is spent once: only its holder may
 * complete the session. A lease that ran out means that its holder failed, so the
 * session is then 'completed' with `exchange_failed`. An expired session refuses
 * every event. How far a sign-in came is its state and `opening`: not opened,
 * opened, called back (exchanging), completed and not delivered.
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
  /** The device asked for these three besides. */
  readonly details?: true;
}

/** What a device receives that brought its own challenge: it exchanges the code itself. */
export interface CodeResult {
  readonly code: string;
  readonly tokenUrl: string;
  readonly clientId: string;
  readonly redirectUri: string;
}

/** What a device receives in place of tokens. */
export interface ErrorResult {
  readonly error: 'access_denied' | 'authorization_failed' | 'missing_code' | 'exchange_failed';
}

export type SessionResult = TokenResult | CodeResult | ErrorResult;

/** How far a session came that expired: nobody opened its link, came back from the provider, or fetched its result. */
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
  /** Until it is used. It leads on only while the session is pending. */
  readonly userCode: string | undefined;
  /** When the user was first led on to the provider, and whether the device was told. */
  readonly opening: { readonly atMs: number; readonly isTold: boolean } | undefined;
}

export interface Pending extends Common {
  readonly state: 'pending';
  readonly verifier: string | undefined;
  /* As in NewSession. */
  readonly challenge?: string | undefined;
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

/** Ended by the device. Nothing is kept but what says so to the user. */
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
  | 'not_to_be_told'
  | 'cancelled';

/**
 * How far a session came that has expired, if its sign-in came to nothing. Undefined
 * if it was cancelled or delivered, or may have been: an error that stays.
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

/** Until the first millisecond at which a live session has expired. */
export function endsInMs(session: Session, nowMs: number): number {
  return session.expiresAtMs + 1 - nowMs;
}

/** Changes nothing: a link preview may ask. */
export function find(session: Session, nowMs: number): Pending | SessionRefusal {
  const current = stateAt(session, nowMs);
  return current?.state === 'pending' ? current : refusalOf(current);
}

/** The user is sent to the provider. The first time is recorded. */
export function authorize(session: Session, nowMs: number): Pending | SessionRefusal {
  const pending = find(session, nowMs);
  if (typeof pending === 'string' || pending.opening !== undefined) return pending;
  return { ...pending, opening: { atMs: nowMs, isTold: false } };
}

/** The user decides on the page of the user code, which uses the code up. The link goes on working. */
export function useCode(session: Session, nowMs: number): Pending | SessionRefusal {
  const pending = find(session, nowMs);
  return typeof pending === 'string' ? pending : { ...pending, userCode: undefined };
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

/** An authorization code came: only the caller may exchange it. The verifier is not kept. */
export function lease(session: Session, nowMs: number): Exchanging | SessionRefusal {
  const pending = find(session, nowMs);
  if (typeof pending === 'string') return pending;
  const { service, pollDigest, startedAtMs, expiresAtMs, repeatMs, keepsErrors } = pending;
  const { userCode, opening } = pending;
  const leaseEndsAtMs = nowMs + EXCHANGE_LEASE_MS;
  return {
    state: 'exchanging',
    service,
    pollDigest,
    startedAtMs,
    expiresAtMs,
    repeatMs,
    keepsErrors,
    userCode,
    opening,
    leaseEndsAtMs,
  };
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

/** The device is told, once, that the user has opened the link. A result says more, so it is not told after that. */
export function tellOpened(session: Session, nowMs: number): Pending | Exchanging | SessionRefusal {
  const current = stateAt(session, nowMs);
  if (current === undefined) return 'expired';
  const isOpen = current.state === 'pending' || current.state === 'exchanging';
  if (!isOpen || current.opening === undefined || current.opening.isTold) return 'not_to_be_told';
  return { ...current, opening: { ...current.opening, isTold: true } };
}

/** The device ends the sign-in. Drops a verifier and tokens. What was delivered stays as it is. */
export function cancel(session: Session, nowMs: number): Cancelled | SessionRefusal {
  const current = stateAt(session, nowMs);
  if (current === undefined) return 'expired';
  if (current.state === 'delivered') return 'already_completed';
  if (current.state === 'cancelled') return current;
  const { service, pollDigest, startedAtMs, expiresAtMs, repeatMs, keepsErrors } = current;
  const { userCode, opening } = current;
  return {
    state: 'cancelled',
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

export interface Claimed {
  readonly result: SessionResult;
  /** Undefined: the session is removed. */
  readonly next: Completed | Delivered | undefined;
}

/** The device takes the result. */
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

/** Lists the fields that stay, so that a verifier is never kept after its use. */
function completed(
  session: Pending | Exchanging,
  result: SessionResult,
  completedAtMs: number,
): Completed {
  const { service, pollDigest, startedAtMs, expiresAtMs, repeatMs, keepsErrors } = session;
  const { userCode, opening } = session;
  return {
    state: 'completed',
    service,
    pollDigest,
    startedAtMs,
    expiresAtMs,
    repeatMs,
    keepsErrors,
    userCode,
    opening,
    result,
    completedAtMs,
  };
}
