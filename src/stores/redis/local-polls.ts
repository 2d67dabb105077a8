/**
 * What this process knows about the sessions whose devices poll here, without querying the
 * store: their waiters, the session of a poll secret, and whether it is still pending.
 */

import { EXCHANGE_LEASE_MS } from '../../limits.ts';
import type { Waiter } from '../../relay/store.ts';
import type { Clock } from '../../relay/time.ts';
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

export type LocalPolls = ReturnType<typeof createLocalPolls>;

/**
 * A session is known to be pending for a while after a registration, or a claim, that
 * has also registered this process to be notified, until the session expires, a change
 * is published, or a message may have been missed.
 */
export function createLocalPolls(clock: Clock) {
  const waiters = createWaiters();
  // Two maps, because removing the oldest entry of one for each new one is slow.
  let recent = new Map<string, KnownPoll>();
  let older = new Map<string, KnownPoll>();

  const get = (pollId: string) => recent.get(pollId) ?? older.get(pollId);

  /** With `endsInMs` it is pending, and expires after that time. */
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
    delete(pollId: string): void {
      recent.delete(pollId);
      older.delete(pollId);
    },
    /** A claim found it pending. `when` is what was known when the claim was sent. */
    foundPending(pollId: string, when: KnownPoll | undefined, endsInMs: number): void {
      const known = get(pollId);
      if (known !== undefined && known === when) add(pollId, known.pointer, endsInMs);
    },
    /** If the session is known to be pending: the milliseconds until the waiter looks again. */
    addWaiter(pollId: string, waiter: Waiter): number | undefined {
      waiters.add(pollId, waiter);
      const known = get(pollId);
      const nowMs = clock.now();
      return known && nowMs < known.pendingUntilMs ? known.endsAtMs - nowMs : undefined;
    },
    removeWaiter: waiters.remove,
    /** The session has a result or was cancelled. A claim sent before this proves nothing. */
    changed(pollId: string): void {
      const known = get(pollId);
      if (known !== undefined) add(pollId, known.pointer);
      waiters.notify(pollId, 'completed');
    },
    opened(pollId: string): void {
      waiters.notify(pollId, 'opened');
    },
    /** Messages may have been missed: removes every session, and notifies every waiter. */
    recheckAll(): void {
      recent.clear();
      older.clear();
      waiters.notifyAll();
    },
  };
}
