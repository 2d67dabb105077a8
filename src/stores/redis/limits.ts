/**
 * What is limited over all instances: requests by address, in token buckets, and
 * refreshes to one at a time for each token. A refresh's result is sealed under the
 * token that was sent.
 */
import { EXCHANGE_LEASE_MS, REFRESH_RESULT_MS } from '../../limits.ts';
import { intervalMsOf, type RateLimiter, type RateLimitPolicy } from '../../relay/rate-limit.ts';
import type { RefreshStore, RefreshTurn } from '../../relay/refresh.ts';
import type { RandomBytes } from '../../relay/secrets.ts';
import { StoreUnavailable } from '../../relay/store.ts';
import type { RedisCommands, TimeOf } from './commands.ts';
import type { RedisKeys } from './records.ts';
import { SCRIPTS } from './scripts.ts';
import { type Derived, deriveFromRefresh, seal, unseal } from './sealing.ts';

export interface RedisRateLimiterOptions {
  readonly commands: RedisCommands;
  readonly keys: RedisKeys;
  /** Keeps the buckets of several limits apart. */
  readonly name: string;
  readonly policy: RateLimitPolicy;
  readonly timeOf: TimeOf;
}

export interface RedisRateLimiter extends RateLimiter {
  /** The key of an address's bucket, for a script that takes its token itself. */
  bucketOf(address: string): string;
}

export function createRedisRateLimiter(options: RedisRateLimiterOptions): RedisRateLimiter {
  const { commands, keys, name, policy, timeOf } = options;
  const intervalMs = intervalMsOf(policy);
  const bucketOf = (address: string) => keys.bucket(name, address);
  return {
    policy,
    bucketOf,
    /** Unknown after a timeout: a token may have been taken by a start that is refused. */
    async take(address) {
      const args = [timeOf(), policy.burst, intervalMs];
      const retryAfterMs = Number(await commands.run(SCRIPTS.takeToken, [bucketOf(address)], args));
      return retryAfterMs;
    },
    /** Not repeated: unknown, it costs the address one token at most. */
    async refund(address) {
      await commands.run(SCRIPTS.refundToken, [bucketOf(address)], [timeOf(), intervalMs]);
    },
    // A full bucket expires by itself.
    sweep() {},
  };
}

export interface RedisRefreshOptions {
  readonly commands: RedisCommands;
  readonly keys: RedisKeys;
  readonly randomBytes: RandomBytes;
  readonly timeOf: TimeOf;
  readonly createId: () => string;
}

const resultContext = ({ id }: Derived) => `refresh ${id}`;

export function createRedisRefreshStore(options: RedisRefreshOptions): RefreshStore {
  const { commands, keys, randomBytes, timeOf, createId } = options;
  return {
    /** Repeated for a while under one id. If that leaves it unknown, the provider is not asked. */
    async begin(key): Promise<RefreshTurn> {
      const refresh = deriveFromRefresh(key);
      const args = [EXCHANGE_LEASE_MS, createId()];
      const reply = await commands.repeat({ insist: false }, () =>
        commands.run(SCRIPTS.beginRefresh, [keys.refresh(refresh)], [timeOf(), ...args]),
      );
      const [state, sealed = ''] = reply as [RefreshTurn['state'], string?];
      if (state !== 'finished') return { state };
      const result = unseal(refresh.key, resultContext(refresh), sealed).toString();
      return { state, result };
    },

    /** Repeated for a while, then given up: the device has its result, and whoever asks again asks the provider. */
    async finish(key, result) {
      const refresh = deriveFromRefresh(key);
      const sealed =
        result === undefined ? '' : seal(refresh.key, resultContext(refresh), result, randomBytes);
      const args = [REFRESH_RESULT_MS, sealed];
      try {
        await commands.repeat({ insist: false }, () =>
          commands.run(SCRIPTS.finishRefresh, [keys.refresh(refresh)], [timeOf(), ...args]),
        );
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error;
      }
    },
  };
}
