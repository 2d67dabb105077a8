/** Sessions and rate limits in Redis: connects, checks the server's settings, and listens for completions. */
import { Buffer } from 'node:buffer';
import { setTimeout } from 'node:timers/promises';
import { STORE_CONNECT_MS, STORE_RETRY_MS, STORE_SILENCE_MS } from '../../limits.ts';
import { type Monitor, NO_MONITOR } from '../../monitor.ts';
import type { RateLimiter, RateLimitPolicy } from '../../relay/rate-limit.ts';
import type { RefreshStore } from '../../relay/refresh.ts';
import type { RandomBytes } from '../../relay/secrets.ts';
import { type SessionStore, StoreUnavailable } from '../../relay/store.ts';
import type { Clock } from '../../relay/time.ts';
import { createWaiters } from '../waiters.ts';
import { createRedisCommands, createStoreClock } from './commands.ts';
import { connectRedis } from './connect.ts';
import {
  type ConnectFailure,
  createRefusals,
  describeConnectFailure,
  noAnswer,
  type RefusalEvent,
} from './failures.ts';
import { createRedisRateLimiter, createRedisRefreshStore } from './limits.ts';
import type { PrimaryEvent } from './primaries.ts';
import { createKnownPolls, createOpenClaims, createPublish, listenForWakeUps } from './pub-sub.ts';
import { createRedisKeys } from './records.ts';
import { watchReplication } from './replication.ts';
import { createRedisStore } from './store.ts';
import type { RedisTarget } from './url.ts';

export interface RedisOptions {
  readonly target: RedisTarget;
  /** Before every key and channel: several relays may share a server. */
  readonly prefix: string;
  readonly maxSessions: number;
  readonly startPolicy: RateLimitPolicy;
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
  /** Counts commands. Absent: nobody does. */
  readonly monitor?: Monitor;
  /** What the operator should know; holds no secret. */
  readonly onEvent: (event: RedisEvent) => void;
  /** Only a test sets the time. Otherwise the store's clock is that of all instances. */
  readonly testClock?: Clock;
}

export type RedisEvent =
  | RefusalEvent
  /** At the start: it cannot be used yet, and is tried for so much longer. */
  | { readonly type: 'store_awaited'; readonly problem: string; readonly secondsLeft: number }
  | { readonly type: 'store_lost' | 'store_back' }
  | PrimaryEvent
  /** A primary has no replica that keeps up, or each has one again. */
  | { readonly type: 'store_unreplicated' | 'store_replicated' }
  | { readonly type: 'store_unfit'; readonly problem: string };

export interface RedisStores {
  readonly sessions: SessionStore;
  readonly refreshes: RefreshStore;
  createRateLimiter(name: string, policy: RateLimitPolicy): RateLimiter;
  close(): void;
}

/**
 * Resolves once the server answers. Tries for STORE_CONNECT_MS, because the
 * server may be starting too, unless the failure is final. Rejects with
 * StoreUnavailable, whose message says why.
 */
export async function openRedis(options: RedisOptions): Promise<RedisStores> {
  const { target, clock, onEvent } = options;
  const untilMs = clock.now() + STORE_CONNECT_MS;
  const end = new AbortController();
  const cancelEnd = clock.setTimer(STORE_CONNECT_MS, () => end.abort());
  let last: ConnectFailure | undefined;

  function report(failure: ConnectFailure): void {
    if (failure.problem !== last?.problem && !failure.isFinal) {
      const secondsLeft = Math.ceil((untilMs - clock.now()) / 1_000);
      onEvent({ type: 'store_awaited', problem: failure.problem, secondsLeft });
    }
    last = failure;
  }

  try {
    for (;;) {
      const attempt = createAttempt(options, end.signal);
      const cancelReport = clock.setTimer(STORE_SILENCE_MS, () =>
        report(attempt.failure() ?? noAnswer(target)),
      );
      try {
        return await attempt.outcome;
      } catch (error) {
        // An attempt that was ended at once has no failure of its own.
        const failure = attempt.failure() ?? last ?? noAnswer(target);
        if (end.signal.aborted || failure.isFinal) {
          throw new StoreUnavailable(failure.problem, { cause: error });
        }
        report(failure);
      } finally {
        cancelReport();
      }
      // Not by the clock, whose timers keep no process running: nothing else does between two attempts.
      await setTimeout(STORE_RETRY_MS);
    }
  } finally {
    cancelEnd();
  }
}

/** One try to start. Whatever it has made is closed when it fails, or when `end` comes first. */
function createAttempt(options: RedisOptions, end: AbortSignal) {
  const ending = new AbortController();
  let failure: ConnectFailure | undefined;

  /** The first error names the cause: later ones follow from it. */
  function note(error: unknown): void {
    failure ??= describeConnectFailure(error, options.target);
  }

  async function run(): Promise<RedisStores> {
    try {
      const stores = await startStores(options, note, ending.signal);
      if (!end.aborted) return stores;
      stores.close();
      throw new StoreUnavailable('not answered in time');
    } catch (error) {
      note(error);
      ending.abort();
      throw error;
    }
  }

  const outcome = new Promise<RedisStores>((resolve, reject) => {
    const cutOff = () => {
      ending.abort();
      reject(new StoreUnavailable('not answered in time'));
    };
    if (end.aborted) cutOff();
    end.addEventListener('abort', cutOff);
    run()
      .then(resolve, reject)
      .finally(() => end.removeEventListener('abort', cutOff));
  });
  return { outcome, failure: () => failure };
}

async function startStores(
  options: RedisOptions,
  note: (error: unknown) => void,
  signal: AbortSignal,
): Promise<RedisStores> {
  const { target, prefix, clock, randomBytes, onEvent } = options;
  const instance = Buffer.from(randomBytes(9)).toString('base64url');
  const waiters = createWaiters();
  const line = { wasCut: false };
  const onCut = (error?: unknown) => {
    line.wasCut = true;
    note(error);
  };
  const client = await connectRedis(target, { onCut, onEvent, signal });
  const keys = createRedisKeys(prefix, client.isCluster);
  const refusals = createRefusals(clock, onEvent);
  const { monitor = NO_MONITOR } = options;
  const commands = createRedisCommands({ client, clock, onCut, refusals, monitor });
  const storeClock = createStoreClock(client, commands, clock);
  const problems = findProblems(await commands.within(client.describe()));
  const publish = createPublish({ client, commands, keys });
  const openClaims = createOpenClaims({ instance, publish, clock });
  const knownPolls = createKnownPolls(clock);
  const stopListening = await listenForWakeUps({
    client,
    commands,
    clock,
    storeClock,
    waiters,
    openClaims,
    knownPolls,
    line,
    channel: keys.channelPrefix + instance,
    onLost: () => onEvent({ type: 'store_lost' }),
    onBack: () => onEvent({ type: 'store_back' }),
  });
  for (const problem of problems) onEvent({ type: 'store_unfit', problem });
  const stopWatching = watchReplication({
    client,
    commands,
    clock,
    onBehind: () => onEvent({ type: 'store_unreplicated' }),
    onCaughtUp: () => onEvent({ type: 'store_replicated' }),
  });
  const timeOf = () => options.testClock?.now() ?? storeClock.deadline();
  const createId = () => Buffer.from(randomBytes(12)).toString('base64url');
  const shared = { ...options, client, commands, keys, timeOf, createId };
  const startLimiter = createRedisRateLimiter({
    ...shared,
    name: 'start',
    policy: options.startPolicy,
  });
  return {
    sessions: createRedisStore({
      ...shared,
      startLimiter,
      waiters,
      instance,
      openClaims,
      knownPolls,
    }),
    refreshes: createRedisRefreshStore(shared),
    createRateLimiter: (name, policy) => createRedisRateLimiter({ ...shared, name, policy }),
    close() {
      stopWatching();
      commands.close();
      stopListening();
      client.close();
    },
  };
}

/** Settings of the server that may lose sessions, or write them to disk. docs/scaling.md "Set-up". */
function findProblems({ info, save }: { info: string; save: string }): string[] {
  const field = (name: string) => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
  const problems: string[] = [];
  const policy = field('maxmemory_policy');
  if (policy !== undefined && policy !== 'noeviction') {
    problems.push(`maxmemory-policy is ${policy}: sign-ins under way may vanish; set noeviction`);
  }
  if (field('aof_enabled') === '1' || save !== '') {
    problems.push(
      'persistence is on: sealed sessions are written to disk; set save "" and appendonly no',
    );
  }
  return problems;
}
