/**
 * Sessions in Redis or Valkey, for many instances at once. Every verb is one
 * script (redis-*scripts.ts), and what it keeps is sealed (redis-records.ts).
 * In a Cluster the keys of one session lie in three slots, because its two
 * capabilities are independent, or in four with a user code; there some verbs
 * take several steps.
 */
import { Buffer } from 'node:buffer';
import type { Clock } from '../relay/clock.ts';
import type { RandomBytes } from '../relay/secrets.ts';
import type { SessionStore } from '../relay/store.ts';
import type { HoldBack } from './hold-back.ts';
import { createAcknowledge, createClaim } from './redis-claims.ts';
import type { RedisClient } from './redis-client.ts';
import type { TimeOf } from './redis-clock.ts';
import { createRedisCodes } from './redis-codes.ts';
import type { RedisCommands } from './redis-commands.ts';
import type { RedisKeys } from './redis-keys.ts';
import type { OpenClaims, Wake } from './redis-messages.ts';
import { openedOf } from './redis-records.ts';
import { TRIM_EXPIRED } from './redis-register-scripts.ts';
import { createRegister } from './redis-registration.ts';
import { createRedisResults } from './redis-results.ts';
import { OPEN } from './redis-scripts.ts';
import { deriveFromBrowserState, deriveFromPollSecret } from './seal.ts';
import type { Watchers } from './watchers.ts';

export interface RedisStoreOptions {
  readonly client: RedisClient;
  readonly commands: RedisCommands;
  readonly keys: RedisKeys;
  readonly watchers: Watchers;
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
  /** Where this process hears of completions. */
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
  const { commands, keys, watchers, timeOf } = options;
  const { run } = commands;
  const register = createRegister(options);
  const acknowledge = createAcknowledge(options);

  return {
    ...createRedisCodes(options),
    ...createRedisResults(options),

    /** Not repeated: the device is refused, and what may have been registered expires unused. */
    async register(newSession, nowMs) {
      const outcome = await register(newSession, timeOf(nowMs));
      return outcome === 1 ? 'registered' : outcome === 0 ? 'busy' : 'collision';
    },

    async open(service, browserState, nowMs) {
      const session = deriveFromBrowserState(browserState);
      const sealed = await run(OPEN, [keys.session(session)], [timeOf(nowMs), service]);
      return typeof sealed === 'string' ? openedOf(session, service, sealed) : undefined;
    },

    claim: createClaim(options),

    /** Not repeated: the device may confirm again, and what nobody confirms goes by itself. */
    acknowledge: (pollSecret, nowMs) =>
      acknowledge(keys.poll(deriveFromPollSecret(pollSecret)), timeOf(nowMs)),

    watch: (pollSecret, wake) => watchers.add(deriveFromPollSecret(pollSecret).id, wake),

    // Any other instance delivers what is in Redis.
    hasUndelivered: () => false,

    settled: commands.undone,

    async sweep(nowMs) {
      await run(TRIM_EXPIRED, [keys.live], [timeOf(nowMs)]);
    },
  };
}

/** Unlike any other caller's. */
export function createRequestId(randomBytes: RandomBytes): string {
  return Buffer.from(randomBytes(12)).toString('base64url');
}
