/**
 * Refreshes of all instances, one at a time for each token. The result is sealed under
 * the token that was sent.
 */
import { EXCHANGE_LEASE_MS, REFRESH_RESULT_MS } from '../../limits.ts';
import type { RefreshStore, RefreshTurn } from '../../sign-ins/refreshes.ts';
import type { RandomBytes } from '../../sign-ins/secrets.ts';
import { StoreUnavailable } from '../../sign-ins/store.ts';
import { deriveFromRefresh, openRefresh, sealRefresh } from '../sealing.ts';
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
    async begin(key): Promise<RefreshTurn> {
      const refresh = deriveFromRefresh(key);
      const args = [EXCHANGE_LEASE_MS, createCallId(randomBytes)];
      const reply = await commands.repeat('briefly', () =>
        commands.run(SCRIPTS.beginRefresh, [keys.refresh(refresh)], args),
      );
      const [state, sealed = ''] = reply as [RefreshTurn['state'], string?];
      if (state !== 'finished') return { state };
      return { state, result: openRefresh(refresh, sealed) };
    },

    /** Repeated only for a while: the device has its result, and a repeated refresh is sent to the provider. */
    async finish(key, result) {
      const refresh = deriveFromRefresh(key);
      const sealed = result === undefined ? '' : sealRefresh(refresh, result, randomBytes);
      const args = [REFRESH_RESULT_MS, sealed];
      try {
        await commands.repeat('briefly', () =>
          commands.run(SCRIPTS.finishRefresh, [keys.refresh(refresh)], args),
        );
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error;
      }
    },
  };
}
