/**
 * What the relay asks of a store: atomic verbs, each of which says who won. A
 * store is addressed by the two capabilities of a session: the browser state and
 * the poll secret. It keeps at most what does not lead back to a poll secret: a
 * digest, or a public key. A store has its own clock. test/stores/suite holds
 * every store to this page.
 */
import type { ErrorResult, SessionResult } from './session.ts';

/** A store in this process answers at once, a shared one later. */
export type Awaitable<T> = T | Promise<T>;

export interface NewSession {
  readonly browserState: string;
  readonly pollSecret: string;
  readonly service: string;
  /** Counted from the moment of registering. */
  readonly lifetimeMs: number;
  readonly verifier: string | undefined;
  /** A second, short way to the link, for a user who types. */
  readonly userCode: string | undefined;
  /** What the device calls itself. */
  readonly deviceName: string | undefined;
  /** The result stays for so long after it was first claimed, or until the device acknowledges it. Undefined: it is claimed once. */
  readonly repeatMs: number | undefined;
  /** An error stays until the session expires, whatever `repeatMs` says, and nothing acknowledges it. */
  readonly keepsErrors: boolean;
}

/** What leads a browser on to the provider. */
export interface Authorization {
  readonly verifier: string | undefined;
}

export type SessionKey = { readonly browserState: string } | { readonly userCode: string };

/** What a user is shown of a session, and what leads on to it. */
export interface SessionInfo {
  readonly service: string;
  readonly browserState: string;
  readonly startedAtMs: number;
  readonly deviceName: string | undefined;
}

export type Claim =
  | { readonly state: 'claimed'; readonly result: SessionResult }
  | { readonly state: 'pending' }
  | { readonly state: 'gone' };

/** 'early': nothing was delivered yet, so there is nothing to acknowledge. */
export type Acknowledgement = 'acknowledged' | 'early' | 'gone';

/** 'gone': there is nothing to cancel, or the result was delivered. */
export type Cancellation = 'cancelled' | 'gone';

/**
 * Why a waiter is notified: the session completed or was cancelled; the user has
 * opened the link; 'perhaps' when the store lost contact and cannot know.
 */
export type Notice = 'completed' | 'opened' | 'perhaps';

/** A poll that waits for its session to complete. */
export interface Waiter {
  /** Set by the store: what it is registered under. */
  registeredAs: string;
  /** Whether it is notified of 'opened' too. */
  readonly wantsProgress?: boolean;
  notify(notice: Notice): void;
}

export interface SessionStore {
  /**
   * Atomic: registers the session under all its keys, or not at all. Returns
   * 'collision' when a live session has one of them, 'busy' when as many sessions
   * are alive as may be. Never counts an expired session as alive.
   */
  register(session: NewSession): Awaitable<'registered' | 'collision' | 'busy'>;

  /**
   * Finds a pending session whose user is led on to the provider. Never one of
   * another service. Atomic: the first time is noted, and notifies whoever waits for it.
   */
  getAuthorization(service: string, browserState: string): Awaitable<Authorization | undefined>;

  /** Finds a pending session by its link or its unused code. Changes nothing: a link preview may ask. */
  getSession(key: SessionKey): Awaitable<SessionInfo | undefined>;

  /** Atomic: uses the code of a pending session up. Of any number of callers one gets the session. */
  useCode(userCode: string): Awaitable<SessionInfo | undefined>;

  /** Atomic: pending -> completed with an error. Returns whether it was this call. */
  fail(service: string, browserState: string, error: ErrorResult): Awaitable<boolean>;

  /**
   * Atomic: pending -> exchanging, for EXCHANGE_LEASE_MS. Of any number of callers
   * one gets the lease, and with it the verifier, which the store forgets. Never
   * gives a second lease for one session.
   */
  lease(service: string, browserState: string): Awaitable<Authorization | undefined>;

  /**
   * Atomic: exchanging -> completed, called by the holder of the lease. Returns
   * false when the session expired or the lease ran out meanwhile.
   */
  complete(service: string, browserState: string, result: SessionResult): Awaitable<boolean>;

  /**
   * Atomic: completed -> delivered, which removes the session. Of any number of
   * callers one gets the result, the others 'gone'. With `repeatMs` the session
   * stays for so long, and with `keepsErrors` an error stays as long as the
   * session lives: each caller until then gets the result. A claim whose `signal`
   * fires before the store has answered is undone and returns 'pending': its
   * device has left. While another claim may still be undone, this one is neither
   * 'pending' nor 'gone': it throws StoreUnavailable.
   */
  claim(pollSecret: string, signal?: AbortSignal): Awaitable<Claim>;

  /** Atomic: removes a session that was delivered. Claims nothing. */
  acknowledge(pollSecret: string): Awaitable<Acknowledgement>;

  /**
   * Atomic: whether the user has opened the link and nobody was told. Of any number
   * of callers one is told, unless a fault loses it. Claims nothing.
   */
  tellOpened(pollSecret: string): Awaitable<boolean>;

  /**
   * Atomic: the session is cancelled until it expires, also when it was before.
   * Drops the verifier, and a result that was not delivered. Notifies waiters.
   */
  cancel(pollSecret: string): Awaitable<Cancellation>;

  /** Whether its device has cancelled the session, for a page that says so. */
  isCancelled(key: SessionKey): Awaitable<boolean>;

  /**
   * Notifies the waiter once when the session completes, provided that a claim
   * made since found it pending; it may also notify it with 'perhaps', or, after a
   * fault, not at all. So: add the waiter, claim, wait, claim again. A waiter that
   * wants progress is notified of the opening as well, provided that `tellOpened`
   * was asked since, and it waits on after that. A session has
   * at most MAX_POLLS_PER_SESSION waiters: one more notifies the oldest.
   */
  addWaiter(pollSecret: string, waiter: Waiter): void;
  removeWaiter(waiter: Waiter): void;

  /** Whether tokens that no device has claimed yet would be lost with this process. */
  hasUndelivered(): boolean;

  /** Resolves once nothing is under way that changes something, also what a verb left for after its answer. */
  settled(): Awaitable<void>;

  /** Removes what has expired. Lookups are exact without it. */
  sweep(): Awaitable<void>;
}

/**
 * Thrown by a verb that could not reach its store, or was not answered in time.
 * The outcome is unknown, not failed: it may have been carried out.
 */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
}
