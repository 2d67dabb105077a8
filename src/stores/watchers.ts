/** Who waits for which session to complete, within this process. */
import { MAX_POLLS_PER_SESSION } from '../limits.ts';
import type { News } from '../relay/store.ts';

type Wake = (news: News) => void;

export interface Watchers {
  /** Adds one; the oldest is woken to make room when too many watch one session. */
  add(id: string, wake: Wake): () => void;
  /** The session has completed. */
  wake(id: string): void;
  /** Any of them may have completed. */
  wakeAll(): void;
}

/** Kept as long as somebody waits, not as long as the session. */
export function createWatchers(): Watchers {
  const byId = new Map<string, Set<Wake>>();

  function wake(id: string, news: News): void {
    const waiting = byId.get(id);
    byId.delete(id);
    for (const wakeOne of waiting ?? []) wakeOne(news);
  }

  return {
    add(id, wakeOne) {
      const waiting = byId.get(id) ?? new Set();
      byId.set(id, waiting);
      if (waiting.size >= MAX_POLLS_PER_SESSION) {
        const [oldest] = waiting;
        if (oldest !== undefined) waiting.delete(oldest);
        oldest?.('perhaps');
      }
      waiting.add(wakeOne);
      return () => {
        waiting.delete(wakeOne);
        if (waiting.size === 0 && byId.get(id) === waiting) byId.delete(id);
      };
    },
    wake: (id) => wake(id, 'completed'),
    wakeAll() {
      for (const id of [...byId.keys()]) wake(id, 'perhaps');
    },
  };
}
