/**
 * What the relay asks of a store: atomic verbs, each of which says who won.
 * Verbs are spoken to in the capabilities; what a store keeps of them is its own
 * affair, of the poll secret at most what does not lead back to it: a digest
 * (`protocol.md` §5), or a public key. Time is an argument. test/stores/suite
 * holds every store to this page.
 */
import type { ErrorResult, SessionResult } from './session.ts';

export interface NewSession {
  readonly browserState: string;
  readonly pollSecret: string;
  readonly service: string;
  readonly verifier?: string;
  /** A second, short way to the link, for a person who types; USER_CODE_LENGTH letters. */
  readonly userCode?: string;
  /** What the device calls itself, for the person to see. */
  readonly deviceName?: string;
  /** The result stays for so long after it was first claimed, or until the device acknowledges it. Absent: it is claimed once. */
  readonly repeatMs?: number;
  /** An error stays until the session expires, whatever `repeatMs` says, and nothing acknowledges it. */
  readonly keepsErrors?: boolean;
  /** Counted from the moment of registering, by whichever clock the store goes by. */
  readonly lifetimeMs: number;
}

export type Claim =
  | { readonly state: 'claimed'; readonly result: SessionResult }
  | { readonly state: 'pending' }
  | { readonly state: 'gone' };

export interface SessionStore {
  /**
   * Atomic: registers the session under both capabilities, or not at all.
   * Returns 'collision' when a live session has either, or the user code; 'busy' when
   * `maxSessions` are alive. Never counts an expired session as alive.
   */
  register(session: NewSession, nowMs: number): Promise<'registered' | 'collision' | 'busy'>;

  /**
   * Finds a session that still waits for its person.
   * Returns its verifier, if it has one. Never finds one of another service.
   */
  open(service: string, browserState: string, nowMs: number): Promise<Opened | undefined>;

  /**
   * Finds a session that still waits for its person, by its link or its unused
   * code, and changes nothing: a link preview may ask.
   */
  find(by: FindBy, nowMs: number): Promise<Found | undefined>;

  /**
   * Atomic: uses up the code of a session that still waits for its person. Of
   * any number of callers one gets the session; the link goes on leading to it.
   */
  useCode(userCode: string, nowMs: number): Promise<Found | undefined>;

  /**
   * Atomic: pending -> completed with an error. Returns whether it was this call.
   * Never touches a session whose exchange is under way.
   */
  fail(service: string, browserState: string, result: ErrorResult, nowMs: number): Promise<boolean>;

  /**
   * Atomic: pending -> exchanging, for EXCHANGE_LEASE_MS. Of any number of
   * callers one gets the lease and with it the verifier, which the store
   * forgets. Never gives a second lease for one session.
   */
  lease(service: string, browserState: string, nowMs: number): Promise<Opened | undefined>;

  /**
   * Atomic: exchanging -> completed, called by the lease's holder.
   * Returns false when the session expired or the lease ran out meanwhile.
   */
  complete(
    service: string,
    browserState: string,
    result: SessionResult,
    nowMs: number,
  ): Promise<boolean>;

  /**
   * Atomic: completed -> delivered, which removes the session. Of any number of
   * callers one gets the result; the others get 'gone'. With `repeatMs` the session
   * stays for so long, and with `keepsErrors` an error stays as long as the session
   * lives: each caller until then gets the result. A claim
   * whose `signal` fires before the store has answered is undone and returns
   * 'pending': its device has left. While another claim may still be undone, this
   * one is neither 'pending' nor 'gone': it throws StoreUnavailable.
   */
  claim(pollSecret: string, nowMs: number, signal?: AbortSignal): Promise<Claim>;

  /** Atomic: removes a session that was delivered. Returns what it was before, claims nothing. */
  acknowledge(pollSecret: string, nowMs: number): Promise<Acknowledgement>;

  /**
   * Calls `wake` once when the session completes, provided that a claim made
   * since found it pending; it may also call it with 'perhaps', when it was out
   * of touch and cannot know, or, after a fault, not at all. So: watch, then
   * claim, then wait, then claim again. At most MAX_POLLS_PER_SESSION watch one
   * session: one more wakes the oldest. Returns how to stop watching.
   */
  watch(pollSecret: string, wake: (news: News) => void): () => void;

  /** Whether tokens that no device has taken yet would be lost with this process. */
  hasUndelivered(nowMs: number): boolean;

  /** Resolves once nothing is under way that a verb left to be done after its answer. */
  settled(): Promise<void>;

  /** Throws away what has expired. Lookups are exact without it. */
  sweep(nowMs: number): Promise<void>;
}

/** What a watcher is woken with. */
export type News = 'completed' | 'perhaps';

export interface Opened {
  readonly verifier?: string;
}

export type FindBy = { readonly browserState: string } | { readonly userCode: string };

/** What a person is shown of a session, and what leads on to it. */
export interface Found {
  readonly service: string;
  readonly browserState: string;
  readonly deviceName?: string;
  readonly startedAtMs: number;
}

/** 'early': nothing was delivered yet, so there is nothing to confirm. */
export type Acknowledgement = 'acknowledged' | 'early' | 'gone';

/**
 * Thrown by a verb that could not reach its store, or was not answered in time.
 * Unknown, not failed: it may have been carried out all the same.
 */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
}
