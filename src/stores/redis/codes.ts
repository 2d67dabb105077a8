/** A session as its user finds it, by link or by code, and the single use of a code. */
import type { SessionInfo, SessionKey, SessionStore } from '../../relay/store.ts';
import type { RedisClient } from './client.ts';
import type { TimeOf } from './clock.ts';
import type { RedisCommands } from './commands.ts';
import type { RedisKeys } from './keys.ts';
import { browserStateOf, foundOf } from './records.ts';
import { FIND, IS_CANCELLED, UNDO_USE_CODE, USE_CODE } from './scripts.ts';
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
): Pick<SessionStore, 'getSession' | 'isCancelled' | 'useCode'> {
  const { client, commands, keys, timeOf, createId } = options;

  async function findByState(browserState: string): Promise<SessionInfo | undefined> {
    const session = deriveFromBrowserState(browserState);
    const reply = await commands.run(FIND, [keys.session(session)], [timeOf()]);
    return Array.isArray(reply) ? foundOf(browserState, session, reply as string[]) : undefined;
  }

  /** What leads from the code to its session. */
  async function follow(userCode: string) {
    const code = deriveFromUserCode(userCode);
    const held = await commands.within(client.get(keys.code(code.id)));
    const [expiresAtMs, sealed = ''] = held?.split('.') ?? ['0'];
    // Used; otherwise it lives as long as its session.
    if (held === null || expiresAtMs === '0') return undefined;
    return { codeKey: keys.code(code.id), held, browserState: browserStateOf(code, sealed) };
  }

  /** The same, and the session. */
  async function findByCode(userCode: string) {
    const way = await follow(userCode);
    const found = way && (await findByState(way.browserState));
    return found && { ...way, found };
  }

  return {
    async getSession(by: SessionKey) {
      if ('browserState' in by) return findByState(by.browserState);
      return (await findByCode(by.userCode))?.found;
    },

    async isCancelled(by: SessionKey) {
      const way = 'browserState' in by ? by : await follow(by.userCode);
      if (way === undefined) return false;
      const sessionKey = keys.session(deriveFromBrowserState(way.browserState));
      return (await commands.run(IS_CANCELLED, [sessionKey], [timeOf()])) === 1;
    },

    /**
     * Looked up first: a lookup that fails uses nothing up. The use itself is
     * one script, repeated for a while under one id; if that leaves it unknown, the
     * use is undone, so that the user can try again.
     */
    async useCode(userCode) {
      const looked = await findByCode(userCode);
      if (looked === undefined) return undefined;
      const { codeKey, held, found } = looked;
      const id = createId();
      function onUnknown(): void {
        const undoOnce = () => commands.run(UNDO_USE_CODE, [codeKey], [timeOf(), id, held]);
        void commands.undo(undoOnce, { isUnknown: true });
      }
      const used = await commands.repeat({ insist: false, onUnknown }, () =>
        commands.run(USE_CODE, [codeKey], [timeOf(), id]),
      );
      return used === 1 ? found : undefined;
    },
  };
}
