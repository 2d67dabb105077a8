/**
 * Sessions in this process. Every verb runs to its end without awaiting, which makes it
 * atomic.
 */
import type { RateLimitPolicy } from '../../relay/rate-limit.ts';
import { digestOf, signInIdOf } from '../../relay/secrets.ts';
import * as machine from '../../relay/session.ts';
import {
  type Claim,
  type NewSession,
  NO_OBSERVER,
  type SessionKey,
  type SessionStore,
} from '../../relay/store.ts';
import type { Clock } from '../../relay/time.ts';
import { createWaiters } from '../waiters.ts';
import { createMemoryRateLimiter, type MemoryRateLimiter } from './rate-limits.ts';

export interface MemoryStore extends SessionStore {
  /** Sessions held, alive or not yet removed. */
  readonly size: number;
  /** Outcomes kept of sessions that are no longer held, by link and by code. */
  readonly outcomes: number;
  readonly startLimiter: MemoryRateLimiter;
}

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
  /** In the order of their start, which is the order of expiry. */
  const byBrowserState = new Map<string, Entry>();
  const byUserCode = new Map<string, Entry>();
  /** The same sessions, and the delivered ones that may be claimed again. */
  const byPollDigest = new Map<string, Entry>();
  const delivered = createDelivered();
  const outcomes = createOutcomes();
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
      reportExpired(entry);
    }
    for (const { pollDigest } of delivered.takeExpired(nowMs)) byPollDigest.delete(pollDigest);
  }

  function reportExpired({ browserState, session }: Entry): void {
    const stage = machine.stageOf(session);
    if (stage === undefined) return;
    observer.expired({ service: session.service, stage, signIn: signInIdOf(browserState) });
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
      const { browserState, pollSecret, userCode } = asked;
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
      const entry: Entry = { browserState, session: pendingOf(asked, pollDigest, nowMs) };
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
        return outcomes.find('userCode' in key ? key.userCode : key.browserState, nowMs);
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
        outcomes.keep(entry, result);
        if (next === undefined) {
          byPollDigest.delete(before.pollDigest);
        } else {
          entry.session = next;
          delivered.add(entry);
        }
        // Without `completedAtMs` the lease ran out, which is the result.
        const readyAtMs = 'completedAtMs' in before ? before.completedAtMs : nowMs;
        observer.delivered(before.service, nowMs - readyAtMs);
      }
      return { state: 'claimed', result };
    },

    acknowledge(pollSecret) {
      const entry = byPollDigest.get(digestOf(pollSecret));
      if (entry === undefined) return 'gone';
      const outcome = machine.acknowledge(entry.session, clock.now());
      if (outcome === 'acknowledged') {
        delivered.remove(entry);
        byPollDigest.delete(entry.session.pollDigest);
      }
      return outcome === 'expired' || outcome === 'cancelled' ? 'gone' : outcome;
    },

    takeOpenedNotice(pollSecret) {
      const entry = byPollDigest.get(digestOf(pollSecret));
      const reported = entry && machine.takeOpenedNotice(entry.session, clock.now());
      if (entry === undefined || typeof reported !== 'object') return false;
      entry.session = reported;
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

    observe(next) {
      observer = next;
    },

    countLive: () => byPollDigest.size,

    sweep() {
      startLimiter.sweep();
      removeExpired(clock.now());
      outcomes.removeExpired(clock.now());
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

/** A new session. */
function pendingOf(asked: NewSession, pollDigest: string, nowMs: number): machine.Pending {
  return {
    state: 'pending',
    service: asked.service,
    pollDigest,
    startedAtMs: nowMs,
    expiresAtMs: nowMs + asked.lifetimeMs,
    repeatMs: asked.repeatMs,
    keepsErrors: asked.keepsErrors,
    opening: undefined,
    verifier: asked.verifier,
    challenge: asked.challenge,
    details: asked.details ?? false,
    userCode: asked.userCode,
    deviceName: asked.deviceName,
  };
}

/** Sessions whose result was delivered and may be claimed again. */
function createDelivered() {
  /** By `repeatMs`, so that each set is in the order of expiry. As many sets as endpoints that start sign-ins. */
  const byRepeat = new Map<number, Set<Entry>>();
  return {
    add(entry: Entry): void {
      const { repeatMs = 0 } = entry.session;
      const entries = byRepeat.get(repeatMs) ?? new Set();
      byRepeat.set(repeatMs, entries.add(entry));
    },
    remove(entry: Entry): void {
      byRepeat.get(entry.session.repeatMs ?? 0)?.delete(entry);
    },
    takeExpired(nowMs: number): machine.Session[] {
      const taken: machine.Session[] = [];
      for (const entries of byRepeat.values()) {
        for (const entry of entries) {
          if (!machine.isExpired(entry.session, nowMs)) break;
          entries.delete(entry);
          taken.push(entry.session);
        }
      }
      return taken;
    },
  };
}

/** About two megabytes. One more removes the oldest, whose link or code is then unknown. */
const MAX_OUTCOMES = 10_000;

/** The outcomes of sessions whose result was delivered, by link and by code. */
function createOutcomes() {
  /** In the order of delivery. */
  const outcomes = new Map<string, { outcome: machine.SessionOutcome; expiresAtMs: number }>();
  return {
    keep({ browserState, session }: Entry, result: machine.SessionResult): void {
      const { userCode, expiresAtMs } = session;
      const kept = { outcome: machine.outcomeOfResult(result), expiresAtMs };
      outcomes.set(browserState, kept);
      if (userCode !== undefined) outcomes.set(userCode, kept);
      for (const oldest of outcomes.keys()) {
        if (outcomes.size <= MAX_OUTCOMES) break;
        outcomes.delete(oldest);
      }
    },
    find(linkOrCode: string, nowMs: number): machine.SessionOutcome | undefined {
      const kept = outcomes.get(linkOrCode);
      return kept !== undefined && nowMs <= kept.expiresAtMs ? kept.outcome : undefined;
    },
    removeExpired(nowMs: number): void {
      for (const [key, { expiresAtMs }] of outcomes) {
        if (nowMs <= expiresAtMs) break;
        outcomes.delete(key);
      }
    },
    get size() {
      return outcomes.size;
    },
  };
}
