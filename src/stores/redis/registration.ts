/** How a session comes into the store, with all that leads to it, or not at all. */
import type { RandomBytes } from '../../relay/secrets.ts';
import type { NewSession } from '../../relay/store.ts';
import type { RedisClient } from './client.ts';
import type { RedisCommands } from './commands.ts';
import type { RedisKeys } from './keys.ts';
import { recordOf } from './records.ts';
import * as scripts from './register-scripts.ts';

export interface RegistrationOptions {
  readonly client: RedisClient;
  readonly commands: RedisCommands;
  readonly keys: RedisKeys;
  readonly randomBytes: RandomBytes;
  readonly maxSessions: number;
}

/** 1: registered, 0: as many are alive as may be, -1: collision. */
export type Register = (newSession: NewSession, now: number | string) => Promise<number>;

export function createRegister(options: RegistrationOptions): Register {
  const { client, commands, keys, randomBytes, maxSessions } = options;
  const { run } = commands;

  async function registerAtOnce(newSession: NewSession, now: number | string): Promise<number> {
    const { session, poll, pointer, code, fields } = recordOf(newSession, randomBytes);
    const places = [keys.live, keys.poll(poll), keys.session(session)];
    if (code !== undefined) places.push(keys.code(code.id));
    const place = [now, session.id, maxSessions, newSession.lifetimeMs];
    const args = [...place, pointer, code?.value ?? '', ...fields];
    return Number(await run(scripts.REGISTER, places, args));
  }

  /** A crash between the steps leaves a place, a pointer, a code or a session that nobody can use, and that expires. */
  async function registerInSteps(newSession: NewSession, now: number | string): Promise<number> {
    const { session, poll, pointer, code, fields } = recordOf(newSession, randomBytes);
    const { lifetimeMs } = newSession;
    const place = [now, session.id, maxSessions, lifetimeMs];
    if ((await run(scripts.RESERVE_PLACE, [keys.live], place)) === 0) return 0;
    const makings = [
      { key: keys.poll(poll), script: scripts.CREATE_SIGNPOST, args: [pointer] },
      { key: keys.session(session), script: scripts.CREATE_SESSION, args: fields },
    ];
    if (code !== undefined) {
      const { id, value } = code;
      makings.push({ key: keys.code(id), script: scripts.CREATE_SIGNPOST, args: [value] });
    }
    const failures: unknown[] = [];
    const made = await Promise.all(
      makings.map(async ({ key, script, args }) => {
        try {
          return (await run(script, [key], [now, lifetimeMs, ...args])) === 1 ? [key] : [];
        } catch (error) {
          failures.push(error);
          return [];
        }
      }),
    );
    const madeKeys = made.flat();
    if (madeKeys.length === makings.length) return 1;
    // All or none: what has just been created is removed.
    const undone = madeKeys.map((key) => run(scripts.FORGET, [key], []));
    // Otherwise another session is alive under this id, and keeps its entry in the index.
    if (failures.length > 0 || madeKeys.includes(keys.session(session))) {
      undone.push(run(scripts.LEAVE_PLACE, [keys.live], [session.id]));
    }
    // If this fails, it stays until the session would have expired.
    await Promise.allSettled(undone);
    if (failures.length > 0) throw failures[0];
    return -1;
  }

  return client.isCluster ? registerInSteps : registerAtOnce;
}
