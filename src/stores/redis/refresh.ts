/** Refreshes under way and just answered, over all instances; the answer is sealed under the token that was sent. */
import { EXCHANGE_LEASE_MS, REFRESH_RESULT_MS } from '../../limits.ts';
import type { RefreshStore, RefreshTurn } from '../../relay/refresh.ts';
import type { RandomBytes } from '../../relay/secrets.ts';
import { StoreUnavailable } from '../../relay/store.ts';
import type { TimeOf } from './clock.ts';
import type { RedisCommands } from './commands.ts';
import type { RedisKeys } from './keys.ts';
import { BEGIN_REFRESH, SETTLE_REFRESH } from './limit-scripts.ts';
import { type Derived, deriveFromRefresh, seal, unseal } from './seal.ts';

export interface RedisRefreshOptions {
  readonly commands: RedisCommands;
  readonly keys: RedisKeys;
  readonly randomBytes: RandomBytes;
  readonly timeOf: TimeOf;
  readonly createId: () => string;
}

const answerContext = ({ id }: Derived) => `refresh ${id}`;

export function createRedisRefreshStore(options: RedisRefreshOptions): RefreshStore {
  const { commands, keys, randomBytes, timeOf, createId } = options;
  return {
    /** Repeated for a while under one id. If that leaves it unknown, the provider is not asked. */
    async begin(key): Promise<RefreshTurn> {
      const refresh = deriveFromRefresh(key);
      const args = [EXCHANGE_LEASE_MS, createId()];
      const reply = await commands.repeat({ insist: false }, () =>
        commands.run(BEGIN_REFRESH, [keys.refresh(refresh)], [timeOf(), ...args]),
      );
      const [state, sealed = ''] = reply as ['yours' | 'under_way' | 'answered', string?];
      if (state === 'yours') return { state };
      if (state === 'under_way') return { state: 'in_progress' };
      const result = unseal(refresh.key, answerContext(refresh), sealed).toString();
      return { state: 'finished', result };
    },

    /** Repeated for a while, then given up: the device has its answer, and whoever asks again asks the provider. */
    async finish(key, answer) {
      const refresh = deriveFromRefresh(key);
      const sealed =
        answer === undefined ? '' : seal(refresh.key, answerContext(refresh), answer, randomBytes);
      const args = [REFRESH_RESULT_MS, sealed];
      try {
        await commands.repeat({ insist: false }, () =>
          commands.run(SETTLE_REFRESH, [keys.refresh(refresh)], [timeOf(), ...args]),
        );
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error;
      }
    },
  };
}
