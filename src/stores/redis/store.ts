/**
 * Sessions, refreshes and rate limits in Redis or Valkey. The machine computes a change here, and one script
 * commits it unless another change was faster. Each commit has a token, which makes it idempotent: it
 * is repeated when its reply is lost. What is stored is sealed. docs/sealing.md "Records", docs/scaling.md.
 */
import { ErrorReply } from '@redis/client';
import { EXCHANGE_LEASE_MS, REFRESH_RESULT_MS } from '../../limits.ts';
import {
  intervalMsOf,
  type RateLimiter,
  type RateLimitPolicy,
} from '../../sign-ins/rate-limits.ts';
import type { RandomBytes } from '../../sign-ins/secrets.ts';
import type { Event, Session } from '../../sign-ins/session.ts';
import * as machine from '../../sign-ins/session.ts';
import {
  type RefreshState,
  type RefreshStore,
  type SessionKey,
  type Store,
  StoreUnavailable,
} from '../../sign-ins/store.ts';
import type { Clock } from '../../sign-ins/time.ts';
import { RECORD_VERSION, readBody, writeBody, writeRecord } from '../record.ts';
import {
  CALL_ID_CHARACTERS,
  createCallId,
  type RedisCommands,
  type RedisKeys,
  type RetryPolicy,
} from './commands.ts';
import type { StoreHealth } from './health.ts';
import type { Notices } from './notices.ts';

/** A change is computed again when another one was faster. More attempts than this mean a bug. */
const MAX_TRIES = 20;

/** How far this process may be wrong about the store's time. */
const CLOCK_MARGIN_MS = 2_000;

/** The record decides expiry. Its keys are removed this much later, and the index a day after those of the last session. */
const GARBAGE_MS = 60_000;
const INDEX_GARBAGE_MS = 86_400_000;

/** The most characters of remembered records. In memory they take 30 MB. */
export const REMEMBERED_CHARACTERS = 12 * 1_048_576;

/** A session as it stands in the store. */
export interface StoredSession {
  /** The tokens of all commits, the newest first, separated by commas. */
  readonly tokens: string;
  readonly session: Session;
  /** When it was read, by the store's clock. */
  readonly nowMs: number;
}

export interface RedisStoreOptions {
  readonly commands: RedisCommands;
  readonly keys: RedisKeys;
  readonly notices: Notices;
  readonly health: Pick<StoreHealth, 'refused'>;
  readonly randomBytes: RandomBytes;
  readonly maxSessions: number;
}

export function createRedisStore(options: RedisStoreOptions): Store {
  const { commands, keys, notices, health, randomBytes, maxSessions } = options;
  const recent = createRecentRecords();

  /** Undefined if there is no such session. A pointer never changes. */
  async function findLink(key: SessionKey): Promise<string | undefined> {
    if ('link' in key) return key.link;
    if ('code' in key) return (await commands.get(keys.code(key.code)))?.split(' ')[1];
    const known = recent.get(key.poll)?.session.ids.link;
    return known ?? (await commands.get(keys.poll(key.poll))) ?? undefined;
  }

  async function read(link: string): Promise<StoredSession | undefined> {
    const known = recent.get(link);
    const [record, nowMs] = await commands.read(keys.session(link));
    return record === null ? undefined : restore(parse([nowMs, record], link), known);
  }

  /** If a failover has lost the known state, commits it again, because devices at other instances may wait for it. */
  async function restore(
    found: StoredSession | undefined,
    known: StoredSession | undefined,
  ): Promise<StoredSession | undefined> {
    if (found === undefined || known === undefined || !isBefore(found, known)) return found;
    const stored = await commit(found, known.session, 'completed', 'briefly', known.tokens);
    return stored === found ? { ...known, nowMs: found.nowMs } : stored;
  }

  /** Reads a reply with the time and a record. Undefined if there is no record, or somebody has damaged it. */
  function parse(reply: unknown, link: string): StoredSession | undefined {
    if (!Array.isArray(reply)) return undefined;
    const [nowMs, record] = reply as [number, string];
    const [tokens = '', version, startedAtMs, expiresAtMs] = record.split(' ', 4);
    if (Number(version) > RECORD_VERSION) throw newerRecord();
    const known = recent.get(link);
    if (known?.tokens === tokens) return { ...known, nowMs };
    const header = `${tokens} ${version} ${startedAtMs} ${expiresAtMs} `;
    const body = record.slice(header.length);
    const session = readBody(body, Number(startedAtMs), Number(expiresAtMs));
    // Somebody put this record in another's place.
    if (session?.ids.link !== link) return undefined;
    const found = { tokens, session, nowMs };
    if (!isBefore(found, known)) recent.set(found, body.length);
    return found;
  }

  function newerRecord(): StoreUnavailable {
    const cause = new ErrorReply('NEWER record');
    health.refused(cause);
    return new StoreUnavailable('a newer relay wrote it', { cause });
  }

  /** The session as this process remembers it. Undefined if it does not, or if time changes the session soon. */
  function recall(known: StoredSession | undefined): StoredSession | undefined {
    const nowMs = commands.storeNow();
    if (nowMs === undefined || known === undefined) return undefined;
    const { tokens, session } = known;
    const isUnchanged = nowMs + CLOCK_MARGIN_MS < machine.unchangedUntilMs(session);
    return isUnchanged ? { tokens, session, nowMs } : undefined;
  }

  /** Returns `found` if `next` is stored, otherwise what the store has. Undefined if it has no such session. */
  async function commit(
    found: StoredSession,
    next: Session,
    notice: machine.Notice | undefined,
    policy: RetryPolicy,
    tokens = `${createCallId(randomBytes)},${found.tokens}`,
  ): Promise<StoredSession | undefined> {
    const { ids } = found.session;
    const record = `${tokens} ${writeRecord(next)}`;
    // The change was computed for this state, so it is valid only until time changes the state.
    const before = machine.stateAt(found.session, found.nowMs) ?? found.session;
    const unchangedUntilMs = machine.unchangedUntilMs(before);
    const liveUntilMs = next.state === 'ended' ? '' : machine.keptUntilMs(next);
    const args = [
      ids.link,
      newestOf(found.tokens),
      newestOf(tokens),
      record,
      unchangedUntilMs,
      Math.max(machine.neededUntilMs(next) - found.nowMs, 0) + GARBAGE_MS,
      liveUntilMs,
      notice === undefined ? '' : notices.channelToOthers(),
      notice === undefined ? '' : notices.messageOf(notice, ids.poll),
    ];
    const names = [keys.session(ids.link), keys.poll(ids.poll)];
    if (liveUntilMs !== machine.keptUntilMs(found.session)) names.push(keys.live);
    const reply = await commands.run('commit', names, args, policy);
    if (reply !== 1) return parse(reply, ids.link);
    recent.set({ tokens, session: next, nowMs: found.nowMs }, record.length);
    if (notice !== undefined) notices.notifyHere(ids.poll, notice);
    return found;
  }

  async function updateAt<Reply>(
    link: string,
    change: Event<Reply>,
    policy: RetryPolicy,
  ): Promise<Reply | undefined> {
    let found = recall(recent.get(link));
    let isGuess = found !== undefined;
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      found ??= await read(link);
      if (found === undefined) return undefined;
      const { reply, next, notice } = change(found.session, found.nowMs);
      if (next === undefined) {
        if (!isGuess) return reply;
        // Another instance may have changed the session, so it is read from the store.
        found = undefined;
      } else {
        const known = recent.get(link);
        const stored = await commit(found, next, notice, policy);
        if (stored === found) return reply;
        if (stored === undefined) return undefined;
        found = await restore(stored, known);
      }
      isGuess = false;
    }
    throw new StoreUnavailable('changed too often by others');
  }

  return {
    /** The command is not repeated: the device is refused, and a session that was created expires unused. */
    async create(newSession, lifetimeMs) {
      const { ids } = newSession;
      const token = createCallId(randomBytes);
      const body = writeBody(machine.createPending(newSession, 0, lifetimeMs));
      const names = [keys.live, keys.session(ids.link), keys.poll(ids.poll)];
      if (ids.code !== undefined) names.push(keys.code(ids.code));
      const keptMs = lifetimeMs + GARBAGE_MS;
      const times = [lifetimeMs, keptMs, keptMs + INDEX_GARBAGE_MS];
      const args = [ids.link, maxSessions, ...times, `${token} ${RECORD_VERSION}`, body];
      const reply = await commands.run('create', names, args);
      if (typeof reply !== 'number') return reply as 'collision' | 'full';
      const session = machine.createPending(newSession, reply, lifetimeMs);
      recent.set({ tokens: token, session, nowMs: reply }, body.length);
      return 'created';
    },

    async update(key, change, untilLeaseEnds) {
      const link = await findLink(key);
      return link === undefined ? undefined : updateAt(link, change, untilLeaseEnds ?? 'briefly');
    },

    listen: notices.listen,

    /** One of several instances removes a session from the index, and returns it. */
    async sweep() {
      const swept: Session[] = [];
      for (;;) {
        const links = (await commands.run('sweep', [keys.live])) as string[];
        if (links.length === 0) return swept;
        const ended = await Promise.allSettled(
          links.map((link) => updateAt(link, expire, 'briefly')),
        );
        // A session that cannot be read is not reported.
        for (const each of ended) {
          if (each.status === 'fulfilled' && each.value !== undefined) swept.push(each.value);
        }
      }
    },

    countLive: async () => Number(await commands.run('count', [keys.live])),

    settled: commands.settled,
  };
}

export function createRedisRefreshStore({
  commands,
  keys,
  randomBytes,
}: RedisStoreOptions): RefreshStore {
  return {
    /** The command is repeated under one id. If the outcome stays unknown, nothing is sent to the provider. */
    async begin(id) {
      const args = [EXCHANGE_LEASE_MS, createCallId(randomBytes)];
      const reply = await commands.run('beginRefresh', [keys.refresh(id)], args, 'briefly');
      const [state, result = ''] = reply as [RefreshState['state'], string?];
      return state === 'finished' ? { state, result } : { state };
    },

    /** The command is repeated only for a while: the device has its result, and a repeated refresh is sent to the provider. */
    async finish(id, result = '') {
      const args = [REFRESH_RESULT_MS, result];
      await commands.run('finishRefresh', [keys.refresh(id)], args, 'briefly');
    },
  };
}

/** How many refusals are cached. Beyond that the cache is cleared, and the store refuses again. */
const MAX_REFUSED_ADDRESSES = 10_000;

/** `name` is part of the keys of its buckets. */
export function createRedisRateLimiter(
  commands: RedisCommands,
  keys: RedisKeys,
  clock: Clock,
  name: string,
  policy: RateLimitPolicy,
): RateLimiter {
  const intervalMs = intervalMsOf(policy);
  const bucketOf = (address: string) => keys.bucket(name, address);
  /** Caches when each refusal ends, so that a flood of refused requests does not reach the store. */
  const refusedUntilMs = new Map<string, number>();
  return {
    /** After a timeout the outcome is unknown: a start that is refused may have taken a token. */
    async take(address) {
      const knownMs = (refusedUntilMs.get(address) ?? 0) - clock.now();
      if (knownMs > 0) return knownMs;
      const args = [policy.burst, intervalMs];
      const waitMs = Number(await commands.run('takeToken', [bucketOf(address)], args));
      if (refusedUntilMs.size >= MAX_REFUSED_ADDRESSES) refusedUntilMs.clear();
      if (waitMs > 0) refusedUntilMs.set(address, clock.now() + Math.min(waitMs, intervalMs));
      else refusedUntilMs.delete(address);
      return waitMs;
    },
    /** A refund is not repeated: if its outcome is unknown, the address loses one token at most. */
    async refund(address) {
      refusedUntilMs.delete(address);
      await commands.run('refundToken', [bucketOf(address)], [intervalMs]);
    },
    // The key of a full bucket expires.
    sweep() {},
  };
}

const newestOf = (tokens: string) => tokens.slice(0, CALL_ID_CHARACTERS);

/** True if `later` was committed after `found`. */
const isBefore = (found: StoredSession, later: StoredSession | undefined) =>
  later?.tokens.endsWith(`,${found.tokens}`) === true;

/** Replies with the session as it was. After a redelivery its outcome is still kept. */
function expire(session: Session, nowMs: number): machine.Change<Session> {
  const next = machine.stateAt(session, nowMs);
  return next?.state === 'ended' ? { reply: session, next } : { reply: session };
}

/**
 * The records that this process last read or wrote, by the ids of their link and their poll. With
 * them most changes take one trip, and what a failover has lost is stored again.
 */
export function createRecentRecords() {
  // Two generations, because removing the oldest entry of one for each new one is slow.
  let newer = new Map<string, StoredSession>();
  let older = new Map<string, StoredSession>();
  let characters = 0;
  return {
    get: (id: string) => newer.get(id) ?? older.get(id),
    /** `length`: of the text. */
    set(found: StoredSession, length: number): void {
      if (characters + length > REMEMBERED_CHARACTERS / 2) {
        older = newer;
        newer = new Map();
        characters = 0;
      }
      characters += length;
      newer.set(found.session.ids.link, found).set(found.session.ids.poll, found);
    },
  };
}
