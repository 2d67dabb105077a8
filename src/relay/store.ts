/**
 * The contract of a session store: atomic verbs, each of which returns who won. A session is
 * found by its two capabilities: the browser state and the poll secret.
 * A store keeps nothing from which a poll secret could be recovered: at most a digest,
 * or a public key. It has its own clock. The suite in test/stores tests every store
 * against this contract.
 */
import type { ErrorResult, ExpiredStage, SessionOutcome, SessionResult } from './session.ts';

/** A store in this process returns a value, a shared one a promise. */
export type Awaitable<T> = T | Promise<T>;

export interface NewSession {
  readonly browserState: string;
  readonly pollSecret: string;
  readonly service: string;
  /** Counted from the moment of registering. */
  readonly lifetimeMs: number;
  readonly verifier: string | undefined;
  /** Instead of a verifier, which only the device has. RFC 7636 §4.2. */
  readonly challenge?: string | undefined;
  /** The client's, for an open sign-in. It may have a state of its own. docs/open.md. */
  readonly authorizationUrl?: string | undefined;
  /** The device asked for every field that the provider returns. Absent: no. */
  readonly details?: boolean;
  /** Finds the session like the browser state, and is short enough to type. */
  readonly userCode: string | undefined;
  readonly deviceName: string | undefined;
  /** How long the result stays after it was first claimed, unless the device acknowledges it. Undefined: it is claimed once. */
  readonly repeatMs: number | undefined;
  /** An error stays until the session expires, whatever `repeatMs` says, and nothing acknowledges it. */
  readonly keepsErrors: boolean;
}

/** How the code of a session is exchanged: with the relay's verifier, or by the device, whose challenge it is. */
export interface ExchangeParameters {
  readonly verifier: string | undefined;
  readonly challenge?: string | undefined;
  readonly authorizationUrl?: string | undefined;
  readonly details?: boolean;
}

/** What a lease returns. The next page names the device. */
export interface Leased extends ExchangeParameters {
  readonly deviceName: string | undefined;
}

export type SessionKey = { readonly browserState: string } | { readonly userCode: string };

/** What a page shows of a pending session, and the browser state to continue it. */
export interface SessionInfo {
  readonly service: string;
  readonly browserState: string;
  /** Since the start, by the store's clock. */
  readonly ageMs: number;
  readonly deviceName: string | undefined;
  /** Of an open sign-in. */
  readonly authorizationUrl?: string | undefined;
}

export type Claim =
  | { readonly state: 'claimed'; readonly result: SessionResult }
  | PendingClaim
  | { readonly state: 'gone' };

export interface PendingClaim {
  readonly state: 'pending';
  /**
   * How long until the session changes by itself: it has expired, or its lease has run out. A
   * shared store may say less, because it notifies nobody of a lease that another instance takes.
   */
  readonly endsInMs: number;
}

/** 'early': nothing has been delivered yet, so there is nothing to acknowledge. */
export type Acknowledgement = 'acknowledged' | 'early' | 'gone';

/** 'gone': there is nothing to cancel, or the result was delivered. */
export type Cancellation = 'cancelled' | 'gone';

/**
 * Why a waiter is notified. 'completed': the session has a result or was cancelled.
 * 'opened': the user has opened the link. 'recheck': a notification may have been lost.
 */
export type Notice = 'completed' | 'opened' | 'recheck';

/** A poll that waits for its session to complete. */
export interface Waiter {
  /** Set by the store: the key under which it is registered. */
  registeredAs: string;
  /** It is notified of 'opened' too. */
  readonly wantsProgress?: boolean;
  notify(notice: Notice): void;
}

export interface ExpiredSession {
  readonly service: string;
  readonly stage: ExpiredStage;
  /** The id of the sign-in in the log: see signInIdOf. */
  readonly signIn: string;
}

/** Events of a store that its verbs do not return, for the log and the metrics. */
export interface StoreObserver {
  /** The user was redirected to the provider for the first time. */
  opened(service: string): void;
  /** A result was delivered for the first time, `waitedMs` after it was stored. */
  delivered(service: string, waitedMs: number): void;
  /** The device cancelled the session for the first time. */
  cancelled(service: string): void;
  /**
   * Called once, by the instance that removes the session, some time after it expired.
   * Never for a session that was delivered or cancelled. A fault may lose it.
   */
  expired(session: ExpiredSession): void;
}

const ignore = () => {};

/** The observer until `observe` is called. */
export const NO_OBSERVER: StoreObserver = {
  opened: ignore,
  delivered: ignore,
  cancelled: ignore,
  expired: ignore,
};

/** The current observer of a store. */
export interface ObserverSlot {
  current: StoreObserver;
}

export interface SessionStore {
  /**
   * Atomic: registers the session under all its keys, or not at all. Returns
   * 'collision' when a live session has one of them, 'busy' when the limit
   * on live sessions is reached. Never counts an expired session as alive.
   */
  register(session: NewSession): Awaitable<'registered' | 'collision' | 'busy'>;

  /**
   * Records that the user of a pending session is redirected to the provider, and notifies waiters
   * that want progress; the first time only, and atomically. Never a session of another service.
   */
  authorize(service: string, browserState: string): Awaitable<ExchangeParameters | undefined>;

  /**
   * Finds a session by its link or its code: pending, or its outcome. The outcome is
   * known until the session would have expired, also when its result was delivered; a
   * store may forget it earlier. Changes nothing: a link preview may call it.
   */
  getSession(key: SessionKey): Awaitable<SessionInfo | SessionOutcome | undefined>;

  /** Atomic: pending -> completed with an error. Returns whether it was this call. */
  fail(service: string, browserState: string, error: ErrorResult): Awaitable<boolean>;

  /**
   * Atomic: pending -> exchanging, for EXCHANGE_LEASE_MS. Of any number of callers
   * one gets the lease, and with it the verifier, which the store forgets. Never
   * gives a second lease for one session.
   */
  lease(service: string, browserState: string): Awaitable<Leased | undefined>;

  /**
   * Atomic: exchanging -> completed, called by the holder of the lease. Returns
   * false when the session has expired or the lease has run out. If a shared store has
   * lost the lease, it accepts the result of its holder anyway.
   */
  complete(service: string, browserState: string, result: SessionResult): Awaitable<boolean>;

  /**
   * Atomic: completed -> delivered, which removes the session. Of any number of
   * callers one gets the result, the others 'gone'. With `repeatMs` the session
   * stays for so long, and with `keepsErrors` an error stays as long as the
   * session lives: each caller until then gets the result.
   */
  claim(pollSecret: string): Awaitable<Claim>;

  /** Atomic: removes a session that was delivered. Claims nothing. */
  acknowledge(pollSecret: string): Awaitable<Acknowledgement>;

  /**
   * Atomic: returns true once after the user has opened the link. Of any number of
   * callers one gets true, unless a fault loses it. Claims nothing.
   */
  takeOpenedNotice(pollSecret: string): Awaitable<boolean>;

  /**
   * Atomic: any state but delivered -> cancelled, until the session expires. Drops the
   * verifier, and a result that was not delivered. Notifies waiters. May be repeated.
   */
  cancel(pollSecret: string): Awaitable<Cancellation>;

  /**
   * Notifies the waiter once when the session completes, provided that a claim
   * made since found it pending; it may also notify it with 'recheck', or, after a
   * fault, not at all. So: add the waiter, claim, wait, claim again. A waiter that
   * wants progress is also notified with 'opened', provided that `takeOpenedNotice`
   * was called since, and stays registered after that. Nothing notifies it when the
   * session expires or its lease runs out: it claims again after `endsInMs`.
   * Returns what a claim would return, if the session was pending at most
   * KNOWN_PENDING_MS ago and no change was published since: the waiter is then notified
   * without a claim.
   */
  addWaiter(pollSecret: string, waiter: Waiter): PendingClaim | undefined;
  removeWaiter(waiter: Waiter): void;

  /** Whether only this process has tokens that no device has claimed yet. */
  hasUndelivered(): boolean;

  /** Resolves once no change is in progress. */
  settled(): Awaitable<void>;

  /** Replaces the current observer. */
  observe(observer: StoreObserver): void;

  /** Sessions that count against the limit. */
  countLive(): Awaitable<number>;

  /** Removes expired entries. Lookups check expiry themselves. */
  sweep(): Awaitable<void>;
}

/** What currently fails at a store. */
export interface StoreProblem {
  /** For the operator. */
  readonly text: string;
  /** Otherwise only some requests fail, such as starts while the store is full. */
  readonly stopsEverything: boolean;
}

/**
 * Thrown by a verb that could not reach its store, or got no reply in time.
 * The outcome is unknown: the verb may have taken effect.
 */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
}
