/**
 * Sessions in Redis or Valkey, for many instances at once. Every verb is one
 * script (redis-scripts.ts), and what it keeps is sealed (seal.ts). In a
 * Cluster the keys of one session lie in three slots, because its two
 * capabilities are independent; there two verbs take two steps.
 */
import { Buffer } from 'node:buffer';
import { EXCHANGE_LEASE_MS, STORE_PATIENCE_MS, STORE_RETRY_MS } from '../limits.ts';
import type { Clock } from '../relay/clock.ts';
import type { RandomBytes } from '../relay/secrets.ts';
import type { SessionResult } from '../relay/session.ts';
import {
  type Claim,
  type NewSession,
  type SessionStore,
  StoreUnavailable,
} from '../relay/store.ts';
import type { HoldBack } from './hold-back.ts';
import { createAttemptClaim } from './redis-claims.ts';
import type { RedisClient } from './redis-client.ts';
import type { TimeOf } from './redis-clock.ts';
import { isOutOfMemory, isUnknown, type RedisCommands } from './redis-commands.ts';
import * as scripts from './redis-scripts.ts';
import {
  type Derived,
  deriveFromBrowserState,
  deriveFromPollSecret,
  seal,
  unseal,
} from './seal.ts';
import type { Watchers } from './watchers.ts';

export interface RedisStoreOptions {
  readonly client: RedisClient;
  readonly commands: RedisCommands;
  readonly watchers: Watchers;
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
  /** Before every key and channel. */
  readonly prefix: string;
  /** Where this process hears of completions. */
  readonly instance: string;
  readonly maxSessions: number;
  readonly holdBack: HoldBack;
  readonly timeOf: TimeOf;
}

export function createRedisStore(options: RedisStoreOptions): SessionStore {
  const { client, commands, watchers, clock, randomBytes, prefix } = options;
  const { timeOf, maxSessions } = options;
  const { run } = commands;
  const liveKey = `${prefix}live`;
  const sessionPrefix = `${prefix}session:`;
  const channelPrefix = `${prefix}wake:`;
  const sessionKey = ({ id }: Derived) => sessionPrefix + id;
  const pollKey = ({ id }: Derived) => `${prefix}poll:${id}`;

  const attemptClaim = createAttemptClaim({ ...options, liveKey, sessionPrefix });

  /** Of one caller of a verb, who may have to call again. */
  const createId = () => Buffer.from(randomBytes(12)).toString('base64url');

  /** What the two registrations write, sealed. */
  function describeSession({ browserState, pollSecret, service, verifier }: NewSession) {
    const session = deriveFromBrowserState(browserState);
    const poll = deriveFromPollSecret(pollSecret);
    const wrapped = seal(poll.key, pointerContext(poll, session.id), session.key, randomBytes);
    // Sealed even when there is none, so that nobody can take it away or change the service.
    const context = verifierContext(session.id, service);
    const sealedVerifier = seal(session.key, context, verifier ?? '', randomBytes);
    return { session, poll, value: `${session.id}.${wrapped}`, sealedVerifier };
  }

  async function registerAtOnce(newSession: NewSession, now: number | string): Promise<number> {
    const { session, poll, value, sealedVerifier } = describeSession(newSession);
    const keys = [liveKey, pollKey(poll), sessionKey(session)];
    const { lifetimeMs, service } = newSession;
    const args = [
      now,
      session.id,
      maxSessions,
      lifetimeMs,
      value,
      service,
      poll.id,
      sealedVerifier,
    ];
    return Number(await run(scripts.REGISTER, keys, args));
  }

  /** A crash between the steps leaves a place, a pointer or a session that nobody can use, and that expires. */
  async function registerInSteps(newSession: NewSession, now: number | string): Promise<number> {
    const { session, poll, value, sealedVerifier } = describeSession(newSession);
    const { lifetimeMs, service } = newSession;
    const place = [now, session.id, maxSessions, lifetimeMs];
    if ((await run(scripts.RESERVE_PLACE, [liveKey], place)) === 0) return 0;
    const sessionArgs = [now, lifetimeMs, service, poll.id, sealedVerifier];
    const [pointed, created] = await Promise.all([
      run(scripts.CREATE_POINTER, [pollKey(poll)], [now, lifetimeMs, value]),
      run(scripts.CREATE_SESSION, [sessionKey(session)], sessionArgs),
    ]);
    if (pointed === 1 && created === 1) return 1;
    // Both or neither: what has just been made for nothing goes.
    if (pointed === 1) await run(scripts.FORGET, [pollKey(poll)], []);
    if (created === 1) {
      await run(scripts.FORGET, [sessionKey(session)], []);
      await leavePlace(session.id);
    }
    return -1;
  }

  async function complete(
    from: 'pending' | 'exchanging',
    service: string,
    browserState: string,
    result: SessionResult,
    nowMs: number,
  ): Promise<boolean> {
    const session = deriveFromBrowserState(browserState);
    const sealed = seal(
      session.key,
      resultContext(session.id),
      JSON.stringify(result),
      randomBytes,
    );
    const channels = client.isCluster ? '' : channelPrefix;
    const args = [service, from === 'pending' ? 'p' : 'x', sealed, channels];
    // After an exchange the tokens are in this hand and nowhere else.
    const insist = from === 'exchanging';
    const done = await repeat({ insist }, () =>
      run(scripts.COMPLETE, [sessionKey(session)], [timeOf(nowMs), ...args]),
    );
    if (!Array.isArray(done)) return false;
    const [pollId, waiting] = done as [string, string[]];
    if (client.isCluster) publish(waiting, pollId);
    return true;
  }

  /**
   * For a while, once it is unknown whether an attempt was carried out; who
   * insists does so anyway, as long as a lease may last. What is repeated is
   * carried out once, and answered alike each time.
   */
  async function repeat<T>({ insist }: { insist: boolean }, attempt: () => Promise<T>): Promise<T> {
    const untilMs = clock.now() + (insist ? EXCHANGE_LEASE_MS : STORE_PATIENCE_MS);
    for (let isOpen = insist; ; ) {
      try {
        return await attempt();
      } catch (error) {
        isOpen ||= isUnknown(error);
        if (!isOpen || !(error instanceof StoreUnavailable) || clock.now() > untilMs) throw error;
        await new Promise<void>((resolve) => clock.setTimer(STORE_RETRY_MS, resolve));
      }
    }
  }

  /** Lost, it costs those who wait no more than their hold. */
  function publish(instances: string[], pollId: string): void {
    for (const waiting of instances) {
      client.publish(channelPrefix + waiting, pollId).catch(() => {});
    }
  }

  /** Lost, it costs a place among the live until the session would have expired. */
  async function leavePlace(sessionId: string): Promise<void> {
    await run(scripts.LEAVE_PLACE, [liveKey], [sessionId]).catch(() => {});
  }

  return {
    /** Not repeated: the device is refused, and what may have been registered expires unused. */
    async register(newSession, nowMs) {
      const register = client.isCluster ? registerInSteps : registerAtOnce;
      try {
        const outcome = await register(newSession, timeOf(nowMs));
        return outcome === 1 ? 'registered' : outcome === 0 ? 'busy' : 'collision';
      } catch (error) {
        if (isOutOfMemory(error)) return 'busy';
        throw error;
      }
    },

    async open(service, browserState, nowMs) {
      const session = deriveFromBrowserState(browserState);
      const sealed = await run(scripts.OPEN, [sessionKey(session)], [timeOf(nowMs), service]);
      return openedOf(session, service, sealed);
    },

    /** Repeated for a while. If that leaves it unknown, the person may reload, and is told when the link is used. */
    fail: (service, browserState, result, nowMs) =>
      complete('pending', service, browserState, result, nowMs),

    /**
     * Repeated for a while under one id. If that leaves it unknown, the code is
     * not exchanged, and a lease that was given runs out: `exchange_failed`.
     */
    async lease(service, browserState, nowMs) {
      const session = deriveFromBrowserState(browserState);
      const args = [service, EXCHANGE_LEASE_MS, createId()];
      const sealed = await repeat({ insist: false }, () =>
        run(scripts.LEASE, [sessionKey(session)], [timeOf(nowMs), ...args]),
      );
      return openedOf(session, service, sealed);
    },

    /** Repeated while the store is away; a repetition of what was carried out succeeds. */
    complete: (service, browserState, result, nowMs) =>
      complete('exchanging', service, browserState, result, nowMs),

    /** Repeated for a while under one id, then left unknown: the tokens are not handed out twice. */
    async claim(pollSecret, nowMs): Promise<Claim> {
      const poll = deriveFromPollSecret(pollSecret);
      const claimId = createId();
      const { state, sealed, pointer } = await repeat({ insist: false }, () =>
        attemptClaim({ pollKey: pollKey(poll), claimId, now: timeOf(nowMs) }),
      );
      if (state !== 'claimed') return { state };
      return { state, result: openResult(poll, pointer, sealed) };
    },

    find: async () => undefined,
    useCode: async () => undefined,
    acknowledge: async () => 'gone',

    watch: (pollSecret, wake) => watchers.add(deriveFromPollSecret(pollSecret).id, wake),

    async sweep(nowMs) {
      await run(scripts.TRIM_EXPIRED, [liveKey], [timeOf(nowMs)]);
    },
  };
}

/* What each message is sealed for, so that none opens in another's place. */
const pointerContext = (poll: Derived, sessionId: string) => `pointer ${poll.id} ${sessionId}`;
const verifierContext = (sessionId: string, service: string) => `verifier ${sessionId} ${service}`;
const resultContext = (sessionId: string) => `result ${sessionId}`;

function openedOf(session: Derived, service: string, sealed: unknown) {
  if (typeof sealed !== 'string') return undefined;
  const verifier = unseal(session.key, verifierContext(session.id, service), sealed).toString();
  return verifier === '' ? {} : { verifier };
}

/** An empty result is that of a lease that ran out: nobody was left to seal one. */
function openResult(poll: Derived, pointer: string, sealed: string): SessionResult {
  if (sealed === '') return { error: 'exchange_failed' };
  const [, sessionId = '', wrapped = ''] = pointer.split('.');
  const key = unseal(poll.key, pointerContext(poll, sessionId), wrapped);
  return JSON.parse(unseal(key, resultContext(sessionId), sealed).toString()) as SessionResult;
}
