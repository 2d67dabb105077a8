/**
 * The life of one sign-in: states and transitions, pure. No I/O, no clock, no
 * HTTP. Every store moves its sessions by this table and by nothing else.
 */
import { EXCHANGE_LEASE_MS } from '../limits.ts';

/** What the device is handed after a sign-in. `protocol.md` §2, Token result. */
export interface TokenResult {
  readonly accessToken: string;
  readonly refreshToken?: string;
  /** Seconds. */
  readonly expiresIn?: number;
  /* As the provider gave them, for the door of RFC 8628 alone. RFC 6749 §5.1. */
  readonly tokenType?: string;
  readonly scope?: string;
  readonly idToken?: string;
}

/** What the device is told when there was none. `protocol.md` §2, Error result. */
export interface ErrorResult {
  readonly error: 'access_denied' | 'authorization_failed' | 'missing_code' | 'exchange_failed';
}

export type SessionResult = TokenResult | ErrorResult;

interface SessionCore {
  readonly service: string;
  /** SHA-256 of the poll secret: all that is kept of it. `protocol.md` §5. */
  readonly pollDigest: string;
  readonly startedAtMs: number;
  /** The last millisecond at which the session is alive. */
  readonly expiresAtMs: number;
  /** For so long after the first delivery the device may ask again, or until it acknowledges. Absent: once. */
  readonly repeatMs?: number;
  /** An error may be asked for until the session expires: it is no secret. */
  readonly keepsErrors?: boolean;
}

/** What only a session that waits for its person needs. */
interface Waiting {
  readonly verifier?: string;
  /** Until somebody has used it. */
  readonly userCode?: string;
  /** What the device calls itself. */
  readonly deviceName?: string;
}

export type Session = SessionCore &
  (
    | ({ readonly state: 'pending' } & Waiting)
    | { readonly state: 'exchanging'; readonly leaseEndsAtMs: number }
    | { readonly state: 'completed' | 'delivered'; readonly result: SessionResult }
  );

export type SessionEvent =
  /** The person opens the link. */
  | { readonly type: 'open' }
  /** The person goes on with the user code, or declines. */
  | { readonly type: 'use_code' }
  /** The provider sent the person back without a code. */
  | { readonly type: 'fail'; readonly result: ErrorResult }
  /** A code came: its holder, and nobody else, may take it to the provider. */
  | { readonly type: 'lease' }
  /** The lease's holder has the provider's answer. */
  | { readonly type: 'complete'; readonly result: SessionResult }
  /** The device takes the result. */
  | { readonly type: 'claim' }
  /** The device has the result. */
  | { readonly type: 'acknowledge' };

/** Why an event was refused. */
export type Refusal =
  | 'expired'
  | 'still_pending'
  | 'not_leased'
  | 'under_way'
  | 'already_completed'
  | 'not_delivered';

type State = Session['state'];

/**
 * `protocol.md` §3. An exchange is its own state so that a code is spent once:
 * between 'pending' and 'completed' nobody else may begin one. A link whose
 * exchange is under way leads nowhere any more, so opening it is refused too.
 */
const TRANSITIONS = {
  pending: {
    open: 'pending',
    use_code: 'pending',
    fail: 'completed',
    lease: 'exchanging',
    complete: 'not_leased',
    claim: 'still_pending',
    acknowledge: 'not_delivered',
  },
  exchanging: {
    open: 'under_way',
    use_code: 'under_way',
    fail: 'under_way',
    lease: 'under_way',
    complete: 'completed',
    claim: 'still_pending',
    acknowledge: 'not_delivered',
  },
  completed: {
    open: 'already_completed',
    use_code: 'already_completed',
    fail: 'already_completed',
    lease: 'already_completed',
    complete: 'already_completed',
    claim: 'delivered',
    acknowledge: 'not_delivered',
  },
  delivered: {
    open: 'already_completed',
    use_code: 'already_completed',
    fail: 'already_completed',
    lease: 'already_completed',
    complete: 'already_completed',
    claim: 'delivered',
    acknowledge: 'acknowledged',
  },
} as const satisfies Record<State, Record<SessionEvent['type'], State | 'acknowledged' | Refusal>>;

export type Transition =
  /** `from` is the session as it stood at `nowMs`; `to` is absent once it is gone. */
  | { readonly ok: true; readonly from: Session; readonly to: Session | undefined }
  | { readonly ok: false; readonly refusal: Refusal };

/** Moves a session by one event, or says why not. Never changes its argument. */
export function transition(session: Session, event: SessionEvent, nowMs: number): Transition {
  if (isExpired(session, nowMs)) return { ok: false, refusal: 'expired' };
  const from = settle(session, nowMs);
  const target = TRANSITIONS[from.state][event.type];
  switch (target) {
    case 'pending':
      return { ok: true, from, to: event.type === 'use_code' ? withoutCode(from) : from };
    case 'exchanging':
      return {
        ok: true,
        from,
        to: { ...core(from), state: 'exchanging', leaseEndsAtMs: nowMs + EXCHANGE_LEASE_MS },
      };
    case 'completed':
      return { ok: true, from, to: complete(from, resultOf(event)) };
    case 'delivered':
      return { ok: true, from, to: deliver(from, nowMs) };
    case 'acknowledged':
      return { ok: true, from, to: undefined };
    default:
      return { ok: false, refusal: target };
  }
}

/** Alive up to and including its lifetime; older is gone, swept or not. `protocol.md` §3. */
export function isExpired(session: Session, nowMs: number): boolean {
  return nowMs > session.expiresAtMs;
}

/** A lease that ran out means that its holder died: the code is spent, the tokens are lost. */
function settle(session: Session, nowMs: number): Session {
  return session.state === 'exchanging' && nowMs > session.leaseEndsAtMs
    ? complete(session, { error: 'exchange_failed' })
    : session;
}

/** Names the fields that stay, so that the verifier never outlives its use. */
function core(session: Session): SessionCore {
  const { service, pollDigest, startedAtMs, expiresAtMs, repeatMs, keepsErrors } = session;
  return {
    ...{ service, pollDigest, startedAtMs, expiresAtMs },
    ...(repeatMs !== undefined && { repeatMs }),
    ...(keepsErrors && { keepsErrors }),
  };
}

function withoutCode(session: Session): Session {
  if (session.state !== 'pending') return session;
  const { userCode: _, ...rest } = session;
  return rest;
}

/** Delivered once and removed, unless the device may ask again. A kept error leaves the session as it is. */
function deliver(session: Session, nowMs: number): Session | undefined {
  if (session.state === 'delivered') return session;
  if (session.state !== 'completed') return undefined;
  if (session.keepsErrors && 'error' in session.result) return session;
  if (session.repeatMs === undefined) return undefined;
  return { ...session, state: 'delivered', expiresAtMs: nowMs + session.repeatMs };
}

function complete(session: Session, result: SessionResult): Session {
  return { ...core(session), state: 'completed', result };
}

function resultOf(event: SessionEvent): SessionResult {
  if (event.type === 'fail' || event.type === 'complete') return event.result;
  throw new TypeError(`'${event.type}' completes nothing`);
}
