/** The waiters of this process, by session. */
import type { Notice, Waiter } from '../relay/store.ts';

/**
 * Polls of one session parked at once. Enough for a device that retries before its old
 * connections are found to be half-open. One more, and the oldest gets a 204, so that one
 * session cannot use every connection of the process.
 */
export const MAX_POLLS_PER_SESSION = 32;

export interface Waiters {
  /** Adds a waiter. If a session has too many, notifies the oldest to make room. */
  add(id: string, waiter: Waiter): void;
  remove(waiter: Waiter): void;
  /** Notifies the waiters of a session. After 'opened' they stay registered. */
  notify(id: string, notice: Notice): void;
  /** Notifies all waiters, because any session may have completed. */
  notifyAll(): void;
}

/** An entry exists only while a poll waits, so idle sessions take no memory here. */
export function createWaiters(): Waiters {
  const byId = new Map<string, Set<Waiter>>();

  function notify(id: string, notice: Notice): void {
    const waiters = byId.get(id);
    if (notice !== 'opened') byId.delete(id);
    for (const waiter of waiters ?? []) {
      if (notice !== 'opened' || waiter.wantsProgress) waiter.notify(notice);
    }
  }

  return {
    add(id, waiter) {
      waiter.registeredAs = id;
      const waiters = byId.get(id);
      if (waiters === undefined) {
        byId.set(id, new Set([waiter]));
        return;
      }
      if (waiters.size >= MAX_POLLS_PER_SESSION) {
        const [oldest] = waiters;
        if (oldest !== undefined) waiters.delete(oldest);
        oldest?.notify('recheck');
      }
      waiters.add(waiter);
    },
    remove(waiter) {
      const waiters = byId.get(waiter.registeredAs);
      waiters?.delete(waiter);
      if (waiters?.size === 0) byId.delete(waiter.registeredAs);
    },
    notify,
    notifyAll() {
      for (const id of [...byId.keys()]) notify(id, 'recheck');
    },
  };
}
