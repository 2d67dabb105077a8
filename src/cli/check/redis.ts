/** Redis: reachable, its version, whether it evicts keys or writes to disk, and whether the ACL allows every command. */
import { randomBytes } from 'node:crypto';
import type { Settings } from '../../settings/index.ts';
import { StoreUnavailable } from '../../sign-ins/store.ts';
import { systemClock } from '../../sign-ins/time.ts';
import { replyIn } from '../../stores/redis/failures.ts';
import { openRedis, type RedisEvent } from '../../stores/redis/open.ts';
import { type Finding, fault, ok, warning } from './finding.ts';

const WHAT = 'redis';

/** How long to wait for a server that does not answer. */
const WAIT_MS = 5_000;

export async function checkRedis(redis: NonNullable<Settings['redis']>): Promise<Finding[]> {
  const events: RedisEvent[] = [];
  const describeRefusal = () => {
    const refusal = events.find((event) => event.type === 'store_refuses');
    return refusal && fault(WHAT, `refuses commands (${refusal.reason})`, refusal.remedy);
  };
  try {
    // It runs every command once, to find rights that are missing (`probe` of scripts.lua).
    const stores = await openRedis({
      ...redis,
      waitMs: WAIT_MS,
      maxSessions: 0,
      clock: systemClock,
      randomBytes,
      onEvent: (event) => events.push(event),
    });
    stores.close();
  } catch (error) {
    const refusal = describeRefusal();
    if (refusal !== undefined) return [refusal];
    if (!(error instanceof StoreUnavailable)) throw error;
    return [fault(WHAT, error.message, remedyFor(error))];
  }
  const misconfigured = events.flatMap((event) =>
    event.type === 'store_misconfigured' ? [warning(WHAT, event.problem)] : [],
  );
  return [
    describeRefusal() ?? ok(WHAT, 'it allows every command that the relay needs'),
    ...misconfigured,
  ];
}

/** A server that replies is running. For Sentinels, the message names the setting. */
function remedyFor(error: StoreUnavailable): string | undefined {
  if (error.message.includes('REDIS_')) return undefined;
  return replyIn(error) === undefined ? 'correct REDIS_URL, or start Redis' : 'correct REDIS_URL';
}
