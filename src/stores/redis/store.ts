/**
 * Sessions in Redis or Valkey, for many instances at once. Every verb is one script
 * (scripts.ts), and what it keeps is sealed (records.ts). This file has what a start
 * and a user do. What a device does with its poll secret is in claims.ts.
 */
import { EXCHANGE_LEASE_MS } from '../../limits.ts';
import { intervalMsOf } from '../../relay/rate-limit.ts';
import type { RandomBytes } from '../../relay/secrets.ts';
import { outcomeOfResult, type SessionResult } from '../../relay/session.ts';
import { type ExpiredSession, NO_OBSERVER, type SessionStore } from '../../relay/store.ts';
import type { Clock } from '../../relay/time.ts';
import type { Waiters } from '../waiters.ts';
import { createDeviceVerbs } from './claims.ts';
import type { RedisCommands, TimeOf } from './commands.ts';
import type { RedisClient } from './connect.ts';
import type { RedisRateLimiter } from './limits.ts';
import { createOwnLeases, type SealedResult } from './own-leases.ts';
import type { KnownPolls, OpenClaims } from './pub-sub.ts';
import {
  authorizationOf,
  browserStateOf,
  expiredOf,
  foundOf,
  nameOf,
  type Observed,
  type RedisKeys,
  recordOf,
  sealResult,
} from './records.ts';
import { SCRIPTS, STATE, SWEPT_AT_ONCE } from './scripts.ts';
import { deriveFromBrowserState, deriveFromUserCode } from './sealing.ts';

export interface RedisStoreOptions {
  readonly client: RedisClient;
  readonly commands: RedisCommands;
  readonly keys: RedisKeys;
  readonly waiters: Waiters;
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
  /** The channel on which this process is notified. */
  readonly instance: string;
  readonly openClaims: OpenClaims;
  readonly knownPolls: KnownPolls;
  readonly maxSessions: number;
  readonly startLimiter: RedisRateLimiter;
  readonly timeOf: TimeOf;
  /** Of one caller of a verb, who may have to call again. */
  readonly createId: () => string;
}

export function createRedisStore(options: RedisStoreOptions): SessionStore {
  const { client, commands, keys, waiters, clock, randomBytes, maxSessions } = options;
  const { timeOf, createId, instance, knownPolls, startLimiter } = options;
  const { run } = commands;
  const observed: Observed = { by: NO_OBSERVER };
  const device = createDeviceVerbs({ ...options, observed });
  const ownLeases = createOwnLeases(clock);

  /** The shares of all tags together are the limit. */
  const shareOf = (tag: number) =>
    Math.floor(maxSessions / keys.tags) + (tag < maxSessions % keys.tags ? 1 : 0);

  /** The records that the link leads to. */
  function atLink(browserState: string) {
    const session = deriveFromBrowserState(browserState);
    const own = keys.of(browserState);
    return { session, key: own.session(session.id), outcomeKey: own.outcome(session.id) };
  }

  /** The browser state to which the code leads. */
  async function follow(userCode: string): Promise<string | undefined> {
    const code = deriveFromUserCode(userCode);
    const value = await commands.within(client.get(keys.of(userCode).code(code.id)));
    const [expiresAtMs, sealed = ''] = value?.split('.') ?? ['0'];
    // 0: used up, by a relay of an earlier release.
    return expiresAtMs === '0' ? undefined : browserStateOf(code, sealed);
  }

  /** Another instance than the one that took the lease asks for it. */
  async function readDeviceKey(sessionKey: string, service: string) {
    return (await run(SCRIPTS.deviceKey, [sessionKey], [timeOf(), service])) as string | null;
  }

  /** `states`: those in which the session takes it. */
  async function storeResult(
    { states, insist }: { states: string; insist: boolean },
    { sealed, outcome }: SealedResult,
    { key, outcomeKey, service }: { key: string; outcomeKey: string; service: string },
  ): Promise<boolean> {
    const args = [service, states, sealed, keys.channelPrefix, instance, outcome];
    const pollId = await commands.repeat({ insist }, () =>
      run(SCRIPTS.complete, [key, outcomeKey], [timeOf(), ...args]),
    );
    if (typeof pollId !== 'string') return false;
    // This process is not notified of what it does itself. Where the answer is lost, the
    // connection was cut, and then everybody is notified.
    if (pollId !== '') {
      knownPolls.heard(pollId);
      waiters.notify(pollId, 'completed');
    }
    return true;
  }

  async function sweepIndex(live: string, tag: number): Promise<void> {
    for (let scripts = 0; scripts < MAX_SWEEP_SCRIPTS; scripts += 1) {
      const ids = (await run(SCRIPTS.removeExpired, [live], [timeOf()])) as string[];
      for (const session of await describeExpired(ids, tag)) observed.by.expired(session);
      if (ids.length < SWEPT_AT_ONCE) return;
    }
  }

  async function describeExpired(ids: readonly string[], tag: number): Promise<ExpiredSession[]> {
    const describing = ids.map((id) =>
      run(SCRIPTS.describeExpired, [keys.sessionKey(tag, id)], []),
    );
    // One that cannot be described is not told of.
    const described = await Promise.allSettled(describing);
    return described.flatMap((each) =>
      each.status === 'fulfilled' ? (expiredOf(each.value as string[]) ?? []) : [],
    );
  }

  return {
    tags: keys.tags,
    startLimiter,

    /**
     * Not repeated: the device is refused, and what may have been registered expires
     * unused. In a Cluster the bucket of the address is in a slot of its own, so its
     * token is taken before.
     */
    async register(newSession) {
      const { browserState, pollSecret, userCode, lifetimeMs, startedBy } = newSession;
      let bucket: string | undefined;
      if (startedBy !== undefined) {
        if (keys.tags === 1) {
          bucket = startLimiter.bucketOf(startedBy);
        } else {
          const retryAfterMs = await startLimiter.take(startedBy);
          if (retryAfterMs > 0) return { retryAfterMs };
        }
      }
      const { session, poll, pointer, code, fields } = recordOf(newSession, instance, randomBytes);
      const own = keys.of(browserState);
      const secrets = [browserState, pollSecret, ...(userCode === undefined ? [] : [userCode])];
      if (secrets.some((secret) => keys.of(secret) !== own)) {
        throw new Error('the secrets of a session have different tags');
      }
      const names = [own.live, own.session(session.id), own.poll(poll.id)];
      if (code !== undefined) names.push(own.code(code.id));
      if (bucket !== undefined) names.push(bucket);
      const limit = bucket === undefined ? undefined : startLimiter.policy;
      const args = [timeOf(), session.id, shareOf(own.tag), lifetimeMs, pointer, code?.value ?? ''];
      args.push(limit?.burst ?? '', limit === undefined ? '' : intervalMsOf(limit), ...fields);
      const outcome = await run(SCRIPTS.register, names, args);
      if (typeof outcome === 'number') return { retryAfterMs: outcome };
      if (outcome === 'registered') {
        // It lives to the end of its last millisecond.
        knownPolls.add(poll.id, pointer, lifetimeMs + 1);
      }
      return outcome as 'registered' | 'busy' | 'collision';
    },

    async getAuthorization(service, browserState) {
      const { session, key } = atLink(browserState);
      const reply = await run(SCRIPTS.open, [key], [timeOf(), service, keys.channelPrefix]);
      if (!Array.isArray(reply)) return undefined;
      const [sealed, isFirst] = reply as [string, number];
      if (isFirst === 1) observed.by.opened(service);
      return authorizationOf(session, service, sealed);
    },

    async getSession(by) {
      const browserState = 'browserState' in by ? by.browserState : await follow(by.userCode);
      if (browserState === undefined) return undefined;
      const { session, key, outcomeKey } = atLink(browserState);
      return foundOf(browserState, session, await run(SCRIPTS.find, [key, outcomeKey], [timeOf()]));
    },

    /** Repeated for a while. If that leaves it unknown, the user may reload, and sees what became of the sign-in. */
    async fail(service, browserState, result) {
      const { session, ...at } = atLink(browserState);
      // An error is no secret: the session's key alone will do.
      const sealed = sealResult(session, '', result, randomBytes);
      const from = { states: STATE.pending, insist: false };
      return storeResult(from, { sealed, outcome: outcomeOfResult(result) }, { ...at, service });
    },

    /**
     * Repeated for a while under one id. If that leaves it unknown, the code is not
     * exchanged and the lease is undone, so that the user can reload the page.
     * A failover may lose a lease, and a completion: a process that remembers its
     * lease takes no second one, and stores the result once more.
     */
    async lease(service, browserState) {
      const { session, key, outcomeKey } = atLink(browserState);
      const own = ownLeases.get(service, session.id);
      if (own !== undefined) {
        const from = { states: FROM_OWN_LEASE, insist: false };
        if (own.result !== undefined) {
          await storeResult(from, own.result, { key, outcomeKey, service });
        }
        return undefined;
      }
      const id = createId();
      function onUnknown(): void {
        const undoOnce = () => run(SCRIPTS.undoLease, [key], [timeOf(), service, id]);
        void commands.undo(undoOnce, { isUnknown: true });
      }
      const reply = await commands.repeat({ insist: false, onUnknown }, () =>
        run(SCRIPTS.lease, [key, outcomeKey], [timeOf(), service, EXCHANGE_LEASE_MS, id]),
      );
      if (!Array.isArray(reply)) return undefined;
      const [sealedVerifier = '', sealedDeviceKey = '', sealedName = ''] = reply as string[];
      ownLeases.add(service, session.id, sealedDeviceKey);
      const authorization = authorizationOf(session, service, sealedVerifier);
      return { ...authorization, deviceName: nameOf(session, sealedName) };
    },

    /** Repeated while the store is unreachable; a repetition of what was carried out succeeds. */
    async complete(service, browserState, result: SessionResult) {
      const { session, ...at } = atLink(browserState);
      const own = ownLeases.get(service, session.id);
      const sealedDeviceKey =
        own?.sealedDeviceKey ??
        (await commands.repeat({ insist: true }, () => readDeviceKey(at.key, service)));
      if (sealedDeviceKey === null) return false;
      const sealed = sealResult(session, sealedDeviceKey, result, randomBytes);
      const sealedResult = { sealed, outcome: outcomeOfResult(result) };
      if (own !== undefined) own.result = sealedResult;
      const states = own === undefined ? STATE.exchanging : FROM_OWN_LEASE;
      // This process alone has the tokens.
      return storeResult({ states, insist: true }, sealedResult, { ...at, service });
    },

    claim: device.claim,
    acknowledge: device.acknowledge,
    takeOpenedNotice: device.takeOpenedNotice,
    cancel: device.cancel,

    addWaiter: device.addWaiter,

    removeWaiter: waiters.remove,

    // Any other instance delivers what is in Redis.
    hasUndelivered: () => false,

    settled: commands.settled,

    observe(by) {
      observed.by = by;
    },

    async countLive() {
      const counting = keys.live.map((live) => run(SCRIPTS.countLive, [live], [timeOf()]));
      return (await Promise.all(counting)).reduce<number>((sum, count) => sum + Number(count), 0);
    },

    /** Of several instances one removes a session from the index, and tells of it. */
    async sweep() {
      ownLeases.sweep();
      await Promise.all(keys.live.map(sweepIndex));
    },
  };
}

/** Of one sweep and tag: as many as 10,000 sessions. */
const MAX_SWEEP_SCRIPTS = 40;

/** Pending: a failover has lost the lease. */
const FROM_OWN_LEASE = STATE.exchanging + STATE.pending;
