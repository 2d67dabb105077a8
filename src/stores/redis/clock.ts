/**
 * The store's clock, as it stands to ours. A command may lie in wait, in a store
 * that stands still or behind a failover, and be carried out when nobody waits
 * for it any more: a claim would then hand the tokens to nobody. So it says until
 * when it holds, and the store itself refuses it later. hazards.md §1d.
 */
import { STORE_DEADLINE_MS, STORE_LATEST_MS } from '../../limits.ts';
import type { Clock } from '../../relay/time.ts';
import type { RedisClient } from './client.ts';
import type { RedisCommands } from './commands.ts';

/**
 * An answer that took longer tells the store's time less exactly than the margin
 * between STORE_LATEST_MS and STORE_DEADLINE_MS: it is off by up to half of what
 * it took, as after a standstill of the relay or the store.
 */
const MAX_ROUND_TRIP_MS = 2 * (STORE_DEADLINE_MS - STORE_LATEST_MS);

/** What stands for now in a script. */
export type TimeOf = () => number | string;

export interface StoreClock {
  /** Asks the store what time it is. */
  look(): Promise<void>;
  /** The store's own time, while it is not too late for what was asked now. */
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
