/** How a result is delivered to one poll: read and marked in one script, and undone where no device got it. */
import { STALL_GRACE_MS, STALL_MS } from '../../limits.ts';
import {
  type Acknowledgement,
  type Claim,
  type SessionStore,
  StoreUnavailable,
} from '../../relay/store.ts';
import { type Clock, pause } from '../../relay/time.ts';
import * as scripts from './claim-scripts.ts';
import type { Claimer, RedisClient, ScriptRunner } from './client.ts';
import type { TimeOf } from './clock.ts';
import type { RedisCommands } from './commands.ts';
import type { RedisKeys } from './keys.ts';
import type { OpenClaims, Wake } from './messages.ts';
import { type Observed, openResult } from './records.ts';
import { FORGET, KEEP_PLACE, LEAVE_PLACE, RETURN_PLACE } from './register-scripts.ts';
import type { HoldBack } from './replication-gate.ts';
import { deriveFromPollSecret } from './seal.ts';

export interface RedisClaimsOptions {
  readonly client: RedisClient;
  readonly commands: RedisCommands;
  readonly keys: RedisKeys;
  readonly clock: Clock;
  readonly timeOf: TimeOf;
  readonly createId: () => string;
  /** The channel on which this process is notified of completions. */
  readonly instance: string;
  readonly openClaims: OpenClaims;
  readonly wake: Wake;
  readonly holdBack: HoldBack;
  readonly observed: Observed;
}

interface Attempt {
  readonly pollKey: string;
  /** `<instance>.<claim>.<number>.`; a repetition has the same claim and another number. */
  readonly id: string;
  readonly now: number | string;
}

interface ClaimReply {
  /** 'taken': by another claim, which may still be undone. */
  readonly state: Claim['state'] | 'taken';
  readonly sealed: string;
  readonly pointer: string;
  /** This claim had it before. */
  readonly again: boolean;
  /** Stays for whoever asks, for a while. */
  readonly kept: boolean;
  /** For how long, where this claim was the first. */
  readonly staysMs: number;
  readonly service: string;
  /** Since the result was stored. */
  readonly waitedMs: number;
  /** The attempt that has it. */
  readonly takenBy: string;
}

export function createClaim(options: RedisClaimsOptions): SessionStore['claim'] {
  const { commands, keys, clock, timeOf, createId, instance, openClaims, observed } = options;
  const attemptClaim = createAttemptClaim(options);
  const undoAttempts = createUndoAttempts(options);

  /**
   * Repeated for a while under one id. A claim that reaches no device is
   * undone: one whose outcome stays unknown, and one whose device has left.
   */
  async function claimOnce(pollKey: string, signal?: AbortSignal) {
    const claim = `${instance}.${createId()}.`;
    const askedAtMs = clock.now();
    let isUnknown = false;

    function undo(): void {
      const undoOnce = () => undoAttempts({ pollKey, id: claim, now: timeOf() });
      void commands.undo(undoOnce, { isUnknown }).then(() => openClaims.close(claim));
    }
    function onUnknown(): void {
      isUnknown = true;
    }
    function attempt(turn: number, wasUnknown: boolean): Promise<ClaimReply> {
      isUnknown = wasUnknown;
      return attemptClaim({ pollKey, id: `${claim}${turn}.`, now: timeOf() });
    }
    openClaims.open(claim);
    try {
      const reply = await commands.repeat({ insist: false, onUnknown }, attempt);
      if (reply.state === 'claimed' && !(await hasLeft(askedAtMs, signal))) {
        openClaims.close(claim);
        return reply;
      }
      // An earlier attempt may be carried out yet, where there is something to claim.
      if (reply.state === 'claimed' || (isUnknown && reply.state !== 'gone')) undo();
      else openClaims.close(claim);
      return reply.state === 'claimed' ? parseReply(['pending']) : reply;
    } catch (error) {
      if (isUnknown) undo();
      else openClaims.close(claim);
      throw error;
    }
  }

  async function hasLeft(askedAtMs: number, signal: AbortSignal | undefined): Promise<boolean> {
    // After a standstill the closed connection may not have been read yet.
    if (clock.now() - askedAtMs > STALL_MS) await pause(clock, STALL_GRACE_MS);
    return signal?.aborted ?? false;
  }

  return async (pollSecret, signal) => {
    const poll = deriveFromPollSecret(pollSecret);
    const pollKey = keys.poll(poll);
    let closedClaim: string | undefined;
    while (!signal?.aborted) {
      const reply = await commands.track(claimOnce(pollKey, signal));
      const { state, sealed, pointer, takenBy } = reply;
      if (state === 'claimed') {
        // Not what stays and was delivered before.
        if (reply.service) observed.by.delivered(reply.service, reply.waitedMs);
        return { state, result: openResult({ pollSecret, poll }, pointer, sealed) };
      }
      if (state !== 'taken') return { state };
      const claim = claimOf(takenBy);
      // It still has the session, and nobody can undo it any more: it was delivered.
      if (claim === closedClaim) return { state: 'gone' };
      if (!(await openClaims.untilClosed(claim))) {
        throw new StoreUnavailable('claimed by a poll that may still lose it');
      }
      closedClaim = claim;
    }
    return { state: 'pending' };
  };
}

function createAttemptClaim(options: RedisClaimsOptions) {
  const { client, commands, instance, holdBack } = options;
  const { live, sessionPrefix } = options.keys;
  const undoAttempts = createUndoAttempts(options);

  async function claimAtOnce({ pollKey, id, now }: Attempt, claimer: Claimer) {
    const args = [now, id, instance, sessionPrefix];
    return parseReply(await commands.run(scripts.CLAIM_BY_POINTER, [pollKey, live], args, claimer));
  }

  /** So that a failover does not undo it: claimed, known to a replica, and then still claimed. */
  async function claimForGood(attempt: Attempt, claimer: Claimer): Promise<ClaimReply> {
    if (holdBack.isHeld) return claimAtOnce({ ...attempt, id: '' }, claimer);
    let reply = await claimAtOnce(attempt, claimer);
    while (reply.state === 'claimed') {
      // A failover may undo it, and does no harm: it is delivered again anyway.
      if (reply.kept) return reply;
      if (!(await commands.within(claimer.isReplicated()))) {
        holdBack.hold();
        // This attempt alone: a repetition may have been answered by now.
        await undoAttempts(attempt, claimer);
        return parseReply(['pending']);
      }
      // After a failover the new primary may not have the claim: ask again.
      reply = await claimAtOnce(attempt, claimer);
      if (reply.again) return reply;
    }
    return reply;
  }

  async function claimInSteps({ pollKey, id, now }: Attempt): Promise<ClaimReply> {
    const pointer = await commands.within(client.get(pollKey));
    if (pointer === null) return parseReply(['gone']);
    const [, sessionId = ''] = pointer.split('.');
    const args = [now, id, instance, pointer];
    const reply = parseReply(
      await commands.run(scripts.CLAIM_SESSION, [sessionPrefix + sessionId], args),
    );
    // Moved once: each further claim of a kept result would move it again.
    const isMoved = reply.kept && reply.again;
    if (reply.state === 'claimed' && !isMoved) await movePlace(sessionId, now, reply);
    return reply;
  }

  /** If this fails, the session counts as live until it would have expired. */
  async function movePlace(sessionId: string, now: number | string, reply: ClaimReply) {
    const moved = reply.kept
      ? commands.run(KEEP_PLACE, [live], [now, sessionId, reply.staysMs])
      : commands.run(LEAVE_PLACE, [live], [sessionId]);
    await moved.catch(() => {});
  }

  if (client.isCluster) return claimInSteps;
  const claim = client.mayFailOver ? claimForGood : claimAtOnce;
  // The wait for a free connection counts too.
  return (attempt: Attempt) =>
    commands.within(client.asClaimer((claimer) => claim(attempt, claimer)));
}

/** As if it had not been claimed, if it still is by what is to be undone: an attempt, or a claim with all its attempts. */
function createUndoAttempts({ client, commands, keys, wake }: RedisClaimsOptions) {
  const { live, sessionPrefix, channelPrefix } = keys;

  async function undoAtOnce({ pollKey, id, now }: Attempt, runner: ScriptRunner = client) {
    const args = [now, id, sessionPrefix, channelPrefix];
    await commands.run(scripts.UNDO_BY_POINTER, [pollKey, live], args, runner);
  }

  async function undoInSteps({ pollKey, id, now }: Attempt) {
    const pointer = await commands.within(client.get(pollKey));
    const [, sessionId = ''] = pointer?.split('.') ?? [];
    const undone = await commands.run(scripts.UNDO_SESSION, [sessionPrefix + sessionId], [now, id]);
    if (!Array.isArray(undone)) return;
    const [expiresAtMs, pollId, waiting] = undone as [number, string, string[]];
    // If this fails, the session is not counted as live.
    await commands.run(RETURN_PLACE, [live], [sessionId, expiresAtMs]).catch(() => {});
    for (const other of waiting) void wake(other, pollId);
  }

  return client.isCluster ? undoInSteps : undoAtOnce;
}

function parseReply(reply: unknown): ClaimReply {
  const [state, second = '', pointer = '', how = '', staysMs, service, waitedMs] = reply as [
    ClaimReply['state'],
    ...string[],
  ];
  const isTaken = state === 'taken';
  return {
    state,
    sealed: isTaken ? '' : second,
    takenBy: isTaken ? second : '',
    pointer,
    again: how.endsWith('again'),
    kept: how.startsWith('kept'),
    staysMs: Number(staysMs ?? 0),
    service: service ?? '',
    waitedMs: Number(waitedMs ?? 0),
  };
}

/** Without the number of the attempt. */
function claimOf(attempt: string): string {
  return attempt.replace(/[^.]*\.$/, '');
}

export type Acknowledge = (pollKey: string, now: number | string) => Promise<Acknowledgement>;

export function createAcknowledge({
  client,
  commands,
  keys,
}: Pick<RedisClaimsOptions, 'client' | 'commands' | 'keys'>): Acknowledge {
  const { live, sessionPrefix } = keys;

  async function acknowledgeAtOnce(pollKey: string, now: number | string) {
    const args = [now, sessionPrefix];
    const outcome = await commands.run(scripts.ACKNOWLEDGE_BY_POINTER, [pollKey, live], args);
    return outcome as Acknowledgement;
  }

  async function acknowledgeInSteps(pollKey: string, now: number | string) {
    const pointer = await commands.within(client.get(pollKey));
    const [, sessionId = ''] = pointer?.split('.') ?? [];
    const session = sessionPrefix + sessionId;
    const outcome = await commands.run(scripts.ACKNOWLEDGE_SESSION, [session], [now]);
    if (outcome === 'acknowledged') {
      // Lost, they expire: the pointer leads nowhere.
      await commands.run(LEAVE_PLACE, [live], [sessionId]).catch(() => {});
      await commands.run(FORGET, [pollKey], []).catch(() => {});
    }
    return outcome as Acknowledgement;
  }

  return client.isCluster ? acknowledgeInSteps : acknowledgeAtOnce;
}
