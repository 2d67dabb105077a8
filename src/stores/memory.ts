/**
 * Everything in this process: sessions, token buckets, refreshes. Every verb runs
 * to its end without awaiting, which makes it atomic.
 */
import { EXCHANGE_LEASE_MS, MAX_RATE_LIMIT_ADDRESSES, REFRESH_RESULT_MS } from '../limits.ts';
import {
  afterRefund,
  afterTaking,
  missingMs,
  type RateLimiter,
  type RateLimitPolicy,
} from '../relay/rate-limit.ts';
import type { RefreshStore } from '../relay/refresh.ts';
import { digestOf, signInIdOf } from '../relay/secrets.ts';
import * as machine from '../relay/session.ts';
import { type Claim, NO_OBSERVER, type SessionKey, type SessionStore } from '../relay/store.ts';
import { type Clock, createDeadlineQueue } from '../relay/time.ts';
import { createWaiters } from './waiters.ts';

export interface MemoryStore extends SessionStore {
  /** Sessions held, alive or not yet removed. */
  readonly size: number;
  /** Outcomes kept of sessions that are no longer held, by link and by code. */
  readonly outcomes: number;
  readonly startLimiter: MemoryRateLimiter;
}

/** Some two megabytes. Beyond it the longest delivered is forgotten: its user is told what is told of an unknown link or code. */
const MAX_OUTCOMES = 10_000;

/** One session under all its keys. */
interface Entry {
  readonly browserState: string;
  session: machine.Session;
}

export function createMemoryStore(
  clock: Clock,
  maxSessions: number,
  startPolicy: RateLimitPolicy,
): MemoryStore {
  const startLimiter = createMemoryRateLimiter(clock, startPolicy);
  /** In the order of their start, and so of their expiry: removal begins at the front. */
  const byBrowserState = new Map<string, Entry>();
  const byUserCode = new Map<string, Entry>();
  /** The same sessions, and the delivered ones that may be claimed again. */
  const byPollDigest = new Map<string, Entry>();
  /** By `repeatMs`, so that each set is in the order of expiry. There are as many as endpoints that start sign-ins. */
  const delivered = new Map<number, Set<Entry>>();
  /** What became of the sessions whose result was delivered, by link and by code: the first is the longest delivered. */
  const outcomes = new Map<string, { outcome: machine.SessionOutcome; expiresAtMs: number }>();
  const waiters = createWaiters();
  let observer = NO_OBSERVER;

  /** Removes the keys by which a user reaches the session. */
  function removeLink(entry: Entry): void {
    const { browserState, session } = entry;
    byBrowserState.delete(browserState);
    if (session.userCode !== undefined) byUserCode.delete(session.userCode);
  }

  function removeExpired(nowMs: number): void {
    for (const entry of byBrowserState.values()) {
      if (!machine.isExpired(entry.session, nowMs)) break;
      removeLink(entry);
      byPollDigest.delete(entry.session.pollDigest);
      tellExpired(entry);
    }
    for (const entries of delivered.values()) {
      for (const entry of entries) {
        if (!machine.isExpired(entry.session, nowMs)) break;
        removeDelivered(entry);
      }
    }
  }

  function tellExpired({ browserState, session }: Entry): void {
    const stage = machine.stageOf(session);
    if (stage === undefined) return;
    observer.expired({ service: session.service, stage, signIn: signInIdOf(browserState) });
  }

  function keepOutcome({ browserState, session }: Entry, result: machine.SessionResult): void {
    const { userCode, expiresAtMs } = session;
    const kept = { outcome: machine.outcomeOfResult(result), expiresAtMs };
    outcomes.set(browserState, kept);
    if (userCode !== undefined) outcomes.set(userCode, kept);
    for (const oldest of outcomes.keys()) {
      if (outcomes.size <= MAX_OUTCOMES) break;
      outcomes.delete(oldest);
    }
  }

  function removeOutcomes(nowMs: number): void {
    for (const [key, { expiresAtMs }] of outcomes) {
      if (nowMs <= expiresAtMs) break;
      outcomes.delete(key);
    }
  }

  function keepDelivered(entry: Entry, session: machine.Delivered): void {
    entry.session = session;
    const { repeatMs = 0 } = session;
    const entries = delivered.get(repeatMs) ?? new Set();
    delivered.set(repeatMs, entries.add(entry));
  }

  function removeDelivered(entry: Entry): void {
    const { repeatMs = 0, pollDigest } = entry.session;
    delivered.get(repeatMs)?.delete(entry);
    byPollDigest.delete(pollDigest);
  }

  function findRefusal(
    browserState: string,
    pollDigest: string,
    userCode: string | undefined,
  ): 'collision' | 'busy' | undefined {
    const isTaken =
      byBrowserState.has(browserState) ||
      byPollDigest.has(pollDigest) ||
      (userCode !== undefined && byUserCode.has(userCode));
    if (isTaken) return 'collision';
    return byPollDigest.size >= maxSessions ? 'busy' : undefined;
  }

  function findByLink(service: string, browserState: string): Entry | undefined {
    const entry = byBrowserState.get(browserState);
    return entry?.session.service === service ? entry : undefined;
  }

  function findByKey(key: SessionKey): Entry | undefined {
    return 'userCode' in key ? byUserCode.get(key.userCode) : byBrowserState.get(key.browserState);
  }

  function complete(entry: Entry, next: machine.Completed | machine.SessionRefusal): boolean {
    if (typeof next === 'string') return false;
    entry.session = next;
    waiters.notify(next.pollDigest, 'completed');
    return true;
  }

  return {
    startLimiter,

    register(asked) {
      const nowMs = clock.now();
      const { browserState, pollSecret, service, lifetimeMs, userCode } = asked;
      const { verifier, challenge, details = false, deviceName, repeatMs, keepsErrors } = asked;
      const pollDigest = digestOf(pollSecret);
      if (asked.startedBy !== undefined) {
        const retryAfterMs = startLimiter.take(asked.startedBy);
        if (retryAfterMs > 0) return { retryAfterMs };
      }
      let refusal = findRefusal(browserState, pollDigest, userCode);
      if (refusal !== undefined) {
        // Expired sessions may be the cause.
        removeExpired(nowMs);
        refusal = findRefusal(browserState, pollDigest, userCode);
      }
      if (refusal !== undefined) return refusal;
      const session: machine.Pending = {
        state: 'pending',
        service,
        pollDigest,
        startedAtMs: nowMs,
        expiresAtMs: nowMs + lifetimeMs,
        repeatMs,
        keepsErrors,
        opening: undefined,
        verifier,
        challenge,
        details,
        userCode,
        deviceName,
      };
      const entry: Entry = { browserState, session };
      byBrowserState.set(browserState, entry);
      byPollDigest.set(pollDigest, entry);
      if (userCode !== undefined) byUserCode.set(userCode, entry);
      return 'registered';
    },

    getAuthorization(service, browserState) {
      const entry = findByLink(service, browserState);
      if (entry === undefined) return undefined;
      const before = entry.session;
      const pending = machine.authorize(before, clock.now());
      if (typeof pending === 'string') return undefined;
      if (pending !== before) {
        entry.session = pending;
        observer.opened(service);
        waiters.notify(pending.pollDigest, 'opened');
      }
      return pending;
    },

    getSession(key) {
      const nowMs = clock.now();
      const entry = findByKey(key);
      if (entry === undefined) {
        const kept = outcomes.get('userCode' in key ? key.userCode : key.browserState);
        return kept !== undefined && nowMs <= kept.expiresAtMs ? kept.outcome : undefined;
      }
      const { browserState, session } = entry;
      const pending = machine.find(session, nowMs);
      if (typeof pending === 'string') return machine.outcomeOf(session, nowMs);
      const { service, startedAtMs, deviceName } = pending;
      return { service, browserState, ageMs: nowMs - startedAtMs, deviceName };
    },

    fail(service, browserState, error) {
      const entry = findByLink(service, browserState);
      if (entry === undefined) return false;
      return complete(entry, machine.fail(entry.session, error, clock.now()));
    },

    lease(service, browserState) {
      const entry = findByLink(service, browserState);
      const before = entry?.session;
      if (entry === undefined || before?.state !== 'pending') return undefined;
      const leased = machine.lease(before, clock.now());
      if (typeof leased === 'string') return undefined;
      entry.session = leased;
      return before;
    },

    complete(service, browserState, result) {
      const entry = findByLink(service, browserState);
      if (entry === undefined) return false;
      return complete(entry, machine.complete(entry.session, result, clock.now()));
    },

    claim(pollSecret): Claim {
      const entry = byPollDigest.get(digestOf(pollSecret));
      if (entry === undefined) return GONE;
      const before = entry.session;
      const nowMs = clock.now();
      const claimed = machine.claim(before, nowMs);
      if (claimed === 'still_pending') {
        return { state: 'pending', endsInMs: machine.endsInMs(before, nowMs) };
      }
      if (typeof claimed === 'string') return GONE;
      const { result, next } = claimed;
      if (next?.state === 'completed') {
        entry.session = next;
      } else if (before.state !== 'delivered') {
        removeLink(entry);
        keepOutcome(entry, result);
        if (next === undefined) byPollDigest.delete(before.pollDigest);
        else keepDelivered(entry, next);
        // Without a result of its own the lease ran out, which is the result.
        const readyAtMs = 'completedAtMs' in before ? before.completedAtMs : nowMs;
        observer.delivered(before.service, nowMs - readyAtMs);
      }
      return { state: 'claimed', result };
    },

    acknowledge(pollSecret) {
      const entry = byPollDigest.get(digestOf(pollSecret));
      if (entry === undefined) return 'gone';
      const outcome = machine.acknowledge(entry.session, clock.now());
      if (outcome === 'acknowledged') removeDelivered(entry);
      return outcome === 'expired' || outcome === 'cancelled' ? 'gone' : outcome;
    },

    takeOpenedNotice(pollSecret) {
      const entry = byPollDigest.get(digestOf(pollSecret));
      const told = entry && machine.takeOpenedNotice(entry.session, clock.now());
      if (entry === undefined || typeof told !== 'object') return false;
      entry.session = told;
      return true;
    },

    cancel(pollSecret) {
      const entry = byPollDigest.get(digestOf(pollSecret));
      const cancelled = entry && machine.cancel(entry.session, clock.now());
      if (entry === undefined || typeof cancelled !== 'object') return 'gone';
      if (cancelled !== entry.session) observer.cancelled(cancelled.service);
      entry.session = cancelled;
      waiters.notify(cancelled.pollDigest, 'completed');
      return 'cancelled';
    },

    addWaiter(pollSecret, waiter) {
      waiters.add(digestOf(pollSecret), waiter);
      // A claim costs nothing.
      return undefined;
    },

    removeWaiter: waiters.remove,

    hasUndelivered() {
      const nowMs = clock.now();
      for (const { session } of byBrowserState.values()) {
        const isWaiting = session.state === 'completed' && !('error' in session.result);
        if (isWaiting && !machine.isExpired(session, nowMs)) return true;
      }
      return false;
    },

    settled() {},

    observe(by) {
      observer = by;
    },

    countLive: () => byPollDigest.size,

    sweep() {
      startLimiter.sweep();
      removeExpired(clock.now());
      removeOutcomes(clock.now());
    },

    get size() {
      return byPollDigest.size;
    },

    get outcomes() {
      return outcomes.size;
    },
  };
}

const GONE: Claim = { state: 'gone' };

export interface MemoryRateLimiter extends RateLimiter {
  take(key: string): number;
  readonly size: number;
}

/** Full buckets are removed early, because a large map slows garbage collection, but many at a time, which is cheaper. */
const TAKES_BETWEEN_REMOVALS = 256;

export function createMemoryRateLimiter(clock: Clock, policy: RateLimitPolicy): MemoryRateLimiter {
  /** When each bucket will be full. The longest untouched bucket is first. */
  const fullAtMs = new Map<string, number>();
  let takes = 0;

  /** Stops at the first bucket that is not full. So a full one behind it stays, for `burst / rate` seconds at most. */
  function removeFull(nowMs: number): void {
    for (const [key, fullAt] of fullAtMs) {
      if (fullAt > nowMs) return;
      fullAtMs.delete(key);
    }
  }

  function makeRoom(nowMs: number): void {
    removeFull(nowMs);
    const [oldest] = fullAtMs.size >= MAX_RATE_LIMIT_ADDRESSES ? fullAtMs.keys() : [];
    if (oldest !== undefined) fullAtMs.delete(oldest);
  }

  return {
    policy,
    take(key) {
      const nowMs = clock.now();
      const bucket = fullAtMs.get(key) ?? nowMs;
      const retryAfterMs = missingMs(bucket, nowMs, policy);
      if (retryAfterMs > 0) return retryAfterMs;
      fullAtMs.delete(key);
      takes += 1;
      if (takes % TAKES_BETWEEN_REMOVALS === 0) removeFull(nowMs);
      if (fullAtMs.size >= MAX_RATE_LIMIT_ADDRESSES) makeRoom(nowMs);
      fullAtMs.set(key, afterTaking(bucket, nowMs, policy));
      return 0;
    },
    refund(key) {
      const bucket = fullAtMs.get(key);
      // It keeps its place in the order, although it is full earlier now: a lookup or a sweep removes it later.
      if (bucket !== undefined) fullAtMs.set(key, afterRefund(bucket, policy));
    },
    sweep() {
      removeFull(clock.now());
    },
    get size() {
      return fullAtMs.size;
    },
  };
}

export interface MemoryRefreshStore extends RefreshStore {
  readonly size: number;
}

interface Refresh {
  /** Undefined while the provider is being asked. */
  readonly result: string | undefined;
  readonly expiresAtMs: number;
}

export function createMemoryRefreshStore(clock: Clock): MemoryRefreshStore {
  const byDigest = new Map<string, Refresh>();
  // One millisecond more, because a result is found up to and including its last millisecond.
  const expiries = createDeadlineQueue(clock, REFRESH_RESULT_MS + 1);
  return {
    begin(key) {
      const digest = digestOf(key);
      const refresh = byDigest.get(digest);
      if (refresh !== undefined && clock.now() <= refresh.expiresAtMs) {
        const { result } = refresh;
        return result === undefined ? { state: 'in_progress' } : { state: 'finished', result };
      }
      const expiresAtMs = clock.now() + EXCHANGE_LEASE_MS;
      byDigest.set(digest, { result: undefined, expiresAtMs });
      return { state: 'yours' };
    },
    finish(key, result) {
      const digest = digestOf(key);
      byDigest.delete(digest);
      if (result === undefined) return;
      const refresh = { result, expiresAtMs: clock.now() + REFRESH_RESULT_MS };
      byDigest.set(digest, refresh);
      // Tokens are removed on time even if nobody asks for them again.
      expiries.add({
        dueAtMs: 0,
        onDue() {
          if (byDigest.get(digest) === refresh) byDigest.delete(digest);
        },
      });
    },
    get size() {
      return byDigest.size;
    },
  };
}
