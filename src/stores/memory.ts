/**
 * Sessions in two maps, in the order of their creation and so of their expiry:
 * no timer each, and throwing away begins at the front. Every verb runs without
 * giving way, which makes it atomic.
 */
import { digestOf } from '../relay/secrets.ts';
import { isExpired, type Session, type SessionEvent, transition } from '../relay/session.ts';
import type { Claim, NewSession, SessionStore } from '../relay/store.ts';
import { createWatchers } from './watchers.ts';

export interface MemoryStore extends SessionStore {
  /** Sessions held, alive or not yet thrown away. */
  readonly size: number;
}

export function createMemoryStore({ maxSessions }: { maxSessions: number }): MemoryStore {
  const byBrowserState = new Map<string, Session>();
  const browserStateByDigest = new Map<string, string>();
  const watchers = createWatchers();

  function remove(browserState: string, session: Session): void {
    byBrowserState.delete(browserState);
    browserStateByDigest.delete(session.pollDigest);
  }

  function removeExpired(nowMs: number): void {
    for (const [browserState, session] of byBrowserState) {
      if (!isExpired(session, nowMs)) return;
      remove(browserState, session);
    }
  }

  /** Moves a session by an event and returns it as it stood before; undefined when refused. */
  function move(browserState: string, event: SessionEvent, nowMs: number): Session | undefined {
    const session = byBrowserState.get(browserState);
    if (session === undefined) return undefined;
    const outcome = transition(session, event, nowMs);
    if (!outcome.ok) return undefined;
    const { from, to } = outcome;
    if (to === undefined) remove(browserState, session);
    else if (to !== session) byBrowserState.set(browserState, to);
    if (to?.state === 'completed') watchers.wake(to.pollDigest);
    return from;
  }

  /** `move` for whoever came by the link: the session must be of that service. */
  function moveOf(service: string, browserState: string, event: SessionEvent, nowMs: number) {
    return byBrowserState.get(browserState)?.service === service
      ? move(browserState, event, nowMs)
      : undefined;
  }

  function isTaken({ browserState, digest }: { browserState: string; digest: string }): boolean {
    return byBrowserState.has(browserState) || browserStateByDigest.has(digest);
  }

  return {
    async register({ browserState, pollSecret, lifetimeMs, ...session }: NewSession, nowMs) {
      removeExpired(nowMs);
      const digest = digestOf(pollSecret);
      if (isTaken({ browserState, digest })) return 'collision';
      if (byBrowserState.size >= maxSessions) return 'busy';
      byBrowserState.set(browserState, {
        ...session,
        state: 'pending',
        pollDigest: digest,
        expiresAtMs: nowMs + lifetimeMs,
      });
      browserStateByDigest.set(digest, browserState);
      return 'registered';
    },

    async open(service, browserState, nowMs) {
      return openedOf(moveOf(service, browserState, { type: 'open' }, nowMs));
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

    async claim(pollSecret, nowMs): Promise<Claim> {
      const browserState = browserStateByDigest.get(digestOf(pollSecret));
      const session = browserState === undefined ? undefined : byBrowserState.get(browserState);
      if (browserState === undefined || session === undefined) return { state: 'gone' };
      const outcome = transition(session, { type: 'claim' }, nowMs);
      if (!outcome.ok) return { state: outcome.refusal === 'still_pending' ? 'pending' : 'gone' };
      remove(browserState, session);
      // The table leads to 'claimed' from 'completed' alone.
      return outcome.from.state === 'completed'
        ? { state: 'claimed', result: outcome.from.result }
        : { state: 'gone' };
    },

    watch(pollSecret, wakeOne) {
      const digest = digestOf(pollSecret);
      if (!browserStateByDigest.has(digest)) return () => {};
      return watchers.add(digest, wakeOne);
    },

    async sweep(nowMs) {
      removeExpired(nowMs);
    },

    get size() {
      return byBrowserState.size;
    },
  };
}

function openedOf(session: Session | undefined) {
  if (session?.state !== 'pending') return undefined;
  return session.verifier === undefined ? {} : { verifier: session.verifier };
}
