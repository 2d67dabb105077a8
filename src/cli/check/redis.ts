/** Redis: reachable, its version, whether it evicts keys or writes to disk, and whether the ACL allows every command. */
import { randomBytes } from 'node:crypto';
import type { Settings } from '../../settings/index.ts';
import { createSignIns } from '../../sign-ins/sign-ins.ts';
import { StoreUnavailable } from '../../sign-ins/store.ts';
import { systemClock } from '../../sign-ins/time.ts';
import { replyIn } from '../../stores/redis/failures.ts';
import { openRedis, type RedisEvent } from '../../stores/redis/open.ts';
import { type Finding, fault, ok, warning } from './finding.ts';

const WHAT = 'redis';

/** How long to wait for a server that does not answer. */
const WAIT_MS = 5_000;

/** The lifetime of the check's own session, if nothing removes it. */
const LIFETIME_SECONDS = 5;

const ONE_A_SECOND = { burst: 1, ratePerSecond: 1 };

export async function checkRedis(redis: NonNullable<Settings['redis']>): Promise<Finding[]> {
  const events: RedisEvent[] = [];
  const describeRefusal = () => {
    const refusal = events.find((event) => event.type === 'store_refuses');
    return refusal && fault(WHAT, `refuses commands (${refusal.reason})`, refusal.remedy);
  };
  try {
    const stores = await openRedis({
      ...redis,
      waitMs: WAIT_MS,
      // The check's session counts with those of the relays, since an ACL may allow no other keys.
      maxSessions: Number.MAX_SAFE_INTEGER,
      clock: systemClock,
      randomBytes,
      onEvent: (event) => events.push(event),
    });
    try {
      await signIn(stores);
    } finally {
      stores.close();
    }
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

/**
 * Runs each script once, to find rights that are missing. Not `sweep`: the relays would not log
 * what it removes.
 */
async function signIn({
  sessions: store,
  vault,
  refreshes,
  createRateLimiter,
}: Awaited<ReturnType<typeof openRedis>>) {
  const ignore = () => {};
  const observer = {
    opened: ignore,
    delivered: ignore,
    resultLost: ignore,
    cancelled: ignore,
    expired: ignore,
  };
  const sessionSeconds = LIFETIME_SECONDS;
  const clock = systemClock;
  const signIns = createSignIns({ store, vault, observer, clock, randomBytes, sessionSeconds });
  const started = await signIns.start(WHAT, {
    delivery: { kind: 'tokens' },
    withUserCode: true,
    deviceName: undefined,
    redeliveryMs: undefined,
  });
  if (!started.ok) return;
  const { browserState, pollSecret, userCode = '' } = started.secrets;
  await signIns.find({ userCode });
  await signIns.open(WHAT, browserState);
  await signIns.fail(WHAT, browserState, 'exchange_failed');
  await signIns.poll(pollSecret, new AbortController().signal, 0);
  await signIns.countLive();
  await createRateLimiter('check', ONE_A_SECOND).take('check');
  const refresh = vault.refresh(browserState);
  await refreshes.begin(refresh.id);
  await refreshes.finish(refresh.id, undefined);
}
