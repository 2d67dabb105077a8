/** Sessions and rate limits in Redis: connects, looks whether the server is fit, and listens for completions. */
import { Buffer } from 'node:buffer';
import { STORE_CONNECT_MS } from '../limits.ts';
import type { Clock } from '../relay/clock.ts';
import type { RateLimiter, RateLimitPolicy } from '../relay/rate-limit.ts';
import type { RefreshAnswerStore } from '../relay/refresh-answers.ts';
import type { RandomBytes } from '../relay/secrets.ts';
import { type SessionStore, StoreUnavailable } from '../relay/store.ts';
import { createHoldBack } from './hold-back.ts';
import { createRedisStore, createRequestId } from './redis.ts';
import { type Claimer, connectRedis, type RedisClient } from './redis-client.ts';
import { createStoreClock } from './redis-clock.ts';
import { createRedisCommands } from './redis-commands.ts';
import { createRedisKeys } from './redis-keys.ts';
import { createOpenClaims, createPublish, createWake } from './redis-messages.ts';
import { createRedisRateLimiter } from './redis-rate-limiter.ts';
import { createRedisRefreshAnswers } from './redis-refresh-answers.ts';
import type { RedisTarget } from './redis-url.ts';
import { listenForWakeUps } from './redis-wake-ups.ts';
import { createWatchers } from './watchers.ts';

export interface RedisOptions {
  readonly target: RedisTarget;
  /** Before every key and channel: several relays may share a server. */
  readonly prefix: string;
  readonly maxSessions: number;
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
  /** What the operator should know; holds no secret. */
  readonly onEvent: (event: RedisEvent) => void;
  /** Only a test brings its own time; otherwise the store's clock holds for all instances. */
  readonly clockOf?: (nowMs: number) => number | '';
}

export type RedisEvent =
  | { readonly type: 'store_lost' | 'store_back' }
  /** No replica keeps up, so results are held back; and they are no more. */
  | { readonly type: 'store_unreplicated' | 'store_replicated' }
  | { readonly type: 'store_unfit'; readonly problem: string };

export interface RedisStores {
  readonly store: SessionStore;
  readonly refreshAnswers: RefreshAnswerStore;
  createRateLimiter(name: string, policy: RateLimitPolicy): RateLimiter;
  close(): void;
}

/** Resolves once the server answers. Rejects when it cannot be reached. */
export async function openRedis(options: RedisOptions): Promise<RedisStores> {
  const { target, prefix, clock, randomBytes, onEvent } = options;
  const instance = Buffer.from(randomBytes(9)).toString('base64url');
  const keys = createRedisKeys(prefix);
  const watchers = createWatchers();
  const line = { wasCut: false };
  const onCut = () => {
    line.wasCut = true;
  };
  const client = await connectInTime(target, clock, onCut);
  const commands = createRedisCommands({ client, clock, onCut });
  const storeClock = createStoreClock(client, commands, clock);
  const publish = createPublish({ client, commands, keys });
  const openClaims = createOpenClaims({ instance, publish, clock });
  for (const problem of await findProblems(client)) onEvent({ type: 'store_unfit', problem });
  const stopListening = await listenForWakeUps({
    client,
    commands,
    clock,
    storeClock,
    watchers,
    openClaims,
    line,
    channel: keys.channelPrefix + instance,
    onLost: () => onEvent({ type: 'store_lost' }),
    onBack: () => onEvent({ type: 'store_back' }),
  });
  const holdBack = createHoldBack({
    clock,
    isReplicating: () => commands.within(client.asClaimer(isReplicating)),
    onHeld: () => onEvent({ type: 'store_unreplicated' }),
    onReleased() {
      onEvent({ type: 'store_replicated' });
      watchers.wakeAll();
    },
  });
  const timeOf = (nowMs: number) => options.clockOf?.(nowMs) || storeClock.soon(nowMs);
  const createId = () => createRequestId(randomBytes);
  const shared = {
    ...options,
    client,
    commands,
    keys,
    timeOf,
    createId,
    wake: createWake(publish, clock),
  };
  return {
    store: createRedisStore({ ...shared, watchers, instance, openClaims, holdBack }),
    refreshAnswers: createRedisRefreshAnswers(shared),
    createRateLimiter: (name, policy) => createRedisRateLimiter({ ...shared, name, policy }),
    close() {
      holdBack.stop();
      commands.close();
      stopListening();
      client.close();
    },
  };
}

/** Speaks of what is written by now: WAIT looks back to its connection's last command. */
async function isReplicating(claimer: Claimer): Promise<boolean> {
  await claimer.eval('return 1', { keys: [], arguments: [] });
  return claimer.isReplicated();
}

/** The client itself would try for ever, and say nothing. */
function connectInTime(target: RedisTarget, clock: Clock, onCut: () => void): Promise<RedisClient> {
  return new Promise((resolve, reject) => {
    const giveUp = () => reject(new StoreUnavailable('not connected in time'));
    const callOff = clock.setTimer(STORE_CONNECT_MS, giveUp);
    // What the error says may be more than is good for a log.
    connectRedis(target, onCut)
      .then(resolve, (error: unknown) => reject(new StoreUnavailable('refused', { cause: error })))
      .finally(callOff);
  });
}

/** What would lose sessions, or keep them where they should not be. hazards.md §3. */
async function findProblems(client: RedisClient): Promise<string[]> {
  const { info, save } = await client.describe();
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
