/** Refreshes under way and just answered, over all instances; the answer is sealed under the token that was sent. */
import { EXCHANGE_LEASE_MS, REFRESH_ANSWER_MS } from '../limits.ts';
import type { RefreshAnswerStore, Turn } from '../relay/refresh-answers.ts';
import type { RandomBytes } from '../relay/secrets.ts';
import { StoreUnavailable } from '../relay/store.ts';
import type { TimeOf } from './redis-clock.ts';
import type { RedisCommands } from './redis-commands.ts';
import type { RedisKeys } from './redis-keys.ts';
import { BEGIN_REFRESH, SETTLE_REFRESH } from './redis-limit-scripts.ts';
import { type Derived, deriveFromRefresh, seal, unseal } from './seal.ts';

export interface RedisRefreshAnswersOptions {
  readonly commands: RedisCommands;
  readonly keys: RedisKeys;
  readonly randomBytes: RandomBytes;
  readonly timeOf: TimeOf;
  readonly createId: () => string;
}

const answerContext = ({ id }: Derived) => `refresh ${id}`;

export function createRedisRefreshAnswers(options: RedisRefreshAnswersOptions): RefreshAnswerStore {
  const { commands, keys, randomBytes, timeOf, createId } = options;
  return {
    /** Repeated for a while under one id. If that leaves it unknown, the provider is not asked. */
    async begin(key, nowMs): Promise<Turn> {
      const refresh = deriveFromRefresh(key);
      const args = [EXCHANGE_LEASE_MS, createId()];
      const reply = await commands.repeat({ insist: false }, () =>
        commands.run(BEGIN_REFRESH, [keys.refresh(refresh)], [timeOf(nowMs), ...args]),
      );
      const [state, sealed = ''] = reply as [Turn['state'], string?];
      if (state !== 'answered') return { state };
      return { state, answer: unseal(refresh.key, answerContext(refresh), sealed).toString() };
    },

    /** Repeated for a while, then given up: the device has its answer, and whoever asks again asks the provider. */
    async settle(key, answer, nowMs) {
      const refresh = deriveFromRefresh(key);
      const sealed =
        answer === undefined ? '' : seal(refresh.key, answerContext(refresh), answer, randomBytes);
      const args = [REFRESH_ANSWER_MS, sealed];
      try {
        await commands.repeat({ insist: false }, () =>
          commands.run(SETTLE_REFRESH, [keys.refresh(refresh)], [timeOf(nowMs), ...args]),
        );
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error;
      }
    },
  };
}
