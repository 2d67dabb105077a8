/**
 * Sessions, refreshes and rate limits in this process, and their vault. Every function of a store
 * runs to its end without awaiting, which makes it atomic. A `Journal` also keeps sessions outside,
 * so that they survive the process.
 */
import { EXCHANGE_LEASE_MS, REFRESH_RESULT_MS } from '../limits.ts';
import { intervalMsOf, type RateLimiter, type RateLimitPolicy } from '../sign-ins/rate-limits.ts';
import { digestOf } from '../sign-ins/secrets.ts';
import type { Delivery, NewSession, Protected, Session } from '../sign-ins/session.ts';
import { createPending, keptUntilMs, stateAt } from '../sign-ins/session.ts';
import type { Listener, RefreshState, RefreshStore, SessionKey, Store } from '../sign-ins/store.ts';
import {
  type Clock,
  createDeadlineQueue,
  type Deadline,
  type DeadlineQueue,
} from '../sign-ins/time.ts';
import { EXCHANGE_FAILED, type PollKey, type Vault } from '../sign-ins/vault.ts';

/** Where sessions are kept besides this process. If it throws, nothing has changed. */
export interface Journal {
  load(): readonly Session[];
  /** Called before the session takes this state. */
  write(session: Session): void;
  /** Called before the session becomes a tombstone. What expires is for the owner of the journal to remove. */
  remove(session: Session): void;
}

/** The most tombstones, about two megabytes. Beyond that the oldest is evicted, and its link is unknown to pages. */
export const MAX_TOMBSTONES = 5_000;

interface Entry {
  session: Session;
}

export function createMemoryStore(clock: Clock, maxSessions: number, journal?: Journal) {
  const byLink = new Map<string, Entry>();
  const byPoll = new Map<string, Entry>();
  const byCode = new Map<string, Entry>();
  /** Entries by how long their state is kept: there are few durations. Each set is in the order of expiry. */
  const byDuration = new Map<number, Set<Entry>>();
  const tombstones = new Set<Entry>();
  /** The oldest first. One iterator for all evictions: a new one would pass every removed tombstone that the set still has. */
  const oldestTombstones = tombstones.values();
  const listeners: Listener[] = [];
  /** Sessions that stopped counting as live since the last sweep. */
  let noLongerLive: Session[] = [];

  const loaded = journal?.load() ?? [];
  for (const session of loaded.toSorted((a, b) => keptUntilMs(a) - keptUntilMs(b))) add(session);

  function add(session: Session): void {
    const entry = { session };
    const { link, poll, code } = session.ids;
    byLink.set(link, entry);
    byPoll.set(poll, entry);
    if (code !== undefined) byCode.set(code, entry);
    schedule(entry);
  }

  /** Appends the entry. So the tombstone of a redelivered result is behind sessions that expire later, and is removed later than necessary. */
  function schedule(entry: Entry): void {
    for (const entries of byDuration.values()) entries.delete(entry);
    const { state, startedAtMs, expiresAtMs, redeliveryMs = 0 } = entry.session;
    const durationMs = state === 'delivered' ? redeliveryMs : expiresAtMs - startedAtMs;
    byDuration.set(durationMs, (byDuration.get(durationMs) ?? new Set()).add(entry));
  }

  function remove(entry: Entry): void {
    const { link, poll, code } = entry.session.ids;
    byLink.delete(link);
    byPoll.delete(poll);
    // A new session may already have its code.
    if (code !== undefined && byCode.get(code) === entry) byCode.delete(code);
    for (const entries of byDuration.values()) entries.delete(entry);
    tombstones.delete(entry);
  }

  /** With `untilLeaseEnds` the change stays even if the journal refuses it: only this process has the result. */
  function replace(entry: Entry, next: Session, untilLeaseEnds?: 'until lease ends'): void {
    try {
      if (next.state === 'ended') journal?.remove(entry.session);
      else journal?.write(next);
    } catch (error) {
      if (untilLeaseEnds === undefined) throw error;
    }
    const wasDelivered = entry.session.state === 'delivered';
    entry.session = next;
    if (wasDelivered || next.state === 'delivered') schedule(entry);
    if (next.state !== 'ended') return;
    tombstones.add(entry);
    const oldest = tombstones.size > MAX_TOMBSTONES ? oldestTombstones.next().value : undefined;
    if (oldest !== undefined) remove(oldest);
  }

  /** Ends or removes the sessions that have expired. Returns how many are live. */
  function expire(nowMs: number): number {
    for (const entries of byDuration.values()) {
      for (const entry of entries) {
        const { session } = entry;
        if (nowMs <= keptUntilMs(session)) break;
        const wasLive = session.state !== 'ended';
        const next = stateAt(session, nowMs);
        if (next !== undefined) replace(entry, next);
        else remove(entry);
        if (wasLive) noLongerLive.push(session);
      }
    }
    return byPoll.size - tombstones.size;
  }

  function findEntry(key: SessionKey): Entry | undefined {
    if ('link' in key) return byLink.get(key.link);
    return 'poll' in key ? byPoll.get(key.poll) : byCode.get(key.code);
  }

  return {
    create(newSession: NewSession, lifetimeMs) {
      const nowMs = clock.now();
      const { link, poll, code } = newSession.ids;
      const ofCode = code === undefined ? undefined : byCode.get(code)?.session;
      // The code of a link that has expired may be drawn again.
      const isInUse = ofCode && ofCode.state !== 'ended' && nowMs <= ofCode.expiresAtMs;
      if (isInUse || byLink.has(link) || byPoll.has(poll)) return 'collision';
      // Expired sessions don't count, but may not be removed yet.
      const isFull = byPoll.size - tombstones.size >= maxSessions;
      if (isFull && expire(nowMs) >= maxSessions) return 'full';
      const session = createPending(newSession, nowMs, lifetimeMs);
      journal?.write(session);
      add(session);
      return 'created';
    },

    update(key, change, untilLeaseEnds) {
      const entry = findEntry(key);
      if (entry === undefined) return undefined;
      const { reply, next, notice } = change(entry.session, clock.now());
      if (next !== undefined) replace(entry, next, untilLeaseEnds);
      if (notice === undefined) return reply;
      for (const each of listeners) each.notify(entry.session.ids.poll, notice);
      return reply;
    },

    listen: (listener) => void listeners.push(listener),

    sweep() {
      expire(clock.now());
      const swept = noLongerLive;
      noLongerLive = [];
      return swept;
    },

    countLive: () => expire(clock.now()),

    hasUndelivered() {
      // The next process delivers what a journal keeps.
      if (journal !== undefined) return false;
      const nowMs = clock.now();
      for (const { session } of byLink.values()) {
        const isWaiting = session.state === 'completed' && session.outcome === 'signed_in';
        if (isWaiting && nowMs <= session.expiresAtMs) return true;
      }
      return false;
    },

    get size() {
      return byPoll.size;
    },
  } satisfies Store & { readonly size: number };
}

export function createMemoryRefreshStore(clock: Clock) {
  const byId = new Map<string, Deadline & { readonly state: RefreshState }>();
  // One millisecond more, because each is kept up to and including its last millisecond.
  const leases = createDeadlineQueue(clock, EXCHANGE_LEASE_MS + 1);
  const results = createDeadlineQueue(clock, REFRESH_RESULT_MS + 1);

  /** A timer removes it, even if nothing looks it up again. */
  function keep(id: string, state: RefreshState, until: DeadlineQueue): void {
    const onDue = () => {
      if (byId.get(id) === refresh) byId.delete(id);
    };
    const refresh = { state, dueAtMs: 0, onDue };
    byId.set(id, refresh);
    until.add(refresh);
  }

  return {
    begin(id) {
      const refresh = byId.get(id);
      if (refresh !== undefined && clock.now() < refresh.dueAtMs) return refresh.state;
      keep(id, { state: 'in_progress' }, leases);
      return { state: 'acquired' };
    },
    finish(id, result) {
      const refresh = byId.get(id);
      if (refresh !== undefined) leases.cancel(refresh);
      byId.delete(id);
      if (result !== undefined) keep(id, { state: 'finished', result }, results);
    },
    get size() {
      return byId.size;
    },
  } satisfies RefreshStore & { readonly size: number };
}

/** How many addresses a limit remembers, in about 10 MB. Beyond that the least recently used one is evicted. */
export const MAX_RATE_LIMIT_ADDRESSES = 100_000;

/** Full buckets are removed in batches, because a large map slows garbage collection. */
const TAKES_BETWEEN_REMOVALS = 256;

/**
 * A bucket is one number: when it will be full. Taking a token moves that time one interval
 * later, to at most `burst` intervals from now.
 */
export function createMemoryRateLimiter(clock: Clock, policy: RateLimitPolicy) {
  const intervalMs = intervalMsOf(policy);
  /** When each bucket will be full. The longest untouched bucket is first. */
  const fullAtMs = new Map<string, number>();
  let takes = 0;

  /** Stops at the first bucket that is not full. A full one behind it stays for up to `burst / rate` seconds. */
  function removeFull(nowMs: number): void {
    for (const [key, fullAt] of fullAtMs) {
      if (fullAt > nowMs) return;
      fullAtMs.delete(key);
    }
  }

  return {
    take(key) {
      const nowMs = clock.now();
      const fullAt = Math.max(fullAtMs.get(key) ?? 0, nowMs) + intervalMs;
      const missingMs = fullAt - nowMs - policy.burst * intervalMs;
      // Less than a millisecond counts as 0: at a rate such as 0.7 the sums are rounded, and a
      // bucket of one token would otherwise never be full.
      if (missingMs >= 1) return Math.floor(missingMs);
      fullAtMs.delete(key);
      takes += 1;
      const isCrowded = fullAtMs.size >= MAX_RATE_LIMIT_ADDRESSES;
      if (isCrowded || takes % TAKES_BETWEEN_REMOVALS === 0) removeFull(nowMs);
      const [oldest] = fullAtMs.size >= MAX_RATE_LIMIT_ADDRESSES ? fullAtMs.keys() : [];
      if (oldest !== undefined) fullAtMs.delete(oldest);
      fullAtMs.set(key, fullAt);
      return 0;
    },
    refund(key) {
      const fullAt = fullAtMs.get(key);
      // Keeps its place in the order, although it is full earlier now.
      if (fullAt !== undefined) fullAtMs.set(key, fullAt - intervalMs);
    },
    sweep() {
      removeFull(clock.now());
    },
    get size() {
      return fullAtMs.size;
    },
  } satisfies RateLimiter & { readonly size: number };
}

/** Keeps secrets as they are, except that a digest of the poll secret and of refresh tokens is enough. */
export const plainVault: Vault = {
  protect: ({ browserState, pollSecret, userCode, delivery, deviceName }) => ({
    ids: { link: browserState, poll: digestOf(pollSecret), code: userCode },
    delivery: delivery as unknown as Protected<Delivery>,
    deviceName: deviceName as unknown as Protected<string> | undefined,
    keyMaterial: undefined,
  }),
  link: (browserState) => ({
    id: browserState,
    deliveryOf: ({ delivery }) => openPlain(delivery),
    deviceNameOf: ({ deviceName }) => deviceName && openPlain(deviceName),
    protectResult: (_, result) => plain(result),
    protectError: plain,
  }),
  poll: (pollSecret) => ({ id: digestOf(pollSecret), resultOf }),
  code: (userCode) => ({ id: userCode, browserStateOf: ({ ids }) => ids.link }),
  refresh: (key) => ({ id: digestOf(key), protect: String, open: String }),
};

const plain = <Value>(value: Value) => value as unknown as Protected<Value>;
/** Undoes `plain`. */
export const openPlain = <Value>(kept: Protected<Value>) => kept as unknown as Value;

export const resultOf: PollKey['resultOf'] = ({ result }) =>
  result === undefined ? EXCHANGE_FAILED : openPlain(result);
