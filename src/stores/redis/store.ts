/**
 * Sessions in Redis or Valkey, for many instances at once. Every verb is one
 * script (the files *scripts.ts), and what it keeps is sealed (records.ts).
 * In a Cluster the keys of one session lie in three slots, because its two
 * capabilities are independent, or in four with a user code; there some verbs
 * take several steps.
 */
import { Buffer } from 'node:buffer';
import type { RandomBytes } from '../../relay/secrets.ts';
import { type ExpiredSession, NO_OBSERVER, type SessionStore } from '../../relay/store.ts';
import type { Clock } from '../../relay/time.ts';
import type { Waiters } from '../waiters.ts';
import * as scripts from './claim-scripts.ts';
import { createAcknowledge, createClaim } from './claims.ts';
import type { RedisClient } from './client.ts';
import type { TimeOf } from './clock.ts';
import { createRedisCodes } from './codes.ts';
import type { RedisCommands } from './commands.ts';
import type { RedisKeys } from './keys.ts';
import type { OpenClaims, Wake } from './messages.ts';
import { expiredOf, type Observed, openedOf } from './records.ts';
import { COUNT_LIVE, DESCRIBE_EXPIRED, TRIM_EXPIRED } from './register-scripts.ts';
import { createRegister } from './registration.ts';
import type { HoldBack } from './replication-gate.ts';
import { createRedisResults } from './results.ts';
import { OPENED, type Script, SWEPT_AT_ONCE } from './script.ts';
import { OPEN } from './scripts.ts';
import { deriveFromBrowserState, deriveFromPollSecret } from './seal.ts';

export interface RedisStoreOptions {
  readonly client: RedisClient;
  readonly commands: RedisCommands;
  readonly keys: RedisKeys;
  readonly waiters: Waiters;
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
  /** The channel on which this process is notified of completions. */
  readonly instance: string;
  readonly openClaims: OpenClaims;
  readonly wake: Wake;
  readonly maxSessions: number;
  readonly holdBack: HoldBack;
  readonly timeOf: TimeOf;
  /** Of one caller of a verb, who may have to call again. */
  readonly createId: () => string;
}

export function createRedisStore(options: RedisStoreOptions): SessionStore {
  const { client, commands, keys, waiters, timeOf, wake } = options;
  const { run } = commands;
  const register = createRegister(options);
  const acknowledge = createAcknowledge(options);
  const observed: Observed = { by: NO_OBSERVER };

  /** The reply, or false when the poll secret leads nowhere. */
  async function runForDevice(byPointer: Script, bySession: Script, pollSecret: string) {
    const pollKey = keys.poll(deriveFromPollSecret(pollSecret));
    if (!client.isCluster) {
      return run(byPointer, [pollKey], [timeOf(), keys.channelPrefix, keys.sessionPrefix]);
    }
    const pointer = await commands.within(client.get(pollKey));
    const [, sessionId] = pointer?.split('.') ?? [];
    if (sessionId === undefined) return false;
    return run(bySession, [keys.sessionPrefix + sessionId], [timeOf()]);
  }

  async function removeExpired(): Promise<(ExpiredSession | undefined)[]> {
    const prefix = client.isCluster ? '' : keys.sessionPrefix;
    const reply = await run(TRIM_EXPIRED, [keys.live], [timeOf(), prefix]);
    const [ids, told] = reply as [string[], string[][]];
    if (!client.isCluster) return told.map(expiredOf);
    const describing = ids.map((id) => run(DESCRIBE_EXPIRED, [keys.sessionPrefix + id], []));
    // One that cannot be described is not told of.
    const described = await Promise.allSettled(describing);
    return described.map((each) =>
      each.status === 'fulfilled' ? expiredOf(each.value as string[]) : undefined,
    );
  }

  return {
    ...createRedisCodes(options),
    ...createRedisResults(options),

    /** Not repeated: the device is refused, and what may have been registered expires unused. */
    async register(newSession) {
      const outcome = await register(newSession, timeOf());
      return outcome === 1 ? 'registered' : outcome === 0 ? 'busy' : 'collision';
    },

    async getAuthorization(service, browserState) {
      const session = deriveFromBrowserState(browserState);
      const channels = client.isCluster ? '' : keys.channelPrefix;
      const reply = await run(OPEN, [keys.session(session)], [timeOf(), service, channels]);
      if (!Array.isArray(reply)) return undefined;
      const [sealed, pollId, waiting, isFirst] = reply as [string, string, string[], number];
      if (isFirst === 1) observed.by.opened(service);
      if (client.isCluster) for (const each of waiting) void wake(each, OPENED + pollId);
      return openedOf(session, service, sealed);
    },

    claim: createClaim({ ...options, observed }),

    /** Not repeated: the device may confirm again, and what nobody confirms goes by itself. */
    acknowledge: (pollSecret) => acknowledge(keys.poll(deriveFromPollSecret(pollSecret)), timeOf()),

    /** Not repeated: what is lost is a hint. */
    async tellOpened(pollSecret) {
      const { TELL_OPENED_BY_POINTER, TELL_OPENED_SESSION } = scripts;
      return (await runForDevice(TELL_OPENED_BY_POINTER, TELL_OPENED_SESSION, pollSecret)) === 1;
    },

    /** Not repeated: the device cancels again. */
    async cancel(pollSecret) {
      const { CANCEL_BY_POINTER, CANCEL_SESSION } = scripts;
      const reply = await runForDevice(CANCEL_BY_POINTER, CANCEL_SESSION, pollSecret);
      if (!Array.isArray(reply)) return 'gone';
      const [pollId, waiting, service] = reply as [string, string[], string];
      if (service !== '') observed.by.cancelled(service);
      if (client.isCluster) for (const each of waiting) void wake(each, pollId);
      return 'cancelled';
    },

    addWaiter: (pollSecret, waiter) => waiters.add(deriveFromPollSecret(pollSecret).id, waiter),

    removeWaiter: waiters.remove,

    // Any other instance delivers what is in Redis.
    hasUndelivered: () => false,

    settled: commands.settled,

    observe(by) {
      observed.by = by;
    },

    async countLive() {
      return Number(await run(COUNT_LIVE, [keys.live], [timeOf()]));
    },

    /** Of several instances one removes a session from the index, and tells of it. */
    async sweep() {
      for (let scripts = 0; scripts < MAX_SWEEP_SCRIPTS; scripts += 1) {
        const expired = await removeExpired();
        for (const session of expired) if (session !== undefined) observed.by.expired(session);
        if (expired.length < SWEPT_AT_ONCE) return;
      }
    },
  };
}

/** Of one sweep: as many as 10,000 sessions. */
const MAX_SWEEP_SCRIPTS = 40;

/** Unlike any other caller's. */
export function createRequestId(randomBytes: RandomBytes): string {
  return Buffer.from(randomBytes(12)).toString('base64url');
}
