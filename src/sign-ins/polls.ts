/**
 * Long polls: a device waits for its result, and one poll gets it. docs/protocol.md §3. A poll is
 * a race of a notice, its deadline and the disconnection of its device.
 */
import {
  EXCHANGE_LEASE_MS,
  MAX_PARKED_POLLS,
  STORE_RETRY_MAX_MS,
  STORE_RETRY_MS,
} from '../limits.ts';
import type { Notice, SessionResult } from './session.ts';
import { type Awaitable, type Store, StoreUnavailable, type Waiter } from './store.ts';
import { type Clock, createDeadlineQueue, type Deadline, type DeadlineQueue } from './time.ts';
import type { PollKey } from './vault.ts';

/**
 * Polls of one session that are parked at once. A device needs one; it may have more until the
 * relay notices that it has left the old ones.
 */
export const MAX_POLLS_PER_SESSION = 4;

/** Never evict a poll in its first second: its device polls again at once, and devices would take turns in a tight loop. */
const MIN_HOLD_SECONDS = 1;

export type PollOutcome =
  | { readonly state: 'delivered'; readonly result: SessionResult }
  /** `isOpened`: the device asked for progress, and the link was opened. Once a session. */
  | { readonly state: 'pending'; readonly isOpened?: boolean }
  | { readonly state: 'gone' };

/** What a claim found. `unchangedForMs`: how long until the session changes by itself. */
export type Claim = PollOutcome & { readonly unchangedForMs?: number };

const PENDING = { state: 'pending' } as const;

/** `claim` asks for the result, and takes it if there is one. */
export function createPolls(
  store: Pick<Store, 'watch' | 'unwatch'>,
  claim: (key: PollKey, wantsProgress: boolean) => Awaitable<Claim>,
  clock: Clock,
  maxParked = MAX_PARKED_POLLS,
) {
  /** One queue for each hold time: its polls are held for equally long. */
  const queues = new Map<number, DeadlineQueue>();
  /** Nothing announces that a lease ran out, so every poll looks again by then. */
  const rechecks = createDeadlineQueue(clock, EXCHANGE_LEASE_MS);
  /** The polls that count against the limits, the oldest first. */
  const counted = new Set<ParkedPoll>();
  const countedOfSession = new Map<string, ParkedPoll[]>();
  let isClosed = false;

  function queueOf(seconds: number): DeadlineQueue {
    const queue = queues.get(seconds) ?? createDeadlineQueue(clock, seconds * 1_000);
    queues.set(seconds, queue);
    return queue;
  }

  async function park(poll: ParkedPoll, key: PollKey, signal: AbortSignal): Promise<PollOutcome> {
    // Watch first, look second: a change in between notifies the poll.
    let unchangedForMs = store.watch(poll);
    signal.addEventListener('abort', poll);
    try {
      for (let retryMs = STORE_RETRY_MS; ; retryMs = Math.min(2 * retryMs, STORE_RETRY_MAX_MS)) {
        // Never look for a device that has disconnected: it would lose the result.
        if (signal.aborted) return PENDING;
        const { notice } = poll;
        poll.notice = undefined;
        if (unchangedForMs === undefined) {
          const found = await tryToClaim(key, poll.wantsProgress);
          // A store that restarted without its sessions ends the poll as pending. The next one gets 'gone'.
          if (found?.state === 'gone') return notice === 'recheck' ? PENDING : found;
          if (found?.state === 'delivered' || found?.isOpened) return found;
          // After a fault nothing may notify this poll.
          unchangedForMs = found === undefined ? retryMs : (found.unchangedForMs ?? retryMs);
        }
        if (poll.isOver || isClosed) return PENDING;
        // Only now, so that a poll with an invented secret evicts no other.
        if (poll.isNew) count(poll);
        if (poll.notice === undefined) await sleep(poll, unchangedForMs);
        unchangedForMs = undefined;
      }
    } finally {
      store.unwatch(poll);
      poll.queue.cancel(poll);
      uncount(poll);
      signal.removeEventListener('abort', poll);
    }
  }

  /** Undefined if the store refused or did not reply. The poll keeps waiting, because a device treats any error as final. */
  async function tryToClaim(key: PollKey, wantsProgress: boolean): Promise<Claim | undefined> {
    try {
      return await claim(key, wantsProgress);
    } catch (error) {
      if (error instanceof StoreUnavailable) return undefined;
      throw error;
    }
  }

  /** Until it is notified, its deadline, or the session may have changed by itself. */
  async function sleep(poll: ParkedPoll, unchangedForMs: number): Promise<void> {
    const recheck: Deadline = { dueAtMs: 0, onDue: () => poll.wake() };
    const isSoon = unchangedForMs < EXCHANGE_LEASE_MS;
    const cancelTimer = isSoon ? clock.setTimer(unchangedForMs, () => poll.wake()) : undefined;
    if (!isSoon) rechecks.add(recheck);
    await poll.woken();
    cancelTimer?.();
    rechecks.cancel(recheck);
  }

  function count(poll: ParkedPoll): void {
    poll.isNew = false;
    counted.add(poll);
    const own = countedOfSession.get(poll.pollId) ?? [];
    countedOfSession.set(poll.pollId, own);
    if (own.push(poll) > MAX_POLLS_PER_SESSION) evict(own[0]);
    const [oldest] = counted.size > maxParked ? counted : [];
    evict(oldest);
  }

  /** It counts no longer, even if it is too young to end now. */
  function evict(poll: ParkedPoll | undefined): void {
    if (poll === undefined) return;
    uncount(poll);
    if (clock.now() - poll.parkedAtMs >= MIN_HOLD_SECONDS * 1_000) poll.onDue();
    else poll.moveTo(queueOf(MIN_HOLD_SECONDS));
  }

  function uncount(poll: ParkedPoll): void {
    if (!counted.delete(poll)) return;
    const own = countedOfSession.get(poll.pollId) ?? [];
    own.splice(own.indexOf(poll), 1);
    if (own.length === 0) countedOfSession.delete(poll.pollId);
  }

  /** Every parked poll returns now. Later polls may park. */
  function release(): void {
    for (const queue of queues.values()) queue.releaseAll();
  }

  return {
    /**
     * Waits for the result and takes it, at most once. Returns 'pending' after `holdSeconds`,
     * when `signal` fires, or when released, and 'gone' as soon as the session has expired. One
     * poll more than a session, or all of them, may park evicts the one that was parked first.
     */
    async wait(
      key: PollKey,
      signal: AbortSignal,
      holdSeconds: number,
      wantsProgress: boolean,
    ): Promise<PollOutcome> {
      if (signal.aborted) return PENDING;
      if (holdSeconds === 0 || isClosed) return (await tryToClaim(key, wantsProgress)) ?? PENDING;
      const poll = new ParkedPoll(key.id, wantsProgress, clock.now(), queueOf(holdSeconds));
      return park(poll, key, signal);
    },
    release,
    /** Like `release`, and from now on no poll parks. */
    close(): void {
      isClosed = true;
      release();
    },
    countParked: () => [...queues.values()].reduce((sum, { size }) => sum + size, 0),
  };
}

/** One parked poll. Thousands exist at a time, so it is one object: its own waiter, deadline and abort listener. */
class ParkedPoll implements Waiter, Deadline {
  dueAtMs = 0;
  notice: Notice | 'recheck' | undefined;
  isOver = false;
  /** It was not counted yet. */
  isNew = true;
  #resume: (() => void) | undefined;

  constructor(
    readonly pollId: string,
    readonly wantsProgress: boolean,
    readonly parkedAtMs: number,
    public queue: DeadlineQueue,
  ) {
    queue.add(this);
  }

  moveTo(queue: DeadlineQueue): void {
    // A poll that is held for MIN_HOLD_SECONDS anyway keeps its deadline.
    if (queue === this.queue) return;
    this.queue.cancel(this);
    this.queue = queue;
    queue.add(this);
  }

  /** After a 'recheck' the session may be gone for another reason than a 'completed'. */
  notify(notice: Notice | 'recheck'): void {
    if (this.notice !== 'recheck') this.notice = notice;
    this.wake();
  }

  onDue(): void {
    this.isOver = true;
    this.wake();
  }

  /** The device has disconnected. */
  handleEvent(): void {
    this.onDue();
  }

  wake(): void {
    this.#resume?.();
  }

  woken(): Promise<void> {
    return new Promise((resolve) => {
      this.#resume = resolve;
    });
  }
}
