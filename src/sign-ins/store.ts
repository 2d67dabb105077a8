/**
 * The contract of a session store. It keeps sessions by its own clock, and does not know what
 * changes them: a change is a function of the machine (session.ts). The suite in test/stores tests
 * every store against this contract.
 */
import type { Event, NewSession, Notice, Session } from './session.ts';

/** A store in this process returns a value, a shared one a promise. */
export type Awaitable<T> = T | Promise<T>;

/** One of the ids of a session. */
export type SessionKey =
  | { readonly link: string }
  | { readonly poll: string }
  | { readonly code: string };

/** The polls of this process. */
export interface Listener {
  /** The session of this poll id has changed, here or at another instance. */
  notify(pollId: string, notice: Notice): void;
  /** Notices may have been lost, so any session may have changed. */
  recheckAll(): void;
}

export interface Store {
  /**
   * Atomic: stores the session under all its ids, or not at all. 'collision': a live session has
   * one of them. 'full': the limit on live sessions is reached. An expired session never counts.
   */
  create(session: NewSession, lifetimeMs: number): Awaitable<'created' | 'collision' | 'full'>;

  /**
   * Atomic: calls `change` with the session as of the store's time, and stores its `next` unless
   * the session has changed meanwhile; then it calls `change` again. Notifies every instance of
   * a `notice`. Returns the reply of the last call, or undefined if there is no such session.
   * Throws StoreUnavailable: the change may have been stored. `untilLeaseEnds`: retries for
   * as long as the lease of an exchange, because only this process has what is to be stored.
   */
  update<Reply>(
    key: SessionKey,
    change: Event<Reply>,
    untilLeaseEnds?: 'until lease ends',
  ): Awaitable<Reply | undefined>;

  /**
   * The listener gets every notice from now on, so a poll that parks before it checks its session
   * misses none. No notice is sent when a time expires.
   */
  listen(listener: Listener): void;

  /**
   * Removes what is no longer needed. Returns the sessions that stopped counting as live,
   * each once, at one of several instances. Best effort: a fault may lose some.
   */
  sweep(): Awaitable<readonly Session[]>;

  /** Sessions that count against the limit. */
  countLive(): Awaitable<number>;

  /** True if only this process has results that no device has received yet. Absent if others have them too. */
  hasUndelivered?(): boolean;

  /** Resolves once no change is in progress. Absent if a change ends before its call does. */
  settled?(): Awaitable<void>;
}

export type RefreshState =
  /** The caller has the lease: only it may send this token to the provider now. */
  | { readonly state: 'acquired' }
  | { readonly state: 'in_progress' }
  | { readonly state: 'finished'; readonly result: string };

/** Keeps the refreshes of tokens (providers/refreshes.ts). */
export interface RefreshStore {
  /** Atomic: one of several callers with the same id gets 'acquired', a lease for EXCHANGE_LEASE_MS. */
  begin(id: string): Awaitable<RefreshState>;
  /** Keeps the result for REFRESH_RESULT_MS. Undefined: releases the lease, so that another caller may try. */
  finish(id: string, result: string | undefined): Awaitable<void>;
}

/** What currently fails at a store: everything, or only some requests, such as starts while it is full. */
export interface StoreProblem {
  readonly status: 'down' | 'degraded';
  /** For the operator. */
  readonly reason: string;
}

/** A store begins to refuse changes, or accepts them again. `reason`: the first word of its error. */
export type RefusalEvent =
  | { readonly type: 'store_refuses'; readonly reason: string; readonly remedy: string }
  | { readonly type: 'store_accepts'; readonly reason: string };

/**
 * The store could not be reached, or sent no reply in time. The outcome is unknown: the change may
 * have been stored.
 */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
}
