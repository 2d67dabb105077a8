/** Refreshes of all instances, one at a time for each token. */
import { EXCHANGE_LEASE_MS, REFRESH_RESULT_MS } from '../../limits.ts';
import type { RandomBytes } from '../../sign-ins/secrets.ts';
import type { RefreshStore, RefreshTurn } from '../../sign-ins/store.ts';
import { createCallId, type RedisCommands } from './commands.ts';
import type { RedisKeys } from './keys.ts';
import { SCRIPTS } from './scripts.ts';

export function createRedisRefreshStore(
  commands: RedisCommands,
  keys: RedisKeys,
  randomBytes: RandomBytes,
): RefreshStore {
  return {
    /** Repeated for a while under one id. If the outcome stays unknown, nothing is sent to the provider. */
    async begin(id) {
      const args = [EXCHANGE_LEASE_MS, createCallId(randomBytes)];
      const reply = await commands.repeat('briefly', () =>
        commands.run(SCRIPTS.beginRefresh, [keys.refresh(id)], args),
      );
      const [state, result = ''] = reply as [RefreshTurn['state'], string?];
      return state === 'finished' ? { state, result } : { state };
    },

    /** Repeated only for a while: the device has its result, and a repeated refresh is sent to the provider. */
    async finish(id, result = '') {
      await commands.repeat('briefly', () =>
        commands.run(SCRIPTS.finishRefresh, [keys.refresh(id)], [REFRESH_RESULT_MS, result]),
      );
    },
  };
}
