/**
 * Commands with a deadline, because the client would wait for a reply indefinitely. Scripts
 * without a reply may be repeated. Each is valid until a time on the store's clock.
 */
import { hash } from 'node:crypto';
import { ErrorReply } from '@redis/client';
import {
  EXCHANGE_LEASE_MS,
  STORE_DEADLINE_MS,
  STORE_LATEST_MS,
  STORE_RETRY_MS,
} from '../../limits.ts';
import type { Monitor } from '../../monitor.ts';
import type { RandomBytes } from '../../sign-ins/secrets.ts';
import { StoreUnavailable } from '../../sign-ins/store.ts';
import { type Clock, createDeadlineQueue, type Deadline, pause } from '../../sign-ins/time.ts';
import type { RedisClient } from './connect.ts';
import { isRefusal, reasonOf } from './failures.ts';
import type { StoreHealth } from './health.ts';
import scripts from './scripts.lua' with { type: 'text' };

/** EVALSHA runs scripts.lua by this digest. */
const SCRIPTS_SHA1 = hash('sha1', scripts);

export type RedisKeys = ReturnType<typeof createRedisKeys>;

/** The names of all keys, and of the channel. In a Cluster every key has the hash tag `{0}`. docs/sealing.md "Records". */
export function createRedisKeys(prefix: string, isCluster: boolean) {
  const own = isCluster ? `${prefix}{0}:` : prefix;
  return {
    /** All instances subscribe to it. */
    channel: `${prefix}wake:all`,
    /** Link ids of the live sessions, sorted by when each stops being live. */
    live: `${own}live-sign-ins`,
    /** The record of a session. */
    session: (link: string) => `${own}sign-in:${link}`,
    /** The values of these two contain the link id. */
    poll: (id: string) => `${own}sign-in-poll:${id}`,
    code: (id: string) => `${own}sign-in-code:${id}`,
    refresh: (id: string) => `${own}refresh:${id}`,
    bucket: (limit: string, address: string) => `${own}rate:${limit}:${address}`,
    /** The key that the probe writes. */
    probe: `${own}probe`,
  };
}

/** How long 'briefly' repeats a command: a user or a device waits for it. */
export const STORE_BRIEF_RETRY_MS = 4_000;

export type RedisCommands = ReturnType<typeof createRedisCommands>;

/** How long a command without a reply is repeated: for STORE_BRIEF_RETRY_MS, or as long as an exchange may hold its session. */
export type RetryPolicy = 'briefly' | 'until lease ends';

export interface RedisCommandsOptions {
  readonly client: RedisClient;
  readonly clock: Clock;
  /** Called for each command without a reply. */
  readonly onConnectionLost: () => void;
  readonly health: Pick<StoreHealth, 'refused'>;
  readonly monitor: Monitor;
  /** Replaces the store's clock. */
  readonly testClock: Clock | undefined;
}

export function createRedisCommands(options: RedisCommandsOptions) {
  const { client, clock, onConnectionLost, health, monitor, testClock } = options;
  const deadlines = createDeadlineQueue(clock, STORE_DEADLINE_MS);
  const storeClock = createStoreClock(() => within(client.time()), clock);
  const validUntil = testClock?.now ?? storeClock.deadline;
  const inProgress = new Set<Promise<unknown>>();

  /**
   * `script`: its name in scripts.lua. Throws StoreUnavailable if the client is offline, the server refuses, the connection is lost, or no
   * reply comes in time. After the last two it is unknown whether the script was executed, so it
   * is repeated only if `policy` says so.
   */
  function run(
    script: string,
    keys: string[],
    args: (string | number)[] = [],
    policy?: RetryPolicy,
  ): Promise<unknown> {
    const texts = args.map(String);
    return perform(policy, () => {
      const command = [String(keys.length), ...keys, script, String(validUntil()), ...texts];
      return client.send(['EVALSHA', SCRIPTS_SHA1, ...command]).catch((error: unknown) => {
        // The server was restarted, or has not run the scripts before.
        if (!(error instanceof ErrorReply) || reasonOf(error) !== 'NOSCRIPT') throw error;
        return client.send(['EVAL', scripts, ...command]);
      });
    });
  }

  /** The value of a key, and the store's time just after. A script for this would cost the store several times as much. */
  function read(key: string): Promise<[value: unknown, nowMs: number]> {
    const askTime = () => testClock?.now() ?? client.time();
    return perform('briefly', () => Promise.all([client.send(['GET', key]), askTime()]));
  }

  function perform<T>(policy: RetryPolicy | undefined, send: () => Promise<T>): Promise<T> {
    const attempt = () => performOnce(send);
    const work = policy === undefined ? attempt() : repeat(clock, policy, attempt);
    const remove = () => void inProgress.delete(work);
    inProgress.add(work);
    work.then(remove, remove);
    return work;
  }

  async function performOnce<T>(send: () => Promise<T>): Promise<T> {
    const startedAtMs = performance.now();
    try {
      const reply = await within(send());
      monitor.storeAnswered(performance.now() - startedAtMs);
      return reply;
    } catch (error) {
      const { cause } = error as StoreUnavailable;
      if (cause instanceof ErrorReply) health.refused(cause);
      // A command that came too late is repeated.
      if (!isTooLate(cause))
        monitor.storeFailed(cause instanceof ErrorReply ? 'refused' : 'unreachable');
      throw error;
    }
  }

  /** Any other request to the store, with the same deadline. */
  async function within<T>(work: Promise<T>): Promise<T> {
    const deadline: Deadline = { dueAtMs: 0, onDue() {} };
    const late = new Promise<never>((_, reject) => {
      deadline.onDue = () => {
        client.reconnect();
        reject(new StoreUnavailable('not answered in time'));
      };
    });
    deadlines.add(deadline);
    try {
      return await Promise.race([work, late]);
    } catch (cause) {
      if (!(cause instanceof ErrorReply)) onConnectionLost();
      if (cause instanceof StoreUnavailable) throw cause;
      throw new StoreUnavailable('refused or out of reach', { cause });
    } finally {
      deadlines.cancel(deadline);
    }
  }

  return {
    run,
    read,
    get: (key: string) => within(client.send(['GET', key]) as Promise<string | null>),
    within,
    /** The time of the store. Undefined until it is known. */
    storeNow: testClock?.now ?? storeClock.now,
    probeClock: storeClock.probe,
    /** Resolves once no script is in progress or repeated. */
    async settled(): Promise<void> {
      while (inProgress.size > 0) await Promise.allSettled(inProgress);
    },
  };
}

export const CALL_ID_CHARACTERS = 16;

/** The id under which one caller repeats a command. */
export const createCallId = (randomBytes: RandomBytes) =>
  randomBytes((CALL_ID_CHARACTERS * 3) / 4).toString('base64url');

/**
 * Repeats an attempt. 'briefly': if it is unknown whether it was executed, or if it reached the store
 * too late. 'until lease ends': after any failure. Scripts are idempotent: a repeat has no further
 * effect, and the same reply. Time in which the process was paused does not count.
 */
async function repeat<T>(clock: Clock, policy: RetryPolicy, attempt: () => Promise<T>): Promise<T> {
  const untilLeaseEnds = policy === 'until lease ends';
  let leftMs = untilLeaseEnds ? EXCHANGE_LEASE_MS : STORE_BRIEF_RETRY_MS;
  let isUnknown = false;
  for (;;) {
    const startedAtMs = clock.now();
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      isUnknown ||= !isRefusal(error.cause);
      if (leftMs <= 0 || !(untilLeaseEnds || isUnknown || isTooLate(error.cause))) throw error;
      await pause(clock, STORE_RETRY_MS);
    }
    // If the attempt took longer, the process was paused, and that time does not count.
    leftMs -= Math.min(clock.now() - startedAtMs, STORE_DEADLINE_MS + STORE_RETRY_MS);
  }
}

/** True if the command came too late and was not executed. */
const isTooLate = (error: unknown) => error instanceof ErrorReply && reasonOf(error) === 'LATE';

/*
 * The store's clock, relative to ours. A store that is paused, or that fails over, may execute
 * a command after the relay has stopped waiting for its reply. A poll would then deliver the
 * tokens to no device. So a command says until when it is valid, and the store refuses it
 * later. docs/scaling.md "When Redis is unreachable".
 */

/**
 * The store's time is known to within half of a round trip. A longer round trip, such
 * as after a pause of the relay or the store, is less exact than the margin between
 * STORE_LATEST_MS and STORE_DEADLINE_MS.
 */
const MAX_ROUND_TRIP_MS = 2 * (STORE_DEADLINE_MS - STORE_LATEST_MS);

/** `askTime` returns the time of the store. */
export function createStoreClock(askTime: () => Promise<number>, clock: Clock) {
  let aheadMs: number | undefined;
  return {
    async probe(): Promise<void> {
      const askedAtMs = clock.now();
      const storeMs = await askTime();
      const answeredAtMs = clock.now();
      if (aheadMs !== undefined && answeredAtMs - askedAtMs > MAX_ROUND_TRIP_MS) return;
      aheadMs = storeMs - (askedAtMs + answeredAtMs) / 2;
    },
    /** Undefined before the first probe. */
    now: (): number | undefined =>
      aheadMs === undefined ? undefined : Math.floor(clock.now() + aheadMs),
    /** `until` and the last time, by the store's clock, at which it may execute a command. Empty before the first probe. */
    deadline: (): string =>
      aheadMs === undefined ? '' : `until ${Math.round(clock.now() + aheadMs + STORE_LATEST_MS)}`,
  };
}
