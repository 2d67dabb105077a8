/**
 * Live sessions, in an index by when they expire: a start adds one unless there are too
 * many, and a sweep removes those that have expired.
 */
import { intervalMsOf } from '../../relay/rate-limit.ts';
import type { RandomBytes } from '../../relay/secrets.ts';
import type { ExpiredSession, ObserverSlot, SessionStore } from '../../relay/store.ts';
import type { RedisCommands } from './commands.ts';
import type { LocalPolls } from './local-polls.ts';
import type { RedisRateLimiter } from './rate-limits.ts';
import { expiredOf, type RedisKeys, recordOf } from './records.ts';
import { SCRIPTS, SWEPT_AT_ONCE } from './scripts.ts';

/** Of one sweep and tag: as many as 10,000 sessions. */
const MAX_SWEEP_SCRIPTS = 40;

export interface LiveSessionsOptions {
  readonly commands: RedisCommands;
  readonly keys: RedisKeys;
  readonly randomBytes: RandomBytes;
  /** The name of this process's channel. */
  readonly instance: string;
  readonly maxSessions: number;
  readonly startLimiter: RedisRateLimiter;
  readonly localPolls: LocalPolls;
  readonly observer: ObserverSlot;
}

export type LiveSessions = Pick<SessionStore, 'register' | 'countLive' | 'sweep'>;

export function createLiveSessions(options: LiveSessionsOptions): LiveSessions {
  const { commands, keys, randomBytes, instance } = options;
  const { maxSessions, startLimiter, localPolls, observer } = options;
  const { run } = commands;

  /** The shares of all tags add up to the limit. */
  const shareOf = (tag: number) =>
    Math.floor(maxSessions / keys.tags) + (tag < maxSessions % keys.tags ? 1 : 0);

  async function sweepIndex(live: string, tag: number): Promise<void> {
    for (let scripts = 0; scripts < MAX_SWEEP_SCRIPTS; scripts += 1) {
      const ids = (await run(SCRIPTS.removeExpired, [live], [])) as string[];
      const recordKeys = ids.map((id) => keys.recordKey(tag, id));
      for (const session of await describeExpired(commands, recordKeys)) {
        observer.current.expired(session);
      }
      if (ids.length < SWEPT_AT_ONCE) return;
    }
  }

  return {
    /**
     * Not repeated: the device is refused, and a session that was registered expires
     * unused. In a Cluster the bucket of the address is in a slot of its own, so its
     * token is taken before.
     */
    async register(newSession) {
      const { browserState, pollSecret, userCode, lifetimeMs, startedBy } = newSession;
      let bucket: string | undefined;
      if (startedBy !== undefined) {
        if (keys.tags === 1) {
          bucket = startLimiter.bucketOf(startedBy);
        } else {
          const retryAfterMs = await startLimiter.take(startedBy);
          if (retryAfterMs > 0) return { retryAfterMs };
        }
      }
      const { sessionId, pollId, pointer, code, fields } = recordOf(
        newSession,
        instance,
        randomBytes,
      );
      const tagKeys = keys.of(browserState);
      const secrets = [browserState, pollSecret, ...(userCode === undefined ? [] : [userCode])];
      if (secrets.some((secret) => keys.of(secret) !== tagKeys)) {
        throw new Error('the secrets of a session have different tags');
      }
      const names = [tagKeys.live, tagKeys.session(sessionId), tagKeys.poll(pollId)];
      if (code !== undefined) names.push(tagKeys.code(code.id));
      if (bucket !== undefined) names.push(bucket);
      const limit = bucket === undefined ? undefined : startLimiter.policy;
      const args = [sessionId, shareOf(tagKeys.tag), lifetimeMs, pointer, code?.value ?? ''];
      args.push(limit?.burst ?? '', limit === undefined ? '' : intervalMsOf(limit), ...fields);
      const outcome = await run(SCRIPTS.register, names, args);
      if (typeof outcome === 'number') return { retryAfterMs: outcome };
      // It lives to the end of its last millisecond.
      if (outcome === 'registered') localPolls.add(pollId, pointer, lifetimeMs + 1);
      return outcome as 'registered' | 'busy' | 'collision';
    },

    async countLive() {
      const counting = keys.live.map((live) => run(SCRIPTS.countLive, [live], []));
      return (await Promise.all(counting)).reduce<number>((sum, count) => sum + Number(count), 0);
    },

    /** Of several instances one removes a session from the index, and reports it. */
    async sweep() {
      await Promise.all(keys.live.map(sweepIndex));
    },
  };
}

async function describeExpired(
  { run }: RedisCommands,
  recordKeys: readonly string[],
): Promise<ExpiredSession[]> {
  const describing = recordKeys.map((key) => run(SCRIPTS.describeExpired, [key], []));
  // A session that cannot be described is not reported.
  const described = await Promise.allSettled(describing);
  return described.flatMap((each) =>
    each.status === 'fulfilled' ? (expiredOf(each.value as string[]) ?? []) : [],
  );
}
