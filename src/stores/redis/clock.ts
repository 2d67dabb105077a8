/**
 * The store's clock, relative to ours. A store that is paused, or that fails over, may
 * carry out a command when nobody waits for its answer any more. A claim would then
 * deliver the tokens to nobody. So a command says until when it is valid, and the
 * store refuses it later. docs/scaling.md "When Redis is unreachable".
 */
import { STORE_DEADLINE_MS, STORE_LATEST_MS } from '../../limits.ts';
import type { Clock } from '../../relay/time.ts';
import type { RedisClient } from './client.ts';
import type { RedisCommands } from './commands.ts';

/**
 * The store's time is known to within half of a round trip. A longer round trip, such
 * as after a pause of the relay or the store, is less exact than the margin between
 * STORE_LATEST_MS and STORE_DEADLINE_MS.
 */
const MAX_ROUND_TRIP_MS = 2 * (STORE_DEADLINE_MS - STORE_LATEST_MS);

/** The argument `now` of a script. */
export type TimeOf = () => number | string;

export interface StoreClock {
  /** Asks the store what time it is. */
  look(): Promise<void>;
  /** `until` and the last moment, by the store's clock, at which it may carry out the command. */
  readonly soon: TimeOf;
}

export function createStoreClock(
  client: RedisClient,
  commands: RedisCommands,
  clock: Clock,
): StoreClock {
  let aheadMs: number | undefined;
  return {
    async look() {
      const askedAtMs = clock.now();
      const storeMs = await commands.within(client.time());
      const answeredAtMs = clock.now();
      if (aheadMs !== undefined && answeredAtMs - askedAtMs > MAX_ROUND_TRIP_MS) return;
      aheadMs = storeMs - (askedAtMs + answeredAtMs) / 2;
    },
    // Unknown only before the first look.
    soon: () =>
      aheadMs === undefined ? '' : `until ${Math.round(clock.now() + aheadMs + STORE_LATEST_MS)}`,
  };
}
