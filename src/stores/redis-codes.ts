/** The person's ways to a session: what it shows them, by link or by code, and the code's single use. */
import type { FindBy, Found, SessionStore } from '../relay/store.ts';
import type { RedisClient } from './redis-client.ts';
import type { TimeOf } from './redis-clock.ts';
import type { RedisCommands } from './redis-commands.ts';
import type { RedisKeys } from './redis-keys.ts';
import { browserStateOf, foundOf } from './redis-records.ts';
import { FIND, UNDO_USE_CODE, USE_CODE } from './redis-scripts.ts';
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

  /** What leads from the code to its session, and the session. */
  async function findByCode(userCode: string, nowMs: number) {
    const code = deriveFromUserCode(userCode);
    const held = await commands.within(client.get(keys.code(code.id)));
    const [expiresAtMs, sealed = ''] = held?.split('.') ?? ['0'];
    // Used; otherwise it lives as long as its session.
    if (held === null || expiresAtMs === '0') return undefined;
    const found = await findByState(browserStateOf(code, sealed), nowMs);
    return found && { codeKey: keys.code(code.id), held, found };
  }

  return {
    async find(by: FindBy, nowMs) {
      if ('browserState' in by) return findByState(by.browserState, nowMs);
      return (await findByCode(by.userCode, nowMs))?.found;
    },

    /**
     * Looked for first: what cannot be answered uses nothing up. The use itself is
     * one script, repeated for a while under one id; if that leaves it unknown, the
     * use is undone, so that the person can try again.
     */
    async useCode(userCode, nowMs) {
      const looked = await findByCode(userCode, nowMs);
      if (looked === undefined) return undefined;
      const { codeKey, held, found } = looked;
      const id = createId();
      function onUnknown(): void {
        const undoOnce = () => commands.run(UNDO_USE_CODE, [codeKey], [timeOf(nowMs), id, held]);
        void commands.undo(undoOnce, { isUnknown: true });
      }
      const used = await commands.repeat({ insist: false, onUnknown }, () =>
        commands.run(USE_CODE, [codeKey], [timeOf(nowMs), id]),
      );
      return used === 1 ? found : undefined;
    },
  };
}
