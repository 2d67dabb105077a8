/**
 * Sessions in Redis or Valkey, for many instances at once. Every verb is one script
 * (scripts.ts), and what it keeps is sealed (records.ts). This file has what a start
 * and a user do. What a device does with its poll secret is in claims.ts.
 */
import { EXCHANGE_LEASE_MS } from '../../limits.ts';
import { intervalMsOf } from '../../relay/rate-limit.ts';
import type { RandomBytes } from '../../relay/secrets.ts';
import type { SessionResult } from '../../relay/session.ts';
import {
  type ExpiredSession,
  NO_OBSERVER,
  type SessionInfo,
  type SessionKey,
  type SessionStore,
} from '../../relay/store.ts';
import type { Clock } from '../../relay/time.ts';
import type { Waiters } from '../waiters.ts';
import { createDeviceVerbs } from './claims.ts';
import type { RedisCommands, TimeOf } from './commands.ts';
import type { RedisClient } from './connect.ts';
import { createOwnLeases, type SealedResult } from './own-leases.ts';
import type { KnownPolls, OpenClaims } from './pub-sub.ts';
import {
  authorizationOf,
  browserStateOf,
  expiredOf,
  nameOf,
  type Observed,
  type RedisKeys,
  recordOf,
  sealResult,
  sessionInfoOf,
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
  readonly timeOf: TimeOf;
  /** Of one caller of a verb, who may have to call again. */
  readonly createId: () => string;
}

export function createRedisStore(options: RedisStoreOptions): SessionStore {
  const { client, commands, keys, waiters, clock, randomBytes, maxSessions } = options;
  const { timeOf, createId, instance, knownPolls } = options;
  const { run } = commands;
  const observed: Observed = { by: NO_OBSERVER };
  const device = createDeviceVerbs({ ...options, observed });
  const ownLeases = createOwnLeases(clock);

  /** The shares of all tags together are the limit. */
  const shareOf = (tag: number) =>
    Math.floor(maxSessions / keys.tags) + (tag < maxSessions % keys.tags ? 1 : 0);

  /** The record that the link leads to. */
  function atLink(browserState: string) {
    const session = deriveFromBrowserState(browserState);
    return { session, key: keys.of(browserState).session(session.id) };
  }

  async function findByState(browserState: string): Promise<SessionInfo | undefined> {
    const { session, key } = atLink(browserState);
    const reply = await run(SCRIPTS.find, [key], [timeOf()]);
    return Array.isArray(reply)
      ? sessionInfoOf(browserState, session, reply as string[])
      : undefined;
  }

  /** What leads from the code to the link. */
  async function follow(userCode: string) {
    const code = deriveFromUserCode(userCode);
    const key = keys.of(userCode).code(code.id);
    const value = await commands.within(client.get(key));
    const [expiresAtMs, sealed = ''] = value?.split('.') ?? ['0'];
    // Used; otherwise it lives as long as its session.
    if (value === null || expiresAtMs === '0') return undefined;
    return { key, value, browserState: browserStateOf(code, sealed) };
  }

  /** Another instance than the one that took the lease asks for it. */
  async function readDeviceKey(sessionKey: string, service: string) {
    return (await run(SCRIPTS.deviceKey, [sessionKey], [timeOf(), service])) as string | null;
  }

  /** `states`: those in which the session takes it. */
  async function storeResult(
    { states, insist }: { states: string; insist: boolean },
    { sealed, isError }: SealedResult,
    { key, service }: { key: string; service: string },
  ): Promise<boolean> {
    const args = [service, states, sealed, keys.channelPrefix, instance, isError ? 'error' : ''];
    const pollId = await commands.repeat({ insist }, () =>
      run(SCRIPTS.complete, [key], [timeOf(), ...args]),
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

    /**
     * Not repeated: the device is refused, and what may have been registered expires
     * unused. In a Cluster the bucket of the address is in a slot of its own, so its
     * token is taken before.
     */
    async register(newSession) {
      const { browserState, pollSecret, userCode, lifetimeMs } = newSession;
      const { startLimiter, startedBy } = newSession;
      let bucket: string | undefined;
      if (startLimiter !== undefined && startedBy !== undefined) {
        if (keys.tags === 1) {
          bucket = keys.bucket('start', startedBy);
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
      const limit = bucket === undefined ? undefined : startLimiter?.policy;
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

    async getSession(by: SessionKey) {
      if ('browserState' in by) return findByState(by.browserState);
      const found = await follow(by.userCode);
      return found && findByState(found.browserState);
    },

    async isCancelled(by: SessionKey) {
      const found = 'browserState' in by ? by : await follow(by.userCode);
      if (found === undefined) return false;
      const { key } = atLink(found.browserState);
      return (await run(SCRIPTS.isCancelled, [key], [timeOf()])) === 1;
    },

    /**
     * Found first: a lookup that fails uses nothing up. The use itself is one script,
     * repeated for a while under one id; if that leaves it unknown, the use is undone,
     * so that the user can try again.
     */
    async useCode(userCode) {
      const code = await follow(userCode);
      const found = code && (await findByState(code.browserState));
      if (code === undefined || found === undefined) return undefined;
      const { key, value } = code;
      const id = createId();
      function onUnknown(): void {
        const undoOnce = () => run(SCRIPTS.undoUseCode, [key], [timeOf(), id, value]);
        void commands.undo(undoOnce, { isUnknown: true });
      }
      const used = await commands.repeat({ insist: false, onUnknown }, () =>
        run(SCRIPTS.useCode, [key], [timeOf(), id]),
      );
      return used === 1 ? found : undefined;
    },

    /** Repeated for a while. If that leaves it unknown, the user may reload, and is told when the link is used. */
    async fail(service, browserState, result) {
      const { session, key } = atLink(browserState);
      // An error is no secret: the session's key alone will do.
      const sealed = sealResult(session, '', result, randomBytes);
      const from = { states: STATE.pending, insist: false };
      return storeResult(from, { sealed, isError: true }, { key, service });
    },

    /**
     * Repeated for a while under one id. If that leaves it unknown, the code is not
     * exchanged and the lease is undone, so that the user can reload the page.
     * A failover may lose a lease, and a completion: a process that remembers its
     * lease takes no second one, and stores the result once more.
     */
    async lease(service, browserState) {
      const { session, key } = atLink(browserState);
      const own = ownLeases.get(service, session.id);
      if (own !== undefined) {
        const from = { states: FROM_OWN_LEASE, insist: false };
        if (own.result !== undefined) await storeResult(from, own.result, { key, service });
        return undefined;
      }
      const id = createId();
      function onUnknown(): void {
        const undoOnce = () => run(SCRIPTS.undoLease, [key], [timeOf(), service, id]);
        void commands.undo(undoOnce, { isUnknown: true });
      }
      const reply = await commands.repeat({ insist: false, onUnknown }, () =>
        run(SCRIPTS.lease, [key], [timeOf(), service, EXCHANGE_LEASE_MS, id]),
      );
      if (!Array.isArray(reply)) return undefined;
      const [sealedVerifier = '', sealedDeviceKey = '', sealedName = ''] = reply as string[];
      ownLeases.add(service, session.id, sealedDeviceKey);
      const authorization = authorizationOf(session, service, sealedVerifier);
      return { ...authorization, deviceName: nameOf(session, sealedName) };
    },

    /** Repeated while the store is unreachable; a repetition of what was carried out succeeds. */
    async complete(service, browserState, result: SessionResult) {
      const { session, key } = atLink(browserState);
      const own = ownLeases.get(service, session.id);
      const sealedDeviceKey =
        own?.sealedDeviceKey ??
        (await commands.repeat({ insist: true }, () => readDeviceKey(key, service)));
      if (sealedDeviceKey === null) return false;
      const sealed = sealResult(session, sealedDeviceKey, result, randomBytes);
      const sealedResult = { sealed, isError: 'error' in result };
      if (own !== undefined) own.result = sealedResult;
      const states = own === undefined ? STATE.exchanging : FROM_OWN_LEASE;
      // This process alone has the tokens.
      return storeResult({ states, insist: true }, sealedResult, { key, service });
    },

    claim: device.claim,
    acknowledge: device.acknowledge,
    tellOpened: device.tellOpened,
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
