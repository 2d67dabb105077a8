/**
 * What a device does with its poll secret. A result is delivered to one poll: read and
 * marked in one script, and undone where no device got it.
 */
import { STALL_GRACE_MS, STALL_MS } from '../../limits.ts';
import {
  type Awaitable,
  type Claim,
  type SessionStore,
  StoreUnavailable,
} from '../../relay/store.ts';
import { type Clock, pause } from '../../relay/time.ts';
import type { Waiters } from '../waiters.ts';
import type { RedisCommands, TimeOf } from './commands.ts';
import type { RedisClient } from './connect.ts';
import type { KnownPolls, OpenClaims } from './pub-sub.ts';
import { type Observed, openResult, type RedisKeys, type SessionKeys } from './records.ts';
import { SCRIPTS } from './scripts.ts';
import { type Derived, deriveFromPollSecret } from './sealing.ts';

export interface DeviceVerbsOptions {
  readonly client: RedisClient;
  readonly commands: RedisCommands;
  readonly keys: RedisKeys;
  readonly clock: Clock;
  readonly timeOf: TimeOf;
  readonly createId: () => string;
  /** The channel on which this process is notified. */
  readonly instance: string;
  readonly openClaims: OpenClaims;
  readonly observed: Observed;
  readonly waiters: Waiters;
  readonly knownPolls: KnownPolls;
}

export type DeviceVerbs = Pick<
  SessionStore,
  'claim' | 'acknowledge' | 'takeOpenedNotice' | 'cancel' | 'addWaiter'
>;

/** A session as its poll secret leads to it. */
interface Place {
  readonly poll: Derived;
  readonly pointer: string;
  readonly sessionId: string;
  readonly tag: SessionKeys;
}

interface ClaimReply {
  /** 'taken': by another claim, which may still be undone. */
  readonly state: Claim['state'] | 'taken';
  /** As in PendingClaim. */
  readonly endsInMs: number;
  readonly sealed: string;
  /** The claim that has it. */
  readonly takenBy: string;
  /** Whoever asks gets it, for a while. */
  readonly isKept: boolean;
  /** Empty where the result was delivered before. */
  readonly service: string;
  /** Since the result was stored. */
  readonly waitedMs: number;
}

export function createDeviceVerbs(options: DeviceVerbsOptions): DeviceVerbs {
  const { client, commands, keys, clock, timeOf, createId, instance, openClaims } = options;
  const { observed, waiters, knownPolls } = options;
  const { run } = commands;

  /** A pointer never changes, so it is read before a script, which needs the names of all its keys. */
  function find(pollSecret: string): Awaitable<Place | undefined> {
    const poll = deriveFromPollSecret(pollSecret);
    const place = { poll, tag: keys.of(pollSecret) };
    const known = knownPolls.get(poll.id);
    return known === undefined ? search(place) : at(place, known.pointer);
  }

  async function search(place: Pick<Place, 'poll' | 'tag'>): Promise<Place | undefined> {
    const key = place.tag.poll(place.poll.id);
    const value = await commands.repeat({ insist: false }, () => commands.within(client.get(key)));
    if (value === null) return undefined;
    // Without the time at which it expires.
    const pointer = value.slice(value.indexOf('.') + 1);
    knownPolls.add(place.poll.id, pointer);
    return at(place, pointer);
  }

  function at(place: Pick<Place, 'poll' | 'tag'>, pointer: string): Place {
    return { ...place, pointer, sessionId: pointer.slice(0, pointer.indexOf('.')) };
  }

  const keysOf = ({ poll, sessionId, tag }: Place) => [
    tag.session(sessionId),
    tag.poll(poll.id),
    tag.live,
  ];

  async function attemptClaim(place: Place, claim: string): Promise<ClaimReply> {
    const args = [timeOf(), claim + ATTEMPT, instance, place.sessionId];
    const known = knownPolls.get(place.poll.id);
    const reply = parseReply(await run(SCRIPTS.claim, keysOf(place), args));
    if (reply.state === 'pending') knownPolls.found(place.poll.id, known, reply.endsInMs);
    return reply;
  }

  async function undo(place: Place, claim: string): Promise<void> {
    const args = [timeOf(), claim, place.sessionId, keys.channelPrefix];
    await run(SCRIPTS.undoClaim, keysOf(place), args);
  }

  /**
   * Repeated for a while under one id. A claim that reaches no device is
   * undone: one whose outcome stays unknown, and one whose device has left.
   */
  async function claimOnce(place: Place, signal?: AbortSignal): Promise<ClaimReply> {
    const claim = `${instance}.${createId()}.`;
    const askedAtMs = clock.now();
    let isUnknown = false;

    function undoClaim(): void {
      void commands
        .undo(() => undo(place, claim), { isUnknown })
        .then(() => openClaims.close(claim));
    }
    function onUnknown(): void {
      isUnknown = true;
    }
    function attempt(wasUnknown: boolean): Promise<ClaimReply> {
      isUnknown = wasUnknown;
      return attemptClaim(place, claim);
    }
    openClaims.open(claim);
    try {
      const reply = await commands.repeat({ insist: false, onUnknown }, attempt);
      // After a standstill the connection of a device that has left may not have been read yet.
      const hasStoodStill = clock.now() - askedAtMs > STALL_MS;
      if (reply.state === 'claimed' && hasStoodStill) await pause(clock, STALL_GRACE_MS);
      if (reply.state === 'claimed' && !signal?.aborted) {
        openClaims.close(claim);
        return reply;
      }
      // An earlier attempt may be carried out yet, where there is something to claim.
      if (reply.state === 'claimed' || (isUnknown && reply.state !== 'gone')) undoClaim();
      else openClaims.close(claim);
      return reply.state === 'claimed' ? parseReply(['pending']) : reply;
    } catch (error) {
      if (isUnknown) undoClaim();
      else openClaims.close(claim);
      throw error;
    }
  }

  return {
    addWaiter(pollSecret, waiter) {
      const { id } = deriveFromPollSecret(pollSecret);
      waiters.add(id, waiter);
      const endsInMs = knownPolls.endsInMs(id);
      return endsInMs === undefined ? undefined : { state: 'pending', endsInMs };
    },

    async claim(pollSecret, signal) {
      const found = find(pollSecret);
      const place = found instanceof Promise ? await found : found;
      if (place === undefined) return { state: 'gone' };
      let closedClaim: string | undefined;
      while (!signal?.aborted) {
        const reply = await commands.track(claimOnce(place, signal));
        const { state, sealed, takenBy, isKept, endsInMs } = reply;
        // Nobody has reason to ask again.
        const isOver = state === 'gone' || (state === 'claimed' && !isKept);
        if (isOver) knownPolls.delete(place.poll.id);
        if (state === 'claimed') {
          if (reply.service !== '') observed.by.delivered(reply.service, reply.waitedMs);
          const { poll, pointer, sessionId } = place;
          return { state, result: openResult({ pollSecret, poll, pointer, sessionId }, sealed) };
        }
        if (state === 'pending') return { state, endsInMs };
        if (state === 'gone') return { state };
        const claim = claimOf(takenBy);
        // It still has the session, and nobody can undo it any more: it was delivered.
        if (claim === closedClaim) return { state: 'gone' };
        if (!(await openClaims.untilClosed(claim))) {
          throw new StoreUnavailable('claimed by a poll that may still lose it');
        }
        closedClaim = claim;
      }
      return { state: 'pending', endsInMs: Number.POSITIVE_INFINITY };
    },

    /** Not repeated: the device may confirm again, and what nobody confirms expires. */
    async acknowledge(pollSecret) {
      const place = await find(pollSecret);
      if (place === undefined) return 'gone';
      const outcome = await run(SCRIPTS.acknowledge, keysOf(place), [timeOf(), place.sessionId]);
      return outcome as Awaited<ReturnType<SessionStore['acknowledge']>>;
    },

    /** Not repeated: what is lost is a hint. */
    async takeOpenedNotice(pollSecret) {
      const place = await find(pollSecret);
      if (place === undefined) return false;
      const [sessionKey = ''] = keysOf(place);
      return (await run(SCRIPTS.takeOpenedNotice, [sessionKey], [timeOf()])) === 1;
    },

    /** Not repeated: the device cancels again. */
    async cancel(pollSecret) {
      const place = await find(pollSecret);
      if (place === undefined) return 'gone';
      const [sessionKey = ''] = keysOf(place);
      const outcome = await run(SCRIPTS.cancel, [sessionKey], [timeOf(), keys.channelPrefix]);
      if (typeof outcome !== 'string') return 'gone';
      if (outcome !== '') observed.by.cancelled(outcome);
      return 'cancelled';
    },
  };
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

/** What follows it is constant: older releases counted attempts there, and still expect it. */
const ATTEMPT = '1.';
const claimOf = (attempt: string) => attempt.replace(/[^.]*\.$/, '');
