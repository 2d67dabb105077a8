/** How the result of a session comes into one hand: read and marked in one script, for good. */
import { ACK_MS } from '../limits.ts';
import type { Acknowledgement, Claim } from '../relay/store.ts';
import type { HoldBack } from './hold-back.ts';
import * as scripts from './redis-claim-scripts.ts';
import type { Claimer, RedisClient } from './redis-client.ts';
import type { RedisCommands } from './redis-commands.ts';
import type { RedisKeys } from './redis-keys.ts';
import { FORGET, KEEP_PLACE, LEAVE_PLACE } from './redis-register-scripts.ts';

export interface RedisClaimsOptions {
  readonly client: RedisClient;
  readonly commands: RedisCommands;
  readonly keys: RedisKeys;
  /** Where this process hears of completions. */
  readonly instance: string;
  readonly holdBack: HoldBack;
}

export interface ClaimAttempt {
  readonly pollKey: string;
  /** Whoever asks again under it gets the same answer. */
  readonly claimId: string;
  readonly now: number | string;
}

export interface ClaimReply {
  readonly state: Claim['state'];
  readonly sealed: string;
  readonly pointer: string;
  /** Had been claimed before. */
  readonly again: boolean;
  /** Stays for whoever asks, until the device confirms it. */
  readonly kept: boolean;
}

export type AttemptClaim = (attempt: ClaimAttempt) => Promise<ClaimReply>;

export function createAttemptClaim(options: RedisClaimsOptions): AttemptClaim {
  const { client, commands, instance, holdBack } = options;
  const { live, sessionPrefix } = options.keys;

  async function claimAtOnce({ pollKey, claimId, now }: ClaimAttempt, claimer: Claimer) {
    const args = [now, claimId, instance, sessionPrefix];
    return parseReply(await commands.run(scripts.CLAIM_BY_POINTER, [pollKey, live], args, claimer));
  }

  /** So that a failover does not undo it: claimed, known to a replica, and then still claimed. */
  async function claimForGood(attempt: ClaimAttempt, claimer: Claimer): Promise<ClaimReply> {
    if (holdBack.isHeld) return claimAtOnce({ ...attempt, claimId: '' }, claimer);
    let reply = await claimAtOnce(attempt, claimer);
    while (reply.state === 'claimed') {
      // A failover may undo it: it is handed out again until the device confirms it.
      if (reply.kept) return reply;
      if (!(await commands.within(claimer.isReplicated()))) {
        holdBack.hold();
        return takeBack(attempt, claimer);
      }
      // A primary that was promoted in between need not know of it: asked once more.
      reply = await claimAtOnce(attempt, claimer);
      if (reply.again) return reply;
    }
    return reply;
  }

  /** As if it had not been claimed: the device is told to come again. */
  async function takeBack({ pollKey, claimId, now }: ClaimAttempt, claimer: Claimer) {
    const args = [now, claimId, sessionPrefix];
    await commands.run(scripts.TAKE_BACK, [pollKey, live], args, claimer);
    return parseReply(['pending']);
  }

  async function claimInSteps({ pollKey, claimId, now }: ClaimAttempt): Promise<ClaimReply> {
    const pointer = await commands.within(client.get(pollKey));
    if (pointer === null) return parseReply(['gone']);
    const [, sessionId = ''] = pointer.split('.');
    const args = [now, claimId, instance, pointer];
    const reply = parseReply(
      await commands.run(scripts.CLAIM_SESSION, [sessionPrefix + sessionId], args),
    );
    // Once for all who are handed it: each would move it further.
    const isMoved = reply.kept && reply.again;
    if (reply.state === 'claimed' && !isMoved) await movePlace(sessionId, now, reply);
    return reply;
  }

  /** Lost, it costs a place among the live until the session would have expired. */
  async function movePlace(sessionId: string, now: number | string, { kept }: ClaimReply) {
    const moved = kept
      ? commands.run(KEEP_PLACE, [live], [now, sessionId, ACK_MS])
      : commands.run(LEAVE_PLACE, [live], [sessionId]);
    await moved.catch(() => {});
  }

  if (client.isCluster) return claimInSteps;
  const claim = client.mayFailOver ? claimForGood : claimAtOnce;
  // The wait for a free connection counts too.
  return (attempt) => commands.within(client.asClaimer((claimer) => claim(attempt, claimer)));
}

function parseReply(reply: unknown): ClaimReply {
  const [state, sealed = '', pointer = '', how = ''] = reply as [Claim['state'], ...string[]];
  return { state, sealed, pointer, again: how.endsWith('again'), kept: how.startsWith('kept') };
}

export type Acknowledge = (pollKey: string, now: number | string) => Promise<Acknowledgement>;

export function createAcknowledge({ client, commands, keys }: RedisClaimsOptions): Acknowledge {
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
