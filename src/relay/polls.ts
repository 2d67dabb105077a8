/** Devices that wait for a result, and how one of them comes by it. `protocol.md` §3 rule 4, §4. */
import { STORE_RETRY_MAX_MS, STORE_RETRY_MS } from '../limits.ts';
import type { Clock } from './clock.ts';
import { createDeadlines, type Deadlines } from './deadlines.ts';
import { type Claim, type News, type SessionStore, StoreUnavailable } from './store.ts';

export interface Polls {
  /**
   * Waits for the result and claims it, at most once. Returns 'pending' after
   * `holdSeconds`, on `signal`, or when released. Never claims for a caller whose
   * `signal` has fired: nobody would receive what was claimed.
   */
  wait(pollSecret: string, signal: AbortSignal, holdSeconds?: number): Promise<Claim>;
  /** Lets every poll that waits return now. Others may wait after it. */
  release(): void;
  /** As `release`, and from now on no poll is held. */
  close(): void;
}

const PENDING: Claim = { state: 'pending' };

export function createPolls(store: SessionStore, clock: Clock, defaultHoldSeconds: number): Polls {
  /** By their length: each queue holds waits that are equally long. */
  const holdsBySeconds = new Map<number, Deadlines>();
  let closed = false;

  function holdsOf(seconds: number): Deadlines {
    const known = holdsBySeconds.get(seconds) ?? createDeadlines(clock, seconds * 1_000);
    holdsBySeconds.set(seconds, known);
    return known;
  }

  function releaseAll(): void {
    for (const waits of holdsBySeconds.values()) waits.releaseAll();
  }

  async function wait(
    pollSecret: string,
    signal: AbortSignal,
    holdSeconds = defaultHoldSeconds,
  ): Promise<Claim> {
    if (holdSeconds === 0) return (await claim(pollSecret, signal)) ?? PENDING;
    let news: News | undefined;
    let isOver = false;
    let resume: (() => void) | undefined;
    let cancelRetry: (() => void) | undefined;
    function wake(heard: News): void {
      news ??= heard;
      resume?.();
    }
    function giveUp(): void {
      isOver = true;
      wake('perhaps');
    }
    // Watched first, looked at second: a completion in between wakes it.
    const stopWatching = store.watch(pollSecret, wake);
    const holds = holdsOf(holdSeconds);
    const hold = holds.add(giveUp);
    signal.addEventListener('abort', giveUp);
    if (signal.aborted) giveUp();
    try {
      for (let retryMs = STORE_RETRY_MS; ; retryMs = Math.min(2 * retryMs, STORE_RETRY_MAX_MS)) {
        const heard = news;
        const found = await claim(pollSecret, signal);
        if (found?.state === 'claimed') return found;
        // Without a completion the answer is 'not yet', even for a session that has
        // meanwhile expired or was lost with its store; the next poll says so. protocol.md §4.
        if (found?.state === 'gone') return heard === 'perhaps' ? PENDING : found;
        const wasWoken = heard !== undefined;
        if (isOver || closed || (found !== undefined && wasWoken)) return PENDING;
        // What it heard meanwhile it looks at once more.
        if (news !== heard) continue;
        await new Promise<void>((resolve) => {
          resume = resolve;
          // No waiter is registered for a claim that failed: nobody would wake this poll.
          if (found === undefined) cancelRetry = clock.setTimer(retryMs, resolve);
        });
        cancelRetry?.();
      }
    } finally {
      stopWatching();
      holds.callOff(hold);
      signal.removeEventListener('abort', giveUp);
    }
  }

  /** Undefined: refused or unknown. While the store is away the device is kept waiting: any error would be final to it. */
  async function claim(pollSecret: string, signal: AbortSignal): Promise<Claim | undefined> {
    if (signal.aborted) return PENDING;
    try {
      return await store.claim(pollSecret, clock.now(), signal);
    } catch (error) {
      if (error instanceof StoreUnavailable) return undefined;
      throw error;
    }
  }

  return {
    wait,
    release: releaseAll,
    close() {
      closed = true;
      releaseAll();
    },
  };
}
