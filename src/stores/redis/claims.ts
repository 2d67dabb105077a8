/**
 * What a device does with its poll secret. A result is delivered to one poll: read and
 * marked in one script, and undone where no device got it.
 */
import { STALL_GRACE_MS, STALL_MS, STORE_RETRY_MS } from '../../limits.ts';
import {
  type Awaitable,
  type Claim,
  type SessionStore,
  StoreUnavailable,
} from '../../relay/store.ts';
import { type Clock, pause } from '../../relay/time.ts';
import type { Waiters } from '../waiters.ts';
import type { RedisCommands, TimeOf } from './commands.ts';
import type { Claimer, RedisClient, Sender } from './connect.ts';
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
  readonly gate: ReplicationGate;
  readonly observed: Observed;
  readonly waiters: Waiters;
  readonly knownPolls: KnownPolls;
}

export type DeviceVerbs = Pick<
  SessionStore,
  'claim' | 'acknowledge' | 'tellOpened' | 'cancel' | 'addWaiter'
>;

/** A session as its poll secret leads to it. */
interface Place {
  readonly poll: Derived;
  readonly pointer: string;
  readonly sessionId: string;
  readonly tag: SessionKeys;
}

interface Attempt {
  readonly place: Place;
  /** `<instance>.<claim>.<number>.`; a repetition has the same claim and another number. */
  readonly id: string;
  readonly now: number | string;
}

interface ClaimReply {
  /** 'taken': by another claim, which may still be undone. */
  readonly state: Claim['state'] | 'taken';
  /** As in PendingClaim. */
  readonly endsInMs: number;
  readonly sealed: string;
  /** The attempt that has it. */
  readonly takenBy: string;
  /** Whoever asks gets it, for a while. */
  readonly isKept: boolean;
  /** This claim had it before. */
  readonly isAgain: boolean;
  /** Empty where the result was delivered before. */
  readonly service: string;
  /** Since the result was stored. */
  readonly waitedMs: number;
}

export function createDeviceVerbs(options: DeviceVerbsOptions): DeviceVerbs {
  const { client, commands, keys, clock, timeOf, createId, instance, openClaims, gate } = options;
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

  async function claimOn({ place, id, now }: Attempt, sender: Sender): Promise<ClaimReply> {
    const args = [now, id, instance, place.sessionId];
    const known = knownPolls.get(place.poll.id);
    const reply = parseReply(await run(SCRIPTS.claim, keysOf(place), args, sender));
    // A claim that is held back finds nothing but pending sessions, and nobody would be notified of them.
    if (reply.state === 'pending' && id !== '') {
      knownPolls.found(place.poll.id, known, reply.endsInMs);
    }
    return reply;
  }

  async function undo({ place, id, now }: Attempt, sender?: Sender): Promise<void> {
    const args = [now, id, place.sessionId, keys.channelPrefix];
    await run(SCRIPTS.undoClaim, keysOf(place), args, sender);
  }

  /** So that a failover does not undo it: claimed, known to a replica, and then still claimed. */
  async function claimForGood(attempt: Attempt, claimer: Claimer): Promise<ClaimReply> {
    if (!claimer.mayFailOver) return claimOn(attempt, claimer);
    const { tag } = attempt.place.tag;
    if (gate.isHeld(tag)) return claimOn({ ...attempt, id: '' }, claimer);
    let reply = await claimOn(attempt, claimer);
    // A failover may undo what is kept, and does no harm: it is delivered again anyway.
    while (reply.state === 'claimed' && !reply.isKept) {
      // In one round trip. After a failover the new primary may not have the claim.
      const [isReplicated, repeated] = await Promise.all([
        commands.within(claimer.isReplicated()),
        claimOn(attempt, claimer),
      ]);
      if (!isReplicated) {
        gate.hold(tag);
        // This attempt alone: a repetition may have been answered by now.
        await undo(attempt, claimer);
        return parseReply(['pending']);
      }
      reply = repeated;
      if (reply.isAgain) break;
    }
    return reply;
  }

  /** The wait for a free connection counts too. */
  const attemptClaim = (attempt: Attempt) =>
    client.asClaimer === undefined
      ? claimOn(attempt, client)
      : commands.within(
          client.asClaimer(attempt.place.tag.live, (claimer) => claimForGood(attempt, claimer)),
        );

  /**
   * Repeated for a while under one id. A claim that reaches no device is
   * undone: one whose outcome stays unknown, and one whose device has left.
   */
  async function claimOnce(place: Place, signal?: AbortSignal): Promise<ClaimReply> {
    const claim = `${instance}.${createId()}.`;
    const askedAtMs = clock.now();
    let isUnknown = false;

    function undoAll(): void {
      const undoOnce = () => undo({ place, id: claim, now: timeOf() });
      void commands.undo(undoOnce, { isUnknown }).then(() => openClaims.close(claim));
    }
    function onUnknown(): void {
      isUnknown = true;
    }
    function attempt(turn: number, wasUnknown: boolean): Promise<ClaimReply> {
      isUnknown = wasUnknown;
      return attemptClaim({ place, id: `${claim}${turn}.`, now: timeOf() });
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
      if (reply.state === 'claimed' || (isUnknown && reply.state !== 'gone')) undoAll();
      else openClaims.close(claim);
      return reply.state === 'claimed' ? parseReply(['pending']) : reply;
    } catch (error) {
      if (isUnknown) undoAll();
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
    async tellOpened(pollSecret) {
      const place = await find(pollSecret);
      if (place === undefined) return false;
      const [sessionKey = ''] = keysOf(place);
      return (await run(SCRIPTS.tellOpened, [sessionKey], [timeOf()])) === 1;
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
  const [state, second = '', stays, turn, service = '', waitedMs] = reply as [
    ClaimReply['state'],
    ...string[],
  ];
  return {
    state,
    endsInMs: state === 'pending' && second !== '' ? Number(second) : Number.POSITIVE_INFINITY,
    sealed: state === 'claimed' ? second : '',
    takenBy: state === 'taken' ? second : '',
    isKept: stays === 'kept',
    isAgain: turn === 'again',
    service,
    waitedMs: Number(waitedMs ?? 0),
  };
}

/** Without the number of the attempt. */
function claimOf(attempt: string): string {
  return attempt.replace(/[^.]*\.$/, '');
}

/**
 * Results are delivered only while a replica confirms claims: otherwise a failover
 * would undo a claim, and the tokens would be delivered twice. Devices keep waiting,
 * and claim again once a replica keeps up. In a Cluster each tag is on a primary of
 * its own.
 */
export interface ReplicationGate {
  isHeld(tag: number): boolean;
  /** From now on until a replica keeps up. */
  hold(tag: number): void;
  stop(): void;
}

export interface ReplicationGateOptions {
  readonly clock: Clock;
  /** Whether a replica of the tag's primary keeps up. */
  readonly isReplicating: (tag: number) => Promise<boolean>;
  /** Called for the first tag that is held. */
  readonly onHeld: () => void;
  /** Called for each, and told whether it was the last. */
  readonly onReleased: (isLast: boolean) => void;
}

export function createReplicationGate(options: ReplicationGateOptions): ReplicationGate {
  const { clock, isReplicating, onHeld, onReleased } = options;
  const held = new Set<number>();
  let isStopped = false;

  async function release(tag: number): Promise<void> {
    do await pause(clock, STORE_RETRY_MS);
    while (!isStopped && !(await isReplicating(tag).catch(() => false)));
    held.delete(tag);
    if (!isStopped) onReleased(held.size === 0);
  }

  return {
    isHeld: (tag) => held.has(tag),
    hold(tag) {
      if (held.has(tag)) return;
      held.add(tag);
      if (held.size === 1) onHeld();
      void release(tag);
    },
    stop() {
      isStopped = true;
    },
  };
}
