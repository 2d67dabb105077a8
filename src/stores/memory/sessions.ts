/**
 * Sessions in this process. Every verb runs to its end without awaiting, which makes it
 * atomic. `Persistence` says in which form sessions are kept, and where else.
 */
import { digestOf, signInIdOf } from '../../relay/secrets.ts';
import * as machine from '../../relay/session.ts';
import {
  type Claim,
  type Leased,
  type NewSession,
  NO_OBSERVER,
  type SessionStore,
} from '../../relay/store.ts';
import type { Clock } from '../../relay/time.ts';
import { createWaiters } from '../waiters.ts';

export interface MemoryStore extends SessionStore {
  /** Sessions held, alive or not yet removed. */
  readonly size: number;
  /** Outcomes kept of sessions that are no longer held, by link and by code. */
  readonly outcomes: number;
}

/** One session under all its keys. */
export interface Entry {
  /** The id of the link, as the session has those of the poll secret and of the code. */
  readonly link: string;
  readonly sealed?: SealedKeys;
  session: machine.Session;
}

/** What a sealed session has besides its secrets. */
export interface SealedKeys {
  readonly signIn: string;
  readonly wrappedKey: string;
  /** Given if the session has a user code. */
  readonly browserState: string | undefined;
  readonly deviceKey: string | undefined;
}

/**
 * The form in which sessions are kept: as they are, or sealed, so that only the secret that a
 * verb is given opens them. And where they are kept besides this process, if anywhere.
 */
export interface Persistence {
  /* What is kept of a secret, to find the session by it. */
  linkOf(browserState: string): string;
  pollOf(pollSecret: string): string;
  codeOf(userCode: string): string;
  /** The parts of a new session that are secret. */
  protect(asked: NewSession): ProtectedSession;
  signInOf(entry: Entry): string;
  browserStateOf(entry: Entry, userCode: string): string;
  exchangeParametersOf(pending: machine.Pending, browserState: string): Leased;
  protectResult(
    entry: Entry,
    browserState: string,
    result: machine.SessionResult,
  ): machine.SessionResult;
  resultOf(entry: Entry, pollSecret: string, result: machine.SessionResult): machine.SessionResult;
  /** Called before the session has this state. If it throws, the verb has no effect. */
  write(entry: Entry, next: machine.Session): void;
  /** Called before the session is removed. */
  remove(entry: Entry): void;
}

export type ProtectedSession = Pick<
  machine.Pending,
  'verifier' | 'challenge' | 'authorizationUrl' | 'details' | 'deviceName'
> &
  Pick<Entry, 'sealed'>;

/** Keeps values as they are, and nowhere else. */
const IN_MEMORY: Persistence = {
  linkOf: (browserState) => browserState,
  pollOf: digestOf,
  codeOf: (userCode) => userCode,
  protect: ({ verifier, challenge, authorizationUrl, details = false, deviceName }) => ({
    verifier,
    challenge,
    authorizationUrl,
    details,
    deviceName,
  }),
  signInOf: ({ link }) => signInIdOf(link),
  browserStateOf: ({ link }) => link,
  exchangeParametersOf: (pending) => pending,
  protectResult: (_entry, _browserState, result) => result,
  resultOf: (_entry, _pollSecret, result) => result,
  write() {},
  remove() {},
};

export function createMemoryStore(
  clock: Clock,
  maxSessions: number,
  persistence: Persistence = IN_MEMORY,
  kept: readonly Entry[] = [],
): MemoryStore {
  /** Ordered by their start, which is the order of expiry. */
  const byLink = new Map<string, Entry>();
  const byUserCode = new Map<string, Entry>();
  /** The same sessions, and the delivered ones that may be claimed again. */
  const byPollDigest = new Map<string, Entry>();
  const delivered = createDelivered();
  const outcomes = createOutcomes();
  const waiters = createWaiters();
  let observer = NO_OBSERVER;

  for (const entry of kept) add(entry);

  function add(entry: Entry): void {
    const { link, session } = entry;
    byPollDigest.set(session.pollDigest, entry);
    if (session.state === 'delivered') {
      delivered.add(entry);
      return;
    }
    byLink.set(link, entry);
    if (session.userCode !== undefined) byUserCode.set(session.userCode, entry);
  }

  function change(entry: Entry, next: machine.Session): void {
    persistence.write(entry, next);
    entry.session = next;
  }

  /** Removes the keys by which a user reaches the session. */
  function removeLink({ link, session }: Entry): void {
    byLink.delete(link);
    if (session.userCode !== undefined) byUserCode.delete(session.userCode);
  }

  /** Removes the key by which its device reaches the session. */
  function removePoll(entry: Entry): void {
    persistence.remove(entry);
    byPollDigest.delete(entry.session.pollDigest);
  }

  function removeExpired(nowMs: number): void {
    for (const entry of byLink.values()) {
      if (!machine.isExpired(entry.session, nowMs)) break;
      removePoll(entry);
      removeLink(entry);
      reportExpired(entry);
    }
    for (const entry of delivered.findExpired(nowMs)) {
      removePoll(entry);
      delivered.remove(entry);
    }
  }

  function reportExpired(entry: Entry): void {
    const { service } = entry.session;
    const stage = machine.stageOf(entry.session);
    if (stage === undefined) return;
    observer.expired({ service, stage, signIn: persistence.signInOf(entry) });
  }

  function findRefusal(
    link: string,
    pollDigest: string,
    userCode: string | undefined,
  ): 'collision' | 'busy' | undefined {
    const isTaken =
      byLink.has(link) ||
      byPollDigest.has(pollDigest) ||
      (userCode !== undefined && byUserCode.has(userCode));
    if (isTaken) return 'collision';
    return byPollDigest.size >= maxSessions ? 'busy' : undefined;
  }

  function findByLink(service: string, browserState: string): Entry | undefined {
    const entry = byLink.get(persistence.linkOf(browserState));
    return entry?.session.service === service ? entry : undefined;
  }

  function findByPoll(pollSecret: string): Entry | undefined {
    return byPollDigest.get(persistence.pollOf(pollSecret));
  }

  function complete(entry: Entry, next: machine.Completed | machine.SessionRefusal): boolean {
    if (typeof next === 'string') return false;
    change(entry, next);
    waiters.notify(next.pollDigest, 'completed');
    return true;
  }

  return {
    register(asked) {
      const nowMs = clock.now();
      const link = persistence.linkOf(asked.browserState);
      const pollDigest = persistence.pollOf(asked.pollSecret);
      const userCode = asked.userCode && persistence.codeOf(asked.userCode);
      let refusal = findRefusal(link, pollDigest, userCode);
      if (refusal !== undefined) {
        // Expired sessions may be the cause.
        removeExpired(nowMs);
        refusal = findRefusal(link, pollDigest, userCode);
      }
      if (refusal !== undefined) return refusal;
      const { sealed, ...secrets } = persistence.protect(asked);
      const { service, lifetimeMs, repeatMs, keepsErrors } = asked;
      const session: machine.Pending = {
        state: 'pending',
        service,
        pollDigest,
        startedAtMs: nowMs,
        expiresAtMs: nowMs + lifetimeMs,
        repeatMs,
        keepsErrors,
        opening: undefined,
        userCode,
        ...secrets,
      };
      const entry: Entry = { link, session, ...(sealed && { sealed }) };
      persistence.write(entry, session);
      add(entry);
      return 'registered';
    },

    authorize(service, browserState) {
      const entry = findByLink(service, browserState);
      if (entry === undefined) return undefined;
      const before = entry.session;
      const pending = machine.authorize(before, clock.now());
      if (typeof pending === 'string') return undefined;
      if (pending !== before) {
        change(entry, pending);
        observer.opened(service);
        waiters.notify(pending.pollDigest, 'opened');
      }
      return persistence.exchangeParametersOf(pending, browserState);
    },

    getSession(key) {
      const nowMs = clock.now();
      const isCode = 'userCode' in key;
      const id = isCode ? persistence.codeOf(key.userCode) : persistence.linkOf(key.browserState);
      const entry = (isCode ? byUserCode : byLink).get(id);
      if (entry === undefined) return outcomes.find(id, nowMs);
      const pending = machine.find(entry.session, nowMs);
      if (typeof pending === 'string') return machine.outcomeOf(entry.session, nowMs);
      const { service, startedAtMs } = pending;
      const browserState = isCode
        ? persistence.browserStateOf(entry, key.userCode)
        : key.browserState;
      const { deviceName, authorizationUrl } = persistence.exchangeParametersOf(
        pending,
        browserState,
      );
      return { service, browserState, ageMs: nowMs - startedAtMs, deviceName, authorizationUrl };
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
      const exchange = persistence.exchangeParametersOf(before, browserState);
      change(entry, leased);
      return exchange;
    },

    complete(service, browserState, result) {
      const entry = findByLink(service, browserState);
      if (entry === undefined) return false;
      const kept = persistence.protectResult(entry, browserState, result);
      return complete(entry, machine.complete(entry.session, kept, clock.now()));
    },

    claim(pollSecret): Claim {
      const entry = findByPoll(pollSecret);
      if (entry === undefined) return GONE;
      const before = entry.session;
      const nowMs = clock.now();
      const claimed = machine.claim(before, nowMs);
      if (claimed === 'still_pending') {
        return { state: 'pending', endsInMs: machine.endsInMs(before, nowMs) };
      }
      if (typeof claimed === 'string') return GONE;
      const { result: kept, next } = claimed;
      const result = persistence.resultOf(entry, pollSecret, kept);
      if (next?.state === 'completed') {
        entry.session = next;
      } else if (before.state !== 'delivered') {
        if (next === undefined) {
          removePoll(entry);
        } else {
          change(entry, next);
          delivered.add(entry);
        }
        removeLink(entry);
        outcomes.keep(entry.link, before, kept);
        // Without `completedAtMs` the lease ran out, which is the result.
        const readyAtMs = 'completedAtMs' in before ? before.completedAtMs : nowMs;
        observer.delivered(before.service, nowMs - readyAtMs);
      }
      return { state: 'claimed', result };
    },

    acknowledge(pollSecret) {
      const entry = findByPoll(pollSecret);
      if (entry === undefined) return 'gone';
      const outcome = machine.acknowledge(entry.session, clock.now());
      if (outcome === 'acknowledged') {
        removePoll(entry);
        delivered.remove(entry);
      }
      return outcome === 'expired' || outcome === 'cancelled' ? 'gone' : outcome;
    },

    takeOpenedNotice(pollSecret) {
      const entry = findByPoll(pollSecret);
      const reported = entry && machine.takeOpenedNotice(entry.session, clock.now());
      if (entry === undefined || typeof reported !== 'object') return false;
      change(entry, reported);
      return true;
    },

    cancel(pollSecret) {
      const entry = findByPoll(pollSecret);
      const cancelled = entry && machine.cancel(entry.session, clock.now());
      if (entry === undefined || typeof cancelled !== 'object') return 'gone';
      if (cancelled === entry.session) return 'cancelled';
      change(entry, cancelled);
      observer.cancelled(cancelled.service);
      waiters.notify(cancelled.pollDigest, 'completed');
      return 'cancelled';
    },

    addWaiter(pollSecret, waiter) {
      waiters.add(persistence.pollOf(pollSecret), waiter);
      // A claim costs nothing.
      return undefined;
    },

    removeWaiter: waiters.remove,

    hasUndelivered() {
      const nowMs = clock.now();
      for (const { session } of byLink.values()) {
        const isWaiting = session.state === 'completed' && !('error' in session.result);
        if (isWaiting && !machine.isExpired(session, nowMs)) return true;
      }
      return false;
    },

    settled() {},

    observe(next) {
      observer = next;
    },

    countLive() {
      removeExpired(clock.now());
      return byPollDigest.size;
    },

    sweep() {
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

/** Sessions whose result was delivered and may be claimed again. */
function createDelivered() {
  /** One set for each `repeatMs`, ordered by expiry. There are as many as endpoints that start sign-ins. */
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
    findExpired(nowMs: number): Entry[] {
      const expired: Entry[] = [];
      for (const entries of byRepeat.values()) {
        for (const entry of entries) {
          if (!machine.isExpired(entry.session, nowMs)) break;
          expired.push(entry);
        }
      }
      return expired;
    },
  };
}

/** About two megabytes. One more removes the oldest, whose link or code is then unknown. */
const MAX_OUTCOMES = 10_000;

/** The outcomes of sessions whose result was delivered, by link and by code. */
function createOutcomes() {
  /** Ordered by delivery. */
  const outcomes = new Map<string, { outcome: machine.SessionOutcome; expiresAtMs: number }>();
  return {
    keep(
      link: string,
      { userCode, expiresAtMs }: machine.Session,
      result: machine.SessionResult,
    ): void {
      const kept = { outcome: machine.outcomeOfResult(result), expiresAtMs };
      outcomes.set(link, kept);
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
