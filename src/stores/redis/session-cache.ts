/**
 * What this process knows of sessions without asking the store: the record that it last saw or
 * wrote. It saves a trip where nobody else has changed the session, tells a poll that there is
 * nothing new, and brings back what a failover has lost.
 */
import { EXCHANGE_LEASE_MS } from '../../limits.ts';
import { type Session, unchangedUntilMs } from '../../sign-ins/session.ts';
import type { Clock } from '../../sign-ins/time.ts';

/**
 * How long a session that was found pending counts as pending, as this process is notified of
 * changes: a device that has just started, or that polls again, is not looked up. Longer would
 * delay what is not published: that a lease ran out.
 */
export const KNOWN_PENDING_MS = 5_000;

/** How long this process brings back what it wrote. Longer than any expected failover. */
export const OWN_COMMIT_MS = 60_000;

/** Half of what is kept at most, by number and by size: 30 MB in all. */
const KEPT_SESSIONS = 20_000;
const KEPT_CHARACTERS = 12 * 1_048_576;

/** A session as it stands in the store. */
export interface Found {
  /** The tokens of all commits, the newest first, separated by commas. */
  readonly tokens: string;
  readonly session: Session;
  /** By the store's clock. */
  readonly nowMs: number;
}

interface Known extends Found {
  /* By this process's clock. */
  readonly seenAtMs: number;
  /** Undefined if another instance wrote it. */
  readonly committedAtMs: number | undefined;
  /** Nobody is known to have changed it since. */
  isCurrent: boolean;
}

interface Generation {
  readonly byLink: Map<string, Known>;
  readonly linkOfPoll: Map<string, string>;
  characters: number;
}

const createGeneration = (): Generation => ({
  byLink: new Map(),
  linkOfPoll: new Map(),
  characters: 0,
});

export type SessionCache = ReturnType<typeof createSessionCache>;

export function createSessionCache(clock: Clock) {
  // Two generations, because removing the oldest entry of one for each new one is slow.
  let recent = createGeneration();
  let older = createGeneration();
  let changes = 0;

  const get = (link: string) => recent.byLink.get(link) ?? older.byLink.get(link);
  const linkOf = (poll: string) => recent.linkOfPoll.get(poll) ?? older.linkOfPoll.get(poll);

  return {
    linkOf,
    /** Notes the link of a poll id, which never changes. */
    setLink: (poll: string, link: string) => void recent.linkOfPoll.set(poll, link),

    /** Counts notices and gaps: what was asked before one may be older than it. */
    changes: () => changes,

    /** `length`: of the text. `since`: the `changes` before it was asked for. */
    set(found: Found, length: number, since: number, isCommit = false): void {
      if (recent.byLink.size >= KEPT_SESSIONS || recent.characters >= KEPT_CHARACTERS) {
        older = recent;
        recent = createGeneration();
      }
      const { link, poll } = found.session.ids;
      const before = get(link);
      const seenAtMs = clock.now();
      const isSame = before?.tokens === found.tokens;
      const committedAtMs = isCommit ? seenAtMs : isSame ? before.committedAtMs : undefined;
      const { tokens, session, nowMs } = found;
      const isCurrent = since === changes;
      recent.byLink.set(link, { tokens, session, nowMs, seenAtMs, committedAtMs, isCurrent });
      recent.linkOfPoll.set(poll, link);
      recent.characters += length;
    },

    /** The record that the store probably has. */
    peek(link: string): Found | undefined {
      const known = get(link);
      return known?.isCurrent ? known : undefined;
    },

    /** What this process has written after `found`, which a failover has lost. */
    findLost(found: Found): Found | undefined {
      const own = get(found.session.ids.link);
      const isOwn = clock.now() - (own?.committedAtMs ?? Number.NEGATIVE_INFINITY) <= OWN_COMMIT_MS;
      return isOwn && own?.tokens.endsWith(`,${found.tokens}`) ? own : undefined;
    },

    /** For how long a poll has nothing to learn. Undefined if that is unknown. */
    pendingForMs(poll: string, wantsProgress: boolean): number | undefined {
      const known = get(linkOf(poll) ?? '');
      if (!known?.isCurrent) return undefined;
      const { session, nowMs, seenAtMs } = known;
      const isOpen = session.state === 'pending' || session.state === 'exchanging';
      const isNews = wantsProgress && session.opening === 'unreported';
      const sinceMs = clock.now() - seenAtMs;
      if (!isOpen || isNews || sinceMs >= KNOWN_PENDING_MS) return undefined;
      const unchangedForMs =
        Math.min(unchangedUntilMs(session) + 1 - nowMs, EXCHANGE_LEASE_MS) - sinceMs;
      return unchangedForMs > 0 ? unchangedForMs : undefined;
    },

    /** Another instance has changed the session of this poll id. */
    changed(poll: string): void {
      changes += 1;
      const known = get(linkOf(poll) ?? '');
      if (known !== undefined) known.isCurrent = false;
    },

    /** Notices may have been missed. */
    recheckAll(): void {
      changes += 1;
      for (const { byLink } of [recent, older]) {
        for (const known of byLink.values()) known.isCurrent = false;
      }
    },
  };
}
