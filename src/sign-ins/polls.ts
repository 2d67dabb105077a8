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
import type { Polled, SessionResult } from './session.ts';
import { type Awaitable, type Store, StoreUnavailable } from './store.ts';
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
  | Exclude<Polled, { readonly state: 'delivered' }>;

/** What a device asks for with a poll. */
export interface PollOptions {
  /** True if the poll also returns when the link is opened. */
  readonly wantsProgress?: boolean;
  /** The provider at whose endpoint it polls. A session of another provider counts as gone. */
  readonly ofService?: string;
}

const PENDING = { state: 'pending' } as const;

/** `takeResult` checks the session, and consumes its result if there is one. */
export function createPolls(
  store: Pick<Store, 'listen'>,
  takeResult: (key: PollKey, options: PollOptions) => Awaitable<PollOutcome>,
  clock: Clock,
  maxParked = MAX_PARKED_POLLS,
) {
  /** The parked polls, by poll id. */
  const parked = new Map<string, ParkedPoll[]>();
  /** Polls that count against the limits, the oldest first. */
  const counted = new Set<ParkedPoll>();
  /** Polls whose session could not be looked up, because the store is down. */
  const unconfirmed = new Set<ParkedPoll>();
  /** Deadline queues by hold time: all polls of a queue are held for the same time. */
  const queues = new Map<number, DeadlineQueue>();
  /** No notice is sent when a lease expires, so every poll checks its session again by then. */
  const rechecks = createDeadlineQueue(clock, EXCHANGE_LEASE_MS);
  let isClosed = false;

  const listParked = () => [...parked.values()].flat();

  store.listen({
    notify(pollId, notice) {
      for (const poll of parked.get(pollId) ?? []) {
        if (notice === 'completed' || poll.wantsProgress) poll.wake();
      }
    },
    recheckAll() {
      for (const poll of listParked()) poll.wake();
    },
  });

  function queueOf(seconds: number): DeadlineQueue {
    const queue = queues.get(seconds) ?? createDeadlineQueue(clock, seconds * 1_000);
    queues.set(seconds, queue);
    return queue;
  }

  /** Undefined if the store refused or did not reply: the poll keeps waiting, because a device treats any error as final. */
  async function tryToTakeResult(key: PollKey, options: PollOptions) {
    try {
      return await takeResult(key, options);
    } catch (error) {
      if (error instanceof StoreUnavailable) return undefined;
      throw error;
    }
  }

  /** At the limit, evicts the oldest poll, an unconfirmed one first: anybody can poll with an invented secret. */
  function count(poll: ParkedPoll, isConfirmed: boolean): void {
    if (poll.isEvicted || counted.has(poll)) return;
    if (isConfirmed) unconfirmed.delete(poll);
    (isConfirmed ? counted : unconfirmed).add(poll);
    const own = parked.get(poll.id)?.filter((each) => counted.has(each)) ?? [];
    if (own.length > MAX_POLLS_PER_SESSION) evict(own[0]);
    const isFull = counted.size + unconfirmed.size > maxParked;
    const [oldest] = isFull ? (unconfirmed.size > 0 ? unconfirmed : counted) : [];
    evict(oldest);
  }

  /** Stops counting the poll, and ends it once it was held for MIN_HOLD_SECONDS. */
  function evict(poll: ParkedPoll | undefined): void {
    if (poll === undefined) return;
    poll.isEvicted = true;
    counted.delete(poll);
    unconfirmed.delete(poll);
    if (clock.now() - poll.parkedAtMs >= MIN_HOLD_SECONDS * 1_000) poll.onDue();
    else poll.moveTo(queueOf(MIN_HOLD_SECONDS));
  }

  function remove(poll: ParkedPoll): void {
    poll.queue.cancel(poll);
    poll.cancelRecheck();
    counted.delete(poll);
    unconfirmed.delete(poll);
    const own = parked.get(poll.id) ?? [];
    own.splice(own.indexOf(poll), 1);
    if (own.length === 0) parked.delete(poll.id);
  }

  /** Every parked poll returns now. Later polls may park. */
  function release(): void {
    for (const poll of listParked()) poll.onDue();
  }

  return {
    /**
     * Waits for the result and takes it, at most once. Returns 'pending' after `holdSeconds`,
     * when `signal` fires, or when released, and 'gone' as soon as the session has expired. If
     * this poll is one too many for its session or for the process, the oldest is evicted.
     */
    async wait(key: PollKey, signal: AbortSignal, holdSeconds: number, options: PollOptions) {
      if (signal.aborted) return PENDING;
      if (holdSeconds === 0 || isClosed) return (await tryToTakeResult(key, options)) ?? PENDING;
      const poll = new ParkedPoll(key.id, options.wantsProgress, clock.now(), queueOf(holdSeconds));
      // Parks before it checks the session: a change in between wakes the poll.
      parked.set(key.id, [...(parked.get(key.id) ?? []), poll]);
      signal.addEventListener('abort', poll);
      try {
        let retryMs = STORE_RETRY_MS;
        for (;;) {
          poll.wasWoken = false;
          const found = await tryToTakeResult(key, options);
          if (found !== undefined && (found.state !== 'pending' || found.isOpened)) return found;
          if (poll.isOver || isClosed) return PENDING;
          // Counted here and not earlier: while the store answers, a poll with an invented secret never gets this far.
          count(poll, found !== undefined);
          await poll.sleep(clock, rechecks, found?.unchangedForMs ?? retryMs);
          // Never take the result for a device that has disconnected: it would be lost.
          if (signal.aborted) return PENDING;
          retryMs =
            found === undefined ? Math.min(2 * retryMs, STORE_RETRY_MAX_MS) : STORE_RETRY_MS;
        }
      } finally {
        remove(poll);
        signal.removeEventListener('abort', poll);
      }
    },
    release,
    /** Like `release`, and from now on no poll parks. */
    close(): void {
      isClosed = true;
      release();
    },
    countParked: () => listParked().length,
  };
}

/** Thousands exist at a time, so each is one object, which is also its own deadline and abort listener. */
class ParkedPoll implements Deadline {
  dueAtMs = 0;
  isOver = false;
  isEvicted = false;
  /** True if it was woken since it last checked its session. */
  wasWoken = false;
  readonly recheck: Deadline = { dueAtMs: 0, onDue: () => this.wake() };
  #resume: (() => void) | undefined;
  #recheckQueue: DeadlineQueue | undefined;

  constructor(
    readonly id: string,
    readonly wantsProgress: boolean | undefined,
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

  onDue(): void {
    this.isOver = true;
    this.wake();
  }

  /** The device has disconnected. */
  handleEvent(): void {
    this.onDue();
  }

  wake(): void {
    this.wasWoken = true;
    this.cancelRecheck();
    this.#resume?.();
  }

  cancelRecheck(): void {
    this.#recheckQueue?.cancel(this.recheck);
  }

  /** Waits until the poll is woken, or the session may have changed by itself. */
  sleep(clock: Clock, rechecks: DeadlineQueue, unchangedForMs: number): Promise<void> | undefined {
    if (this.wasWoken) return undefined;
    // Short waits use a deadline queue too: after a pause of the process it leaves time to read a disconnection first.
    this.#recheckQueue =
      unchangedForMs >= EXCHANGE_LEASE_MS ? rechecks : createDeadlineQueue(clock, unchangedForMs);
    this.#recheckQueue.add(this.recheck);
    return new Promise((resolve) => {
      this.#resume = resolve;
    });
  }
}
