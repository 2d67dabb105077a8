/**
 * What this process knows about the sessions whose devices poll here, without querying the
 * store: their waiters, the session of a poll secret, whether it is still pending, and which
 * claims may still be undone.
 */

import { EXCHANGE_LEASE_MS } from '../../limits.ts';
import type { Waiter } from '../../relay/store.ts';
import { type Clock, createDeadlineQueue, type Deadline } from '../../relay/time.ts';
import { createWaiters } from '../waiters.ts';

/**
 * How long a session that was found pending counts as pending, if this relay is notified of
 * changes: a device that has just started, or that polls again, is not looked up. Longer would
 * delay what is not published: that a lease ran out. Never longer than the session lives.
 */
export const KNOWN_PENDING_MS = 5_000;

/** Sessions that an instance remembers by their poll ids, at least, and twice as many at most: 12 MB. */
const KNOWN_POLLS = 20_000;

interface KnownPoll {
  readonly pointer: string;
  /** When it stops counting as pending. */
  readonly pendingUntilMs: number;
  /** When a poll looks again: its session expires, or a lease that was taken since then runs out. */
  readonly endsAtMs: number;
}

/**
 * A session is known to be pending for a while after a registration, or a claim, that
 * has also registered this process to be notified, until the session expires, a change
 * is published, or a message may have been missed.
 */
export interface LocalPolls {
  get(pollId: string): KnownPoll | undefined;
  /** With `endsInMs` it is pending, and expires after that time. */
  add(pollId: string, pointer: string, endsInMs?: number): void;
  delete(pollId: string): void;
  /** A claim found it pending. `when` is what was known when the claim was sent. */
  foundPending(pollId: string, when: KnownPoll | undefined, endsInMs: number): void;
  /** If the session is known to be pending: the milliseconds until the waiter looks again. */
  addWaiter(pollId: string, waiter: Waiter): number | undefined;
  removeWaiter(waiter: Waiter): void;
  /** The session has a result, was cancelled, or its claim was undone. A claim sent before this proves nothing. */
  changed(pollId: string): void;
  opened(pollId: string): void;
  /** Messages may have been missed: removes every session, and notifies every waiter. */
  recheckAll(): void;
}

export function createLocalPolls(clock: Clock): LocalPolls {
  const waiters = createWaiters();
  // Two maps, because removing the oldest entry of one for each new one is slow.
  let recent = new Map<string, KnownPoll>();
  let older = new Map<string, KnownPoll>();

  const get = (pollId: string) => recent.get(pollId) ?? older.get(pollId);

  function add(pollId: string, pointer: string, endsInMs = 0): void {
    if (recent.size >= KNOWN_POLLS) {
      older = recent;
      recent = new Map();
    }
    const nowMs = clock.now();
    const pendingUntilMs = nowMs + Math.min(endsInMs, KNOWN_PENDING_MS);
    const endsAtMs = nowMs + Math.min(endsInMs, EXCHANGE_LEASE_MS);
    recent.set(pollId, { pointer, pendingUntilMs, endsAtMs });
  }

  return {
    get,
    add,
    delete(pollId) {
      recent.delete(pollId);
      older.delete(pollId);
    },
    foundPending(pollId, when, endsInMs) {
      const known = get(pollId);
      if (known !== undefined && known === when) add(pollId, known.pointer, endsInMs);
    },
    addWaiter(pollId, waiter) {
      waiters.add(pollId, waiter);
      const known = get(pollId);
      const nowMs = clock.now();
      return known && nowMs < known.pendingUntilMs ? known.endsAtMs - nowMs : undefined;
    },
    removeWaiter: waiters.remove,
    changed(pollId) {
      const known = get(pollId);
      if (known !== undefined) add(pollId, known.pointer);
      waiters.notify(pollId, 'completed');
    },
    opened(pollId) {
      waiters.notify(pollId, 'opened');
    },
    recheckAll() {
      recent.clear();
      older.clear();
      waiters.notifyAll();
    },
  };
}

/** How long a poll waits for the outcome of another poll's claim before it claims again. */
const CLAIM_DECISION_MS = 1_000;

/**
 * A claim is open from when it is sent until its relay knows that a device has the result, or
 * that the claim was undone. Other polls must not get a 410 before that, so they ask the relay
 * of the claim.
 */
export interface OpenClaims {
  open(claim: string): void;
  close(claim: string): void;
  /**
   * For a claim of any instance. Returns false if its relay does not answer within
   * CLAIM_DECISION_MS. If the claim still has the session after this, the result was
   * delivered.
   */
  untilClosed(claim: string): Promise<boolean>;
  /** Takes a message of another instance. Returns false for any other message. */
  receive(message: string): boolean;
}

export interface OpenClaimsOptions {
  readonly instance: string;
  /** Sends a message to an instance, which may be lost. */
  readonly send: (instance: string, message: string) => void;
  readonly clock: Clock;
}

const ASKED = 'open?';
const CLOSED = 'closed';

/** A claim is `<instance>.<random>.`. */
export function createOpenClaims({ instance, send, clock }: OpenClaimsOptions): OpenClaims {
  const open = new Set<string>();
  const listeners = new Map<string, Set<() => void>>();
  const deadlines = createDeadlineQueue(clock, CLAIM_DECISION_MS);

  function listen(claim: string, listener: () => void): void {
    const others = listeners.get(claim) ?? new Set();
    listeners.set(claim, others.add(listener));
  }

  function stopListening(claim: string, listener: () => void): void {
    const others = listeners.get(claim);
    others?.delete(listener);
    if (others?.size === 0) listeners.delete(claim);
  }

  function notifyClosed(claim: string): void {
    const notified = listeners.get(claim);
    listeners.delete(claim);
    for (const listener of notified ?? []) listener();
  }

  function answer(claim: string, asker: string): void {
    const reply = () => send(asker, `${CLOSED} ${claim}`);
    if (open.has(claim)) listen(claim, reply);
    else reply();
  }

  return {
    open: (claim) => void open.add(claim),
    close(claim) {
      open.delete(claim);
      notifyClosed(claim);
    },
    async untilClosed(claim) {
      const [holder = ''] = claim.split('.');
      if (holder === instance && !open.has(claim)) return true;
      return new Promise((resolve) => {
        const deadline: Deadline = {
          dueAtMs: 0,
          onDue() {
            stopListening(claim, listener);
            resolve(false);
          },
        };
        const listener = () => {
          deadlines.cancel(deadline);
          resolve(true);
        };
        deadlines.add(deadline);
        listen(claim, listener);
        if (holder !== instance) send(holder, `${ASKED} ${claim} ${instance}`);
      });
    },
    receive(message) {
      const [kind, claim = '', asker = ''] = message.split(' ');
      if (kind === ASKED) answer(claim, asker);
      else if (kind === CLOSED) notifyClosed(claim);
      else return false;
      return true;
    },
  };
}
