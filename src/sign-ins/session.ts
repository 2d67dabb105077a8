/**
 * The life of one sign-in: its states, and one function for each event. Pure: no I/O, no clock,
 * no HTTP. It is the only place that changes a session; a store keeps what an event returns. An
 * event may be tried several times before its change is stored, so it does nothing else.
 *
 *              pending                exchanging             completed              delivered             ended    cancelled
 * find         pending                in_progress            outcome                outcome               outcome  cancelled
 * open         pending                in_progress            outcome                outcome               outcome  cancelled
 * fail         pending > completed    in_progress            outcome                outcome               outcome  cancelled
 * lease        pending > exchanging   in_progress            outcome                outcome               outcome  cancelled
 * complete     true > completed       true > completed       outcome                outcome               outcome  cancelled
 * poll         pending                pending                delivered > delivered  delivered             gone     gone
 * acknowledge  early                  early                  early                  acknowledged > ended  gone     gone
 * cancel       cancelled > cancelled  cancelled > cancelled  cancelled > cancelled  gone                  gone     again
 *
 * A column is a state, a row an event. A cell has the reply and, after `>`, the next state; without
 * `>` the state stays. `outcome`: how the sign-in ended, for pages. A result that is delivered only
 * once leads straight to 'ended'; in 'delivered' it is delivered again to each poll.
 * 'ended' is a tombstone without secrets, so that pages can say how the sign-in ended.
 *
 * 'exchanging' is a lease, so that a code is spent once: only its holder calls `complete`, and may
 * do so for a pending session too, since a failover may lose the lease. A lease that ran out means
 * that its holder failed: the session is then completed with `exchange_failed`. An expired session
 * refuses every event.
 */
import { EXCHANGE_LEASE_MS } from '../limits.ts';

/** What a device receives after a sign-in. */
export interface TokenResult {
  readonly accessToken: string;
  readonly refreshToken?: string;
  readonly expiresIn?: number;
  /* These three are as the provider gave them, for the device grant (RFC 6749 §5.1), or with `details`. */
  readonly tokenType?: string;
  readonly scope?: string;
  readonly idToken?: string;
  /** The device asked for these three too. */
  readonly details?: true;
}

/** What a device that sent a challenge receives: it exchanges the code itself. */
export interface CodeResult {
  readonly code: string;
  readonly tokenUrl: string;
  readonly clientId: string;
  readonly redirectUri: string;
  /** Absent if the provider has none that a device can use. */
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

/** What a sign-in delivers, and what the relay needs for that. */
export type Delivery =
  | {
      readonly kind: 'tokens';
      /** The relay's. Absent if the provider has no PKCE. RFC 7636 §4.1. */
      readonly verifier?: string | undefined;
      /** The device asked for every field that the provider returns. */
      readonly details?: boolean | undefined;
    }
  /** Only the device has the verifier of this challenge. RFC 7636 §4.2. */
  | { readonly kind: 'code'; readonly challenge: string }
  /** An open sign-in: the client's own authorization URL, which may have a state. */
  | { readonly kind: 'callback'; readonly authorizationUrl: string };

declare const SECRET: unique symbol;

/** A secret inside a session. A vault makes and opens it (vault.ts); the machine only moves or drops it. */
export interface Protected<Value> {
  readonly [SECRET]: Value;
}

/** How a sign-in ended. */
export type EndOutcome = 'signed_in' | 'access_denied' | 'failed';

/** What a page says about a sign-in that cannot be continued. 'in_progress': the provider's code is being exchanged. */
export type SessionOutcome = EndOutcome | 'in_progress' | 'cancelled';

/**
 * What a session still waited for when it expired: that its link is opened, that its user comes
 * back from the provider, or that its device fetches the result.
 */
export type ExpiredStage = 'started' | 'opened' | 'called_back';

/** A store finds a session by each of these. The poll secret cannot be derived from any. */
export interface SessionIds {
  readonly link: string;
  readonly poll: string;
  /** Undefined if it has no user code. */
  readonly code: string | undefined;
}

interface Common {
  readonly ids: SessionIds;
  /** The id of the sign-in in the log. */
  readonly signIn: string;
  readonly service: string;
  readonly startedAtMs: number;
  /** The last millisecond at which the link works. */
  readonly expiresAtMs: number;
  /** How long after its first delivery the result is delivered again, unless it is acknowledged. Undefined if it is delivered once. */
  readonly redeliveryMs: number | undefined;
  /** Whether the user was redirected to the provider, and whether that was reported to the device. */
  readonly opening: 'none' | 'unreported' | 'reported';
  /** What a vault needs to open the rest. */
  readonly keyMaterial: Protected<object> | undefined;
}

export interface Pending extends Common {
  readonly state: 'pending';
  readonly delivery: Protected<Delivery>;
  readonly deviceName: Protected<string> | undefined;
}

export interface Exchanging extends Common {
  readonly state: 'exchanging';
  readonly leaseEndsAtMs: number;
}

export interface Completed extends Common {
  readonly state: 'completed';
  readonly outcome: EndOutcome;
  /** Undefined if none could be stored: the device gets `exchange_failed`. */
  readonly result: Protected<SessionResult> | undefined;
  readonly completedAtMs: number;
}

export interface Delivered extends Common {
  readonly state: 'delivered';
  readonly outcome: EndOutcome;
  readonly result: Protected<SessionResult> | undefined;
  /** The last millisecond at which the result is delivered again. May be after `expiresAtMs`. */
  readonly redeliveredUntilMs: number;
}

export interface Ended extends Common {
  readonly state: 'ended';
  readonly outcome: EndOutcome;
}

/** Ended by the device. */
export interface Cancelled extends Common {
  readonly state: 'cancelled';
}

export type Session = Pending | Exchanging | Completed | Delivered | Ended | Cancelled;

/** What a start makes. The store adds the times, by its own clock. */
export type NewSession = Omit<Pending, 'state' | 'startedAtMs' | 'expiresAtMs' | 'opening'>;

/** Why waiting polls are notified: the session has a result or was cancelled, or its link was opened. */
export type Notice = 'completed' | 'opened';

/** What an event does. If `next` is absent, the session stays as it is. */
export interface Change<Reply> {
  readonly reply: Reply;
  readonly next?: Session;
  readonly notice?: Notice;
}

export type Event<Reply> = (session: Session, nowMs: number) => Change<Reply>;

export function createPending(session: NewSession, nowMs: number, lifetimeMs: number): Pending {
  const expiresAtMs = nowMs + lifetimeMs;
  return { ...session, state: 'pending', startedAtMs: nowMs, expiresAtMs, opening: 'none' };
}

/** The session as of now. Undefined if it has expired. */
export function stateAt(session: Session, nowMs: number): Session | undefined {
  if (nowMs <= unchangedUntilMs(session)) return session;
  if (nowMs > session.expiresAtMs) return undefined;
  if (session.state === 'delivered') return ended(session, session.outcome);
  return session.state === 'exchanging'
    ? completed(session, 'failed', undefined, session.leaseEndsAtMs)
    : undefined;
}

/* What a store knows of a session. */

/** The last millisecond at which its state is kept. A lease may end earlier. */
export function keptUntilMs(session: Session): number {
  return session.state === 'delivered' ? session.redeliveredUntilMs : session.expiresAtMs;
}

/** The last millisecond at which the store needs it. */
export function neededUntilMs(session: Session): number {
  return Math.max(keptUntilMs(session), session.expiresAtMs);
}

/** The last millisecond before it changes by itself. */
export function unchangedUntilMs(session: Session): number {
  const untilMs = keptUntilMs(session);
  return session.state === 'exchanging' ? Math.min(session.leaseEndsAtMs, untilMs) : untilMs;
}

/** How far an expired session came. Undefined if it was cancelled or delivered. */
export function stageOf(session: Session): ExpiredStage | undefined {
  switch (session.state) {
    case 'pending':
      return session.opening === 'none' ? 'started' : 'opened';
    case 'exchanging':
    case 'completed':
      return 'called_back';
    default:
      return undefined;
  }
}

/* Events of the user's browser. Undefined if the session has expired. */

/** Changes nothing: a link preview may call it. `ageMs`: since the start. */
export const find = whilePending((pending, nowMs) => ({
  reply: { pending, ageMs: nowMs - pending.startedAtMs },
}));

/** The user is redirected to the provider. */
export const open = whilePending((pending) => {
  if (pending.opening !== 'none') return { reply: { pending, isFirst: false } };
  const next: Pending = { ...pending, opening: 'unreported' };
  return { reply: { pending, isFirst: true }, next, notice: 'opened' };
});

/** The sign-in ends without an authorization code. `error`: the result. */
export const fail = (outcome: EndOutcome, error: Protected<SessionResult> | undefined) =>
  whilePending((pending, nowMs) => {
    const next = completed(pending, outcome, error, nowMs);
    return { reply: pending, next, notice: 'completed' };
  });

/** There is an authorization code, which only the caller may exchange. The session drops what the exchange needs. */
export const lease = whilePending((pending, nowMs) => {
  const leaseEndsAtMs = nowMs + EXCHANGE_LEASE_MS;
  return { reply: pending, next: { ...commonOf(pending), state: 'exchanging', leaseEndsAtMs } };
});

/** The change of a pending session; the outcome of any other. */
function whilePending<Reply>(
  change: (pending: Pending, nowMs: number) => Change<Reply>,
): Event<Reply | SessionOutcome | undefined> {
  return (session, nowMs) => {
    const current = stateAt(session, nowMs);
    if (current?.state === 'pending') return change(current, nowMs);
    return { reply: current && outcomeOf(current, nowMs) };
  };
}

/** The holder of the lease has a result. The reply: whether it was stored, or how the sign-in has ended. */
export const complete =
  (
    outcome: EndOutcome,
    result: Protected<SessionResult> | undefined,
  ): Event<true | SessionOutcome | undefined> =>
  (session, nowMs) => {
    const current = stateAt(session, nowMs);
    const isOpen = current?.state === 'exchanging' || current?.state === 'pending';
    if (!isOpen) return { reply: current && outcomeOf(current, nowMs) };
    const next = completed(current, outcome, result, nowMs);
    return { reply: true, next, notice: 'completed' };
  };

/* Events of the device. */

export type Polled =
  | {
      readonly state: 'pending';
      /** True if the device asked for progress and the link was opened. Reported once. */
      readonly isOpened?: boolean;
      /** How long until the session changes by itself. */
      readonly unchangedForMs?: number;
    }
  | {
      readonly state: 'delivered';
      readonly session: Completed | Delivered;
      /** How long the result has waited. Undefined if it was delivered before. */
      readonly waitedMs: number | undefined;
    }
  | { readonly state: 'gone' };

/** The device asks for the result. */
export const poll =
  (wantsProgress: boolean): Event<Polled> =>
  (session, nowMs) => {
    const current = stateAt(session, nowMs);
    switch (current?.state) {
      case 'pending':
      case 'exchanging': {
        const isOpened = wantsProgress && current.opening === 'unreported';
        const unchangedForMs = unchangedUntilMs(current) + 1 - nowMs;
        const reply = { state: 'pending', isOpened, unchangedForMs } as const;
        return isOpened ? { reply, next: { ...current, opening: 'reported' } } : { reply };
      }
      case 'completed':
        return deliver(current, nowMs);
      case 'delivered':
        return { reply: { state: 'delivered', session: current, waitedMs: undefined } };
      default:
        return { reply: { state: 'gone' } };
    }
  };

function deliver(session: Completed, nowMs: number): Change<Polled> {
  const { outcome, result, completedAtMs, redeliveryMs } = session;
  const reply = { state: 'delivered', session, waitedMs: nowMs - completedAtMs } as const;
  if (redeliveryMs === undefined) return { reply, next: ended(session, outcome) };
  const redeliveredUntilMs = nowMs + redeliveryMs;
  const common = commonOf(session);
  return { reply, next: { ...common, state: 'delivered', outcome, result, redeliveredUntilMs } };
}

/** 'early': nothing was delivered yet, so there is nothing to acknowledge. */
export type Acknowledgement = 'acknowledged' | 'early' | 'gone';

/** The device confirms what it received. */
export function acknowledge(session: Session, nowMs: number): Change<Acknowledgement> {
  const current = stateAt(session, nowMs);
  if (current?.state !== 'delivered') return { reply: isUndelivered(current) ? 'early' : 'gone' };
  return { reply: 'acknowledged', next: ended(current, current.outcome) };
}

/**
 * The device ends the sign-in, which drops every secret. What was delivered stays as it is. 'again': it
 * was cancelled before. 'gone': there is nothing to cancel, or the result was delivered.
 */
export function cancel(session: Session, nowMs: number): Change<'cancelled' | 'again' | 'gone'> {
  const current = stateAt(session, nowMs);
  if (!isUndelivered(current)) return { reply: current?.state === 'cancelled' ? 'again' : 'gone' };
  const next = { ...withoutKeys(current), state: 'cancelled' } as const;
  return { reply: 'cancelled', next, notice: 'completed' };
}

function isUndelivered(current: Session | undefined): current is Pending | Exchanging | Completed {
  return ['pending', 'exchanging', 'completed'].includes(String(current?.state));
}

/** Undefined if it is known only until the link expires. */
function outcomeOf(session: Exclude<Session, Pending>, nowMs: number): SessionOutcome | undefined {
  if (nowMs > session.expiresAtMs) return undefined;
  if (session.state === 'exchanging') return 'in_progress';
  return session.state === 'cancelled' ? 'cancelled' : session.outcome;
}

function completed(
  session: Pending | Exchanging,
  outcome: EndOutcome,
  result: Protected<SessionResult> | undefined,
  completedAtMs: number,
): Completed {
  return { ...commonOf(session), state: 'completed', outcome, result, completedAtMs };
}

function ended(session: Common, outcome: EndOutcome): Ended {
  return { ...withoutKeys(session), state: 'ended', outcome };
}

function withoutKeys(session: Common): Common {
  return { ...commonOf(session), keyMaterial: undefined };
}

/** The fields that stay in every state, one by one, so that no secret is kept after its use. */
function commonOf(session: Common): Common {
  const { ids, signIn, service, startedAtMs, expiresAtMs } = session;
  const { redeliveryMs, opening, keyMaterial } = session;
  return { ids, signIn, service, startedAtMs, expiresAtMs, redeliveryMs, opening, keyMaterial };
}
