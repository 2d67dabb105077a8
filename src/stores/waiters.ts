/** The waiters of this process, by session. */
import type { Notice, Waiter } from '../relay/store.ts';

/** An entry exists only while a poll waits, so idle sessions take no memory here. */
export function createWaiters() {
  const byId = new Map<string, Set<Waiter>>();

  /** Notifies the waiters of a session. After 'opened' they stay registered. */
  function notify(id: string, notice: Notice): void {
    const waiters = byId.get(id);
    if (notice !== 'opened') byId.delete(id);
    for (const waiter of waiters ?? []) {
      if (notice !== 'opened' || waiter.wantsProgress) waiter.notify(notice);
    }
  }

  return {
    add(id: string, waiter: Waiter): void {
      waiter.registeredAs = id;
      const waiters = byId.get(id) ?? new Set();
      byId.set(id, waiters.add(waiter));
    },
    remove(waiter: Waiter): void {
      const waiters = byId.get(waiter.registeredAs);
      waiters?.delete(waiter);
      if (waiters?.size === 0) byId.delete(waiter.registeredAs);
    },
    notify,
    /** Notifies all waiters, because any session may have completed. */
    notifyAll(): void {
      for (const id of [...byId.keys()]) notify(id, 'recheck');
    },
  };
}
