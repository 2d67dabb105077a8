/** The person's ways to a session: what it shows them, by link or by code, and the code's single use. */
import type { FindBy, Found, SessionStore } from '../relay/store.ts';
import type { RedisClient } from './redis-client.ts';
import type { TimeOf } from './redis-clock.ts';
import type { RedisCommands } from './redis-commands.ts';
import type { RedisKeys } from './redis-keys.ts';
import { browserStateOf, foundOf } from './redis-records.ts';
import { FIND, USE_CODE } from './redis-scripts.ts';
import { deriveFromBrowserState, deriveFromUserCode } from './seal.ts';

export interface RedisCodesOptions {
  readonly client: RedisClient;
  readonly commands: RedisCommands;
  readonly keys: RedisKeys;
  readonly timeOf: TimeOf;
  /** Of one caller of a verb, who may have to call again. */
  readonly createId: () => string;
}

export function createRedisCodes(
  options: RedisCodesOptions,
): Pick<SessionStore, 'find' | 'useCode'> {
  const { client, commands, keys, timeOf, createId } = options;

  async function findByState(browserState: string, nowMs: number): Promise<Found | undefined> {
    const session = deriveFromBrowserState(browserState);
    const reply = await commands.run(FIND, [keys.session(session)], [timeOf(nowMs)]);
    return Array.isArray(reply) ? foundOf(browserState, session, reply as string[]) : undefined;
  }

  async function findByCode(userCode: string, nowMs: number): Promise<Found | undefined> {
    const code = deriveFromUserCode(userCode);
    const held = await commands.within(client.get(keys.code(code.id)));
    const [expiresAtMs, sealed = ''] = held?.split('.') ?? ['0'];
    // Used; otherwise it lives as long as its session.
    if (expiresAtMs === '0') return undefined;
    return findByState(browserStateOf(code, sealed), nowMs);
  }

  return {
    find: (by: FindBy, nowMs) =>
      'userCode' in by ? findByCode(by.userCode, nowMs) : findByState(by.browserState, nowMs),

    /**
     * Looked for first: what cannot be answered uses nothing up. The use itself is
     * one script, repeated for a while under one id; if that leaves it unknown, the
     * code may be used up, and the person has the link, or begins anew.
     */
    async useCode(userCode, nowMs) {
      const found = await findByCode(userCode, nowMs);
      if (found === undefined) return undefined;
      const code = deriveFromUserCode(userCode);
      const id = createId();
      const used = await commands.repeat({ insist: false }, () =>
        commands.run(USE_CODE, [keys.code(code.id)], [id]),
      );
      return used === 1 ? found : undefined;
    },
  };
}
