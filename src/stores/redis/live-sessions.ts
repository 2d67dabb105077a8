import type { ExpiredSession, SessionStore } from '../../relay/store.ts';
import type { RedisCommands } from './commands.ts';
import { expiredOf, recordOf, type VerbParts } from './records.ts';
import { SCRIPTS, SWEPT_AT_ONCE } from './scripts.ts';

/** One sweep runs this many at most, for 10,000 sessions. */
const MAX_SWEEP_SCRIPTS = 40;

export type LiveSessions = Pick<SessionStore, 'register' | 'countLive' | 'sweep'>;

export function createLiveSessions(
  { commands, keys, randomBytes, instance, localPolls, observer }: VerbParts,
  maxSessions: number,
): LiveSessions {
  const { run } = commands;

  return {
    /** Not repeated: the device is refused, and a session that was registered expires unused. */
    async register(newSession) {
      const { lifetimeMs } = newSession;
      const record = recordOf(newSession, instance, randomBytes);
      const { sessionId, pollId, pointer, code, fields } = record;
      const names = [keys.live, keys.session(sessionId), keys.poll(pollId)];
      if (code !== undefined) names.push(keys.code(code.id));
      const args = [sessionId, maxSessions, lifetimeMs, pointer, code?.value ?? '', ...fields];
      const outcome = await run(SCRIPTS.register, names, args);
      // It lives to the end of its last millisecond.
      if (outcome === 'registered') localPolls.add(pollId, pointer, lifetimeMs + 1);
      return outcome as 'registered' | 'busy' | 'collision';
    },

    async countLive() {
      return Number(await run(SCRIPTS.countLive, [keys.live], []));
    },

    /** One of several instances removes a session from the index, and reports it. */
    async sweep() {
      for (let scripts = 0; scripts < MAX_SWEEP_SCRIPTS; scripts += 1) {
        const ids = (await run(SCRIPTS.removeExpired, [keys.live], [])) as string[];
        for (const session of await describeExpired(commands, ids.map(keys.session))) {
          observer.current.expired(session);
        }
        if (ids.length < SWEPT_AT_ONCE) return;
      }
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
