/**
 * Sessions in maps, in the order of their creation and so of their expiry: no
 * timer each, and throwing away begins at the front. Every verb runs without
 * giving way, which makes it atomic.
 */
import { digestOf } from '../relay/secrets.ts';
import { isExpired, type Session, type SessionEvent, transition } from '../relay/session.ts';
import type {
  Acknowledgement,
  Claim,
  FindBy,
  Found,
  NewSession,
  SessionStore,
} from '../relay/store.ts';
import { createWatchers } from './watchers.ts';

export interface MemoryStore extends SessionStore {
  /** Sessions held, alive or not yet thrown away. */
  readonly size: number;
}

export function createMemoryStore({ maxSessions }: { maxSessions: number }): MemoryStore {
  const byBrowserState = new Map<string, Session>();
  const browserStateByDigest = new Map<string, string>();
  const browserStateByCode = new Map<string, string>();
  /** What its device may ask for again, by poll digest. Those that stay equally long are in the order of their expiry. */
  const deliveredByLength = new Map<number, Map<string, Session>>();
  const watchers = createWatchers();

  function remove(browserState: string, session: Session): void {
    byBrowserState.delete(browserState);
    browserStateByDigest.delete(session.pollDigest);
    forgetCode(session);
  }

  function forgetCode(session: Session): void {
    if (session.state === 'pending' && session.userCode !== undefined) {
      browserStateByCode.delete(session.userCode);
    }
  }

  function removeExpired(nowMs: number): void {
    for (const [browserState, session] of byBrowserState) {
      if (!isExpired(session, nowMs)) break;
      remove(browserState, session);
    }
    for (const delivered of deliveredByLength.values()) {
      for (const [digest, session] of delivered) {
        if (!isExpired(session, nowMs)) break;
        delivered.delete(digest);
      }
    }
  }

  /** There are as many lengths as endpoints that begin sign-ins. */
  function findDelivered(digest: string): Session | undefined {
    for (const delivered of deliveredByLength.values()) {
      const session = delivered.get(digest);
      if (session !== undefined) return session;
    }
    return undefined;
  }

  function keepDelivered(digest: string, session: Session): void {
    const { repeatMs = 0 } = session;
    const delivered = deliveredByLength.get(repeatMs) ?? new Map<string, Session>();
    deliveredByLength.set(repeatMs, delivered.set(digest, session));
  }

  function countSessions(): number {
    let count = byBrowserState.size;
    for (const delivered of deliveredByLength.values()) count += delivered.size;
    return count;
  }

  /** Moves a session by an event and returns it as it stood before; undefined when refused. */
  function move(browserState: string, event: SessionEvent, nowMs: number): Session | undefined {
    const session = byBrowserState.get(browserState);
    if (session === undefined) return undefined;
    const outcome = transition(session, event, nowMs);
    if (!outcome.ok) return undefined;
    const { from, to } = outcome;
    if (to === undefined || to === session) return from;
    if (to.state !== 'pending' || to.userCode === undefined) forgetCode(session);
    byBrowserState.set(browserState, to);
    if (to.state === 'completed') watchers.wake(to.pollDigest);
    return from;
  }

  /** `move` for whoever came by the link: the session must be of that service. */
  function moveOf(service: string, browserState: string, event: SessionEvent, nowMs: number) {
    return byBrowserState.get(browserState)?.service === service
      ? move(browserState, event, nowMs)
      : undefined;
  }

  function isTaken(digest: string, { browserState, userCode = '' }: NewSession): boolean {
    return (
      byBrowserState.has(browserState) ||
      browserStateByDigest.has(digest) ||
      findDelivered(digest) !== undefined ||
      browserStateByCode.has(userCode)
    );
  }

  /** Takes the result of a session that its device may take now. */
  function deliver(digest: string, nowMs: number): Claim {
    const browserState = browserStateByDigest.get(digest);
    const session = browserState === undefined ? undefined : byBrowserState.get(browserState);
    if (browserState === undefined || session === undefined) return { state: 'gone' };
    const outcome = transition(session, { type: 'claim' }, nowMs);
    if (!outcome.ok) return { state: outcome.refusal === 'still_pending' ? 'pending' : 'gone' };
    const { from, to } = outcome;
    if (to?.state === 'completed') {
      byBrowserState.set(browserState, to);
    } else {
      remove(browserState, session);
      if (to !== undefined) keepDelivered(digest, to);
    }
    return claimOf(from);
  }

  function deliverAgain(session: Session, nowMs: number): Claim {
    const outcome = transition(session, { type: 'claim' }, nowMs);
    return outcome.ok ? claimOf(outcome.from) : { state: 'gone' };
  }

  return {
    async register(newSession, nowMs) {
      removeExpired(nowMs);
      const { browserState, pollSecret, lifetimeMs, ...session } = newSession;
      const digest = digestOf(pollSecret);
      if (isTaken(digest, newSession)) return 'collision';
      if (countSessions() >= maxSessions) return 'busy';
      byBrowserState.set(browserState, {
        ...session,
        state: 'pending',
        pollDigest: digest,
        startedAtMs: nowMs,
        expiresAtMs: nowMs + lifetimeMs,
      });
      browserStateByDigest.set(digest, browserState);
      const { userCode } = session;
      if (userCode !== undefined) browserStateByCode.set(userCode, browserState);
      return 'registered';
    },

    async open(service, browserState, nowMs) {
      return openedOf(moveOf(service, browserState, { type: 'open' }, nowMs));
    },

    async find(by: FindBy, nowMs) {
      const browserState = 'userCode' in by ? browserStateByCode.get(by.userCode) : by.browserState;
      if (browserState === undefined) return undefined;
      return foundOf(browserState, move(browserState, { type: 'open' }, nowMs));
    },

    async useCode(userCode, nowMs) {
      const browserState = browserStateByCode.get(userCode);
      if (browserState === undefined) return undefined;
      return foundOf(browserState, move(browserState, { type: 'use_code' }, nowMs));
    },

    async fail(service, browserState, result, nowMs) {
      return moveOf(service, browserState, { type: 'fail', result }, nowMs) !== undefined;
    },

    async lease(service, browserState, nowMs) {
      return openedOf(moveOf(service, browserState, { type: 'lease' }, nowMs));
    },

    async complete(service, browserState, result, nowMs) {
      return moveOf(service, browserState, { type: 'complete', result }, nowMs) !== undefined;
    },

    async claim(pollSecret, nowMs) {
      const digest = digestOf(pollSecret);
      const before = findDelivered(digest);
      return before === undefined ? deliver(digest, nowMs) : deliverAgain(before, nowMs);
    },

    async acknowledge(pollSecret, nowMs): Promise<Acknowledgement> {
      const digest = digestOf(pollSecret);
      const session = findDelivered(digest);
      if (session === undefined) {
        const browserState = browserStateByDigest.get(digest) ?? '';
        const live = byBrowserState.get(browserState);
        return live === undefined || isExpired(live, nowMs) ? 'gone' : 'early';
      }
      deliveredByLength.get(session.repeatMs ?? 0)?.delete(digest);
      return transition(session, { type: 'acknowledge' }, nowMs).ok ? 'acknowledged' : 'gone';
    },

    watch(pollSecret, wakeOne) {
      const digest = digestOf(pollSecret);
      if (!browserStateByDigest.has(digest)) return () => {};
      return watchers.add(digest, wakeOne);
    },

    settled: async () => {},

    hasUndelivered(nowMs) {
      const sessions = [...byBrowserState.values()];
      return sessions.some((session) => holdsTokens(session) && !isExpired(session, nowMs));
    },

    async sweep(nowMs) {
      removeExpired(nowMs);
    },

    get size() {
      return countSessions();
    },
  };
}

function openedOf(session: Session | undefined) {
  if (session?.state !== 'pending') return undefined;
  return session.verifier === undefined ? {} : { verifier: session.verifier };
}

function foundOf(browserState: string, session: Session | undefined): Found | undefined {
  if (session?.state !== 'pending') return undefined;
  const { service, startedAtMs, deviceName } = session;
  return { service, browserState, startedAtMs, ...(deviceName !== undefined && { deviceName }) };
}

function holdsTokens(session: Session): boolean {
  return session.state === 'completed' && 'accessToken' in session.result;
}

/** The table leads to 'delivered' from sessions with a result alone. */
function claimOf(session: Session): Claim {
  return 'result' in session ? { state: 'claimed', result: session.result } : { state: 'gone' };
}
