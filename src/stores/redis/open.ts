/** Opens the stores in Redis or Valkey, for many instances at once: connects, checks the server's settings, and creates them. */
import { setTimeout } from 'node:timers/promises';
import { STORE_RETRY_MS } from '../../limits.ts';
import { type Monitor, NO_MONITOR } from '../../monitor.ts';
import type { RateLimitPolicy } from '../../sign-ins/rate-limits.ts';
import type { RandomBytes } from '../../sign-ins/secrets.ts';
import { StoreUnavailable } from '../../sign-ins/store.ts';
import type { Clock } from '../../sign-ins/time.ts';
import { createSealedVault } from '../sealed-vault.ts';
import { createRedisCommands, createRedisKeys } from './commands.ts';
import { connectRedis } from './connect.ts';
import { type ConnectFailure, describeConnectFailure, noAnswer } from './failures.ts';
import { createStoreHealth, type HealthEvent } from './health.ts';
import { createNotices, type Notices } from './notices.ts';
import { createRedisRateLimiter, createRedisRefreshStore, createRedisStore } from './store.ts';
import type { RedisTarget } from './url.ts';

/** How long a starting relay waits for a connection before it logs the reason. */
export const STORE_SILENCE_MS = 1_000;

export interface RedisOptions {
  readonly target: RedisTarget;
  /** How long a start tries to connect. */
  readonly waitMs: number;
  /** Prefix of every key and channel, because several relays may share a server. */
  readonly prefix: string;
  readonly maxSessions: number;
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
  /** Default: no metrics. */
  readonly monitor?: Monitor;
  /** Events for the log, without secrets. */
  readonly onEvent: (event: RedisEvent) => void;
  /** Only a test sets the time. Otherwise all instances use the store's clock. */
  readonly testClock?: Clock;
}

export type RedisEvent =
  /** At startup: Redis cannot be used yet, and is tried for `secondsLeft` more. */
  | { readonly type: 'store_waiting'; readonly problem: string; readonly secondsLeft: number }
  | HealthEvent
  | { readonly type: 'store_misconfigured'; readonly problem: string };

/**
 * Resolves once the server answers, even if it refuses commands. Tries for `waitMs`, because
 * the server may be starting too, unless the failure is final. Rejects with
 * StoreUnavailable, whose message says why.
 */
export async function openRedis(options: RedisOptions) {
  const { target, waitMs, clock, onEvent } = options;
  const untilMs = clock.now() + waitMs;
  const end = new AbortController();
  const cancelEnd = clock.setTimer(waitMs, () => end.abort());
  let last: ConnectFailure | undefined;
  /** The error that `last` or a newer failure describes. */
  let cause: unknown;

  function report(failure: ConnectFailure): void {
    if (failure.problem !== last?.problem && !failure.isFinal) {
      const secondsLeft = Math.ceil((untilMs - clock.now()) / 1_000);
      onEvent({ type: 'store_waiting', problem: failure.problem, secondsLeft });
    }
    last = failure;
  }

  for (;;) {
    /** The first error names the cause: later ones follow from it. */
    let failure: ConnectFailure | undefined;
    const note = (error: unknown) => {
      if (failure !== undefined) return;
      failure = describeConnectFailure(error, target);
      if (failure !== undefined) cause = error;
    };
    const closing = new AbortController();
    const cancelReport = clock.setTimer(STORE_SILENCE_MS, () =>
      report(failure ?? noAnswer(target)),
    );
    try {
      const ending = AbortSignal.any([end.signal, closing.signal]);
      const stores = await startStores(options, note, ending);
      cancelEnd();
      if (!ending.aborted) return { ...stores, close: () => closing.abort() };
      throw new StoreUnavailable('not answered in time');
    } catch (error) {
      note(error);
      closing.abort();
      // An attempt that was aborted at once has no failure to report.
      const { problem, isFinal } = failure ?? last ?? noAnswer(target);
      if (isFinal || end.signal.aborted) throw new StoreUnavailable(problem, { cause });
      report({ problem, isFinal });
    } finally {
      cancelReport();
    }
    // The clock's timers are unref'd; the process would exit here.
    await setTimeout(STORE_RETRY_MS);
    if (end.signal.aborted)
      throw new StoreUnavailable((last ?? noAnswer(target)).problem, { cause });
  }
}

/** Everything that it opens is closed when `signal` fires. */
async function startStores(
  options: RedisOptions,
  note: (error: unknown) => void,
  signal: AbortSignal,
) {
  const { target, prefix, clock, randomBytes, onEvent, testClock } = options;
  const instance = randomBytes(9).toString('base64url');
  const keys = createRedisKeys(prefix, target.type === 'cluster');
  const { channel } = keys;
  let notices: Notices | undefined;
  const health = createStoreHealth({
    target,
    clock,
    onEvent,
    probe: () => commands.run('probe', [keys.probe, keys.live], [`${channel} probe`]),
    reconnect: () => client.reconnect(),
    signal,
  });
  const onConnectionLost = (error?: unknown) => {
    notices?.connectionFailed();
    note(error);
    health.failed(error);
  };
  const client = await connectRedis(target, keys.live, onConnectionLost, signal);
  const commands = createRedisCommands({
    client,
    clock,
    onConnectionLost,
    health,
    monitor: options.monitor ?? NO_MONITOR,
    testClock,
  });
  const problems = describeMisconfigurations(await commands.within(client.describe()));
  notices = createNotices({ client, commands, clock, channel, instance, health, signal });
  await notices.start();
  await health.start();
  for (const problem of problems) onEvent({ type: 'store_misconfigured', problem });
  const { maxSessions } = options;
  const store = { commands, keys, notices, health, randomBytes, maxSessions };
  return {
    sessions: createRedisStore(store),
    vault: createSealedVault(randomBytes),
    refreshes: createRedisRefreshStore(store),
    createRateLimiter: (name: string, policy: RateLimitPolicy) =>
      createRedisRateLimiter(commands, keys, testClock ?? clock, name, policy),
    findProblem: health.findProblem,
  };
}

/** A field of the reply to INFO. https://redis.io/docs/latest/commands/info/ */
function infoField(info: string, name: string): string | undefined {
  const line = info.split(/\r?\n/).find((each) => each.startsWith(`${name}:`));
  return line?.slice(name.length + 1);
}

/** The oldest that is tested. */
const OLDEST_VERSION = 6.2;

/** Whether the server is too old, may lose sessions, or writes them to disk. docs/scaling.md "Set-up". */
function describeMisconfigurations({ info, save }: { info: string; save: string }): string[] {
  const policy = infoField(info, 'maxmemory_policy') ?? 'noeviction';
  const isKept = infoField(info, 'aof_enabled') === '1' || save !== '';
  const version = infoField(info, 'redis_version') ?? '';
  return [
    Number.parseFloat(version) < OLDEST_VERSION &&
      `Redis ${version} is older than what is tested: use ${OLDEST_VERSION} or newer, or Valkey`,
    policy !== 'noeviction' &&
      `maxmemory-policy is ${policy}: sign-ins in progress may be lost; set noeviction`,
    isKept &&
      'persistence is on: sealed sessions are written to disk; set save "" and appendonly no',
  ].filter((problem) => problem !== false);
}
