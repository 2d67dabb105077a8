/** The waiters of this process, by poll id. */
import type { Notice } from '../sign-ins/session.ts';
import type { Waiter } from '../sign-ins/store.ts';

/** An entry exists only while a poll waits, so idle sessions take no memory here. */
export function createWaiters() {
  const byPoll = new Map<string, Set<Waiter>>();
  return {
    add(waiter: Waiter): void {
      const waiters = byPoll.get(waiter.pollId) ?? new Set();
      byPoll.set(waiter.pollId, waiters.add(waiter));
    },
    remove(waiter: Waiter): void {
      const waiters = byPoll.get(waiter.pollId);
      waiters?.delete(waiter);
      if (waiters?.size === 0) byPoll.delete(waiter.pollId);
    },
    notify(pollId: string, notice: Notice): void {
      for (const waiter of byPoll.get(pollId) ?? []) {
        if (notice === 'completed' || waiter.wantsProgress) waiter.notify(notice);
      }
    },
    /** Any session may have changed. */
    recheckAll(): void {
      for (const waiters of byPoll.values()) for (const each of waiters) each.notify('recheck');
    },
  };
}
