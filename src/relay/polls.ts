/** Long polls: how devices wait for a result, and one poll gets it. docs/protocol.md §3. */
import { MAX_PARKED_POLLS, STORE_RETRY_MAX_MS, STORE_RETRY_MS } from '../limits.ts';
import {
  type Awaitable,
  type Claim,
  type Notice,
  type PendingClaim,
  type SessionStore,
  StoreUnavailable,
  type Waiter,
} from './store.ts';
import { type Clock, createDeadlineQueue, type Deadline, type DeadlineQueue } from './time.ts';

/**
 * Polls of one session that are parked at once. A device needs one; it may have more until the
 * relay notices that it has left the old ones.
 */
export const MAX_POLLS_PER_SESSION = 4;

/**
 * No poll makes room for another before it was held for this long, because its device polls
 * again at once: otherwise devices would take turns as fast as they can.
 */
const MIN_HOLD_SECONDS = 1;

export type PollOutcome =
  | Exclude<Claim, PendingClaim>
  | { readonly state: 'pending'; readonly isOpened?: true };

const PENDING = { state: 'pending' } as const;
const OPENED = { state: 'pending', isOpened: true } as const;

export class Polls {
  /** One queue for each hold time: its polls are held for equally long. */
  readonly #queues = new Map<number, DeadlineQueue>();
  readonly #counted = new CountedPolls();
  #isClosed = false;

  constructor(
    private readonly store: SessionStore,
    private readonly clock: Clock,
    private readonly maxParked = MAX_PARKED_POLLS,
  ) {}

  /**
   * Waits for the result and claims it, at most once. Returns 'pending' after
   * `holdSeconds`, when `signal` fires, or when released, and 'gone' as soon as the
   * session has expired. Never claims after `signal` has fired: the result would be lost.
   * One poll more than a session, or all of them, may park makes the one that was parked
   * first return 'pending', but not before MIN_HOLD_SECONDS.
   * With `wantsProgress` it also returns, once a session, as soon as the user has opened
   * the link.
   */
  wait(
    pollSecret: string,
    signal: AbortSignal,
    holdSeconds: number,
    wantsProgress = false,
  ): Awaitable<PollOutcome> {
    if (signal.aborted) return PENDING;
    if (holdSeconds === 0 || this.#isClosed) {
      return claimNow(this.store, pollSecret, signal, wantsProgress);
    }
    return this.#park(pollSecret, signal, holdSeconds, wantsProgress);
  }

  /** Every parked poll returns now. Later polls may park. */
  release(): void {
    for (const queue of this.#queues.values()) queue.releaseAll();
  }

  /** How many polls are parked. */
  countParked(): number {
    return [...this.#queues.values()].reduce((sum, { size }) => sum + size, 0);
  }

  /** Like `release`, and from now on no poll parks. */
  close(): void {
    this.#isClosed = true;
    this.release();
  }

  async #park(
    pollSecret: string,
    signal: AbortSignal,
    holdSeconds: number,
    wantsProgress: boolean,
  ): Promise<PollOutcome> {
    const poll = new ParkedPoll(pollSecret, wantsProgress, this.clock.now());
    // The waiter first, the claim second: a completion in between notifies it.
    const known = this.store.addWaiter(pollSecret, poll);
    poll.moveTo(this.#queueOf(holdSeconds));
    signal.addEventListener('abort', poll);
    try {
      return await this.#untilOver(poll, signal, known);
    } finally {
      this.store.removeWaiter(poll);
      poll.queue?.cancel(poll);
      this.#counted.remove(poll);
      signal.removeEventListener('abort', poll);
    }
  }

  async #untilOver(
    poll: ParkedPoll,
    signal: AbortSignal,
    knownAtFirst: PendingClaim | undefined,
  ): Promise<PollOutcome> {
    const { pollSecret, wantsProgress } = poll;
    let known = knownAtFirst;
    for (let retryMs = STORE_RETRY_MS; ; retryMs = Math.min(2 * retryMs, STORE_RETRY_MAX_MS)) {
      if (signal.aborted) return PENDING;
      const noticeBefore = poll.notice;
      poll.wasOpened = false;
      const claiming = known ?? claim(this.store, pollSecret);
      known = undefined;
      const found = claiming instanceof Promise ? await claiming : claiming;
      if (found?.state === 'claimed') return found;
      // A store that restarted without its sessions ends the poll as pending. The next poll gets 'gone'.
      if (found?.state === 'gone') return noticeBefore === 'recheck' ? PENDING : found;
      // After the claim, so that it neither takes nor delays a result.
      if (
        found !== undefined &&
        wantsProgress &&
        (await takeOpenedNotice(this.store, pollSecret, signal))
      ) {
        return OPENED;
      }
      const isAnswered = found !== undefined && noticeBefore !== undefined;
      if (poll.isOver || this.#isClosed || isAnswered) return PENDING;
      // Notified during the claim: it claims once more.
      if (poll.notice !== noticeBefore || poll.wasOpened) continue;
      // Only now, so that a poll with an invented secret ends no other.
      if (poll.place === 'new') this.#count(poll);
      // The store registers no waiter for a claim that failed, so nothing would notify this poll.
      await this.#untilNotified(poll, found?.endsInMs ?? retryMs);
    }
  }

  /** Nothing notifies a poll when its session expires, so it looks again by itself. */
  async #untilNotified(poll: ParkedPoll, againMs: number): Promise<void> {
    const isDueLater = this.clock.now() + againMs < poll.dueAtMs;
    const cancel = isDueLater ? this.clock.setTimer(againMs, () => poll.resume?.()) : undefined;
    await poll.notified();
    cancel?.();
  }

  #count(poll: ParkedPoll): void {
    this.#makeRoom(this.#counted.add(poll));
    if (this.#counted.size > this.maxParked) this.#makeRoom(this.#counted.first);
  }

  /** Ends a poll. It no longer counts, even if it is too young to end now. */
  #makeRoom(poll: ParkedPoll | undefined): void {
    if (poll === undefined) return;
    this.#counted.remove(poll);
    if (this.clock.now() - poll.parkedAtMs >= MIN_HOLD_SECONDS * 1_000) poll.onDue();
    else poll.moveTo(this.#queueOf(MIN_HOLD_SECONDS));
  }

  #queueOf(seconds: number): DeadlineQueue {
    let queue = this.#queues.get(seconds);
    if (queue === undefined) {
      queue = createDeadlineQueue(this.clock, seconds * 1_000);
      this.#queues.set(seconds, queue);
    }
    return queue;
  }
}

/** One parked poll. Thousands exist at a time, so it is one object: its own waiter, deadline, abort listener and list entry. */
class ParkedPoll implements Waiter, Deadline {
  registeredAs = '';
  dueAtMs = 0;
  notice: Exclude<Notice, 'opened'> | undefined;
  wasOpened = false;
  isOver = false;
  queue: DeadlineQueue | undefined;
  /** These four are set by CountedPolls. */
  place: 'new' | 'counted' | 'removed' = 'new';
  older: ParkedPoll | undefined;
  newer: ParkedPoll | undefined;
  /** The next older poll of the same session. */
  olderOfSession: ParkedPoll | undefined;
  resume: (() => void) | undefined;

  constructor(
    readonly pollSecret: string,
    readonly wantsProgress: boolean,
    readonly parkedAtMs: number,
  ) {}

  moveTo(queue: DeadlineQueue): void {
    // A poll that is held for MIN_HOLD_SECONDS anyway keeps its deadline.
    if (queue === this.queue) return;
    this.queue?.cancel(this);
    this.queue = queue;
    queue.add(this);
  }

  notify(notice: Notice): void {
    if (notice === 'opened') this.wasOpened = true;
    else this.notice ??= notice;
    this.resume?.();
  }

  onDue(): void {
    this.isOver = true;
    this.resume?.();
  }

  /** The device has disconnected. */
  handleEvent(): void {
    this.onDue();
  }

  notified(): Promise<void> {
    return new Promise((resolve) => {
      this.resume = resolve;
    });
  }
}

/**
 * The polls that count against the limits, in the order in which they were parked. It is a linked
 * list, because to find the first of a Set takes longer the more were removed before it.
 */
class CountedPolls {
  first: ParkedPoll | undefined;
  #last: ParkedPoll | undefined;
  /** The newest poll of each session. */
  readonly #newest = new Map<string, ParkedPoll>();
  size = 0;

  /** Returns the oldest poll of the session if it has more than MAX_POLLS_PER_SESSION. */
  add(poll: ParkedPoll): ParkedPoll | undefined {
    poll.place = 'counted';
    poll.older = this.#last;
    if (this.#last === undefined) this.first = poll;
    else this.#last.newer = poll;
    this.#last = poll;
    this.size += 1;
    poll.olderOfSession = this.#newest.get(poll.pollSecret);
    this.#newest.set(poll.pollSecret, poll);
    let oldest = poll;
    let count = 1;
    for (; oldest.olderOfSession !== undefined; count += 1) oldest = oldest.olderOfSession;
    return count > MAX_POLLS_PER_SESSION ? oldest : undefined;
  }

  remove(poll: ParkedPoll): void {
    if (poll.place !== 'counted') return;
    poll.place = 'removed';
    const { older, newer } = poll;
    if (older === undefined) this.first = newer;
    else older.newer = newer;
    if (newer === undefined) this.#last = older;
    else newer.older = older;
    this.size -= 1;
    this.#removeOfSession(poll);
  }

  #removeOfSession(poll: ParkedPoll): void {
    const { pollSecret, olderOfSession } = poll;
    let newer = this.#newest.get(pollSecret);
    if (newer !== poll) {
      while (newer !== undefined && newer.olderOfSession !== poll) newer = newer.olderOfSession;
      if (newer !== undefined) newer.olderOfSession = olderOfSession;
    } else if (olderOfSession === undefined) {
      this.#newest.delete(pollSecret);
    } else {
      this.#newest.set(pollSecret, olderOfSession);
    }
  }
}

/** Undefined: the store refused or did not reply. The poll keeps waiting, because a device treats any error as final. */
function claim(store: SessionStore, pollSecret: string): Awaitable<Claim | undefined> {
  const claiming = store.claim(pollSecret);
  return claiming instanceof Promise ? claiming.catch(ignoreUnavailable) : claiming;
}

function ignoreUnavailable(error: unknown): undefined {
  if (!(error instanceof StoreUnavailable)) throw error;
}

/** Not repeated when it fails: only a hint is lost. Never for a device that has disconnected. */
async function takeOpenedNotice(store: SessionStore, pollSecret: string, signal: AbortSignal) {
  if (signal.aborted) return false;
  try {
    return await store.takeOpenedNotice(pollSecret);
  } catch (error) {
    ignoreUnavailable(error);
    return false;
  }
}

async function claimNow(
  store: SessionStore,
  pollSecret: string,
  signal: AbortSignal,
  wantsProgress: boolean,
): Promise<PollOutcome> {
  const found = await claim(store, pollSecret);
  if (found !== undefined && found.state !== 'pending') return found;
  return wantsProgress && found !== undefined && (await takeOpenedNotice(store, pollSecret, signal))
    ? OPENED
    : PENDING;
}
