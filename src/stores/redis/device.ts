/**
 * What a device does with its poll secret. A result is delivered to one poll: one script
 * reads it and marks it as delivered, and another one undoes that if no device got it.
 */
import { EXCHANGE_LEASE_MS, STALL_GRACE_MS, STALL_MS } from '../../limits.ts';
import type { RandomBytes } from '../../relay/secrets.ts';
import {
  type Awaitable,
  type Claim,
  type ObserverSlot,
  type SessionStore,
  StoreUnavailable,
} from '../../relay/store.ts';
import { type Clock, pause } from '../../relay/time.ts';
import { type DevicePlace, openResult } from '../sealed-session.ts';
import { deriveFromPollSecret } from '../sealing.ts';
import { createCallId, type RedisCommands } from './commands.ts';
import type { LocalPolls, OpenClaims } from './local-polls.ts';
import type { RedisKeys } from './records.ts';
import { SCRIPTS } from './scripts.ts';

export interface DeviceVerbsOptions {
  readonly commands: RedisCommands;
  readonly keys: RedisKeys;
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
  /** The name of this process's channel. */
  readonly instance: string;
  readonly localPolls: LocalPolls;
  readonly openClaims: OpenClaims;
  readonly observer: ObserverSlot;
}

export type DeviceVerbs = Pick<
  SessionStore,
  'claim' | 'acknowledge' | 'takeOpenedNotice' | 'cancel' | 'addWaiter' | 'removeWaiter'
>;

export function createDeviceVerbs(options: DeviceVerbsOptions): DeviceVerbs {
  const { commands, keys, localPolls, openClaims, observer } = options;
  const { run } = commands;

  return {
    addWaiter(pollSecret, waiter) {
      const endsInMs = localPolls.addWaiter(deriveFromPollSecret(pollSecret).id, waiter);
      return endsInMs === undefined ? undefined : { state: 'pending', endsInMs };
    },

    removeWaiter: localPolls.removeWaiter,

    async claim(pollSecret, signal) {
      const found = findPlace(options, pollSecret);
      const place = found instanceof Promise ? await found : found;
      if (place === undefined) return { state: 'gone' };
      let closedClaim: string | undefined;
      while (!signal?.aborted) {
        const reply = await commands.track(claimOnce(options, place, signal));
        const { state, sealed, takenBy, isKept, endsInMs } = reply;
        // No later claim needs it.
        const isOver = state === 'gone' || (state === 'claimed' && !isKept);
        if (isOver) localPolls.delete(place.poll.id);
        if (state === 'claimed') {
          if (reply.service !== '') observer.current.delivered(reply.service, reply.waitedMs);
          // Empty: the lease ran out, and no process was there to seal a result.
          if (sealed === '') return { state, result: EXCHANGE_FAILED };
          return { state, result: openResult(place, sealed) };
        }
        // A lease that is taken after this claim has not run out before.
        if (state === 'pending') return { state, endsInMs: Math.min(endsInMs, EXCHANGE_LEASE_MS) };
        if (state === 'gone') return { state };
        // It still has the session and can no longer be undone: the result was delivered.
        if (takenBy === closedClaim) return { state: 'gone' };
        if (!(await openClaims.untilClosed(takenBy))) {
          throw new StoreUnavailable('claimed by a poll that may still lose it');
        }
        closedClaim = takenBy;
      }
      return { state: 'pending', endsInMs: Number.POSITIVE_INFINITY };
    },

    /** Not repeated: the device may confirm again, and an unconfirmed result expires. */
    async acknowledge(pollSecret) {
      const place = await findPlace(options, pollSecret);
      if (place === undefined) return 'gone';
      const outcome = await run(SCRIPTS.acknowledge, keysOf(keys, place), [place.sessionId]);
      return outcome as Awaited<ReturnType<SessionStore['acknowledge']>>;
    },

    /** Not repeated: only a hint is lost. */
    async takeOpenedNotice(pollSecret) {
      const place = await findPlace(options, pollSecret);
      if (place === undefined) return false;
      const recordKey = keys.session(place.sessionId);
      return (await run(SCRIPTS.takeOpenedNotice, [recordKey], [])) === 1;
    },

    /** Not repeated: the device cancels again. */
    async cancel(pollSecret) {
      const place = await findPlace(options, pollSecret);
      if (place === undefined) return 'gone';
      const recordKey = keys.session(place.sessionId);
      const outcome = await run(SCRIPTS.cancel, [recordKey], [keys.channelPrefix]);
      if (typeof outcome !== 'string') return 'gone';
      if (outcome !== '') observer.current.cancelled(outcome);
      return 'cancelled';
    },
  };
}

const EXCHANGE_FAILED = { error: 'exchange_failed' } as const;

const keysOf = (keys: RedisKeys, { poll, sessionId }: DevicePlace) => [
  keys.session(sessionId),
  keys.poll(poll.id),
  keys.live,
];

/** A pointer never changes, so it is read before a script, which needs the names of all its keys. */
function findPlace(
  { commands, keys, localPolls }: DeviceVerbsOptions,
  pollSecret: string,
): Awaitable<DevicePlace | undefined> {
  const poll = deriveFromPollSecret(pollSecret);

  function placeAt(pointer: string): DevicePlace {
    const [sessionId = '', wrappedKey = ''] = pointer.split('.');
    return { pollSecret, poll, sessionId, wrappedKey };
  }

  async function readPointer(): Promise<DevicePlace | undefined> {
    const key = keys.poll(poll.id);
    const value = await commands.repeat({ insist: false }, () => commands.get(key));
    if (value === null) return undefined;
    // Without the time at which it expires.
    const pointer = value.slice(value.indexOf('.') + 1);
    localPolls.add(poll.id, pointer);
    return placeAt(pointer);
  }

  const known = localPolls.get(poll.id);
  return known === undefined ? readPointer() : placeAt(known.pointer);
}

/**
 * Repeated for a while under one id. A claim that reaches no device is undone: if its outcome
 * stays unknown, or its device has disconnected.
 */
async function claimOnce(
  options: DeviceVerbsOptions,
  place: DevicePlace,
  signal?: AbortSignal,
): Promise<ClaimReply> {
  const { commands, keys, clock, randomBytes, instance, openClaims } = options;
  const claim = `${instance}.${createCallId(randomBytes)}`;
  const askedAtMs = clock.now();
  let isUnknown = false;

  function undoClaim(): void {
    const args = [claim, place.sessionId, keys.channelPrefix];
    void commands
      .undo(() => commands.run(SCRIPTS.undoClaim, keysOf(keys, place), args), { isUnknown })
      .then(() => openClaims.close(claim));
  }
  function onUnknown(): void {
    isUnknown = true;
  }
  function attempt(wasUnknown: boolean): Promise<ClaimReply> {
    isUnknown = wasUnknown;
    return runClaim(options, place, claim);
  }
  openClaims.open(claim);
  try {
    const reply = await commands.repeat({ insist: false, onUnknown }, attempt);
    // After a pause the connection of a device that has disconnected may not have been read yet.
    const wasPaused = clock.now() - askedAtMs > STALL_MS;
    if (reply.state === 'claimed' && wasPaused) await pause(clock, STALL_GRACE_MS);
    if (reply.state === 'claimed' && !signal?.aborted) {
      openClaims.close(claim);
      return reply;
    }
    // An earlier attempt may still be executed, if there is something to claim.
    if (reply.state === 'claimed' || (isUnknown && reply.state !== 'gone')) undoClaim();
    else openClaims.close(claim);
    return reply.state === 'claimed' ? parseReply(['pending']) : reply;
  } catch (error) {
    if (isUnknown) undoClaim();
    else openClaims.close(claim);
    throw error;
  }
}

async function runClaim(
  { commands, keys, instance, localPolls }: DeviceVerbsOptions,
  place: DevicePlace,
  claim: string,
): Promise<ClaimReply> {
  const known = localPolls.get(place.poll.id);
  const args = [claim, instance, place.sessionId];
  const reply = parseReply(await commands.run(SCRIPTS.claim, keysOf(keys, place), args));
  if (reply.state === 'pending') localPolls.foundPending(place.poll.id, known, reply.endsInMs);
  return reply;
}

interface ClaimReply {
  /** 'taken': by another claim, which may still be undone. */
  readonly state: Claim['state'] | 'taken';
  /** See PendingClaim. */
  readonly endsInMs: number;
  readonly sealed: string;
  /** The claim that delivered it. */
  readonly takenBy: string;
  /** Later claims get it too, for a while. */
  readonly isKept: boolean;
  /** Empty if the result was delivered before. */
  readonly service: string;
  /** The time since the result was stored. */
  readonly waitedMs: number;
}

function parseReply(reply: unknown): ClaimReply {
  const [state, second = '', stays, service = '', waitedMs] = reply as [
    ClaimReply['state'],
    ...string[],
  ];
  return {
    state,
    endsInMs: state === 'pending' && second !== '' ? Number(second) : Number.POSITIVE_INFINITY,
    sealed: state === 'claimed' ? second : '',
    takenBy: state === 'taken' ? second : '',
    isKept: stays === 'kept',
    service,
    waitedMs: Number(waitedMs ?? 0),
  };
}
