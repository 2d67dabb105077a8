/** How the result of a session comes into one hand: read and marked in one script, for good. */
import type { Claim } from '../relay/store.ts';
import type { HoldBack } from './hold-back.ts';
import type { Claimer, RedisClient } from './redis-client.ts';
import type { RedisCommands } from './redis-commands.ts';
import * as scripts from './redis-scripts.ts';

export interface RedisClaimsOptions {
  readonly client: RedisClient;
  readonly commands: RedisCommands;
  readonly liveKey: string;
  readonly sessionPrefix: string;
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
  /** Had been claimed under this id before. */
  readonly again: boolean;
}

export type AttemptClaim = (attempt: ClaimAttempt) => Promise<ClaimReply>;

export function createAttemptClaim(options: RedisClaimsOptions): AttemptClaim {
  const { client, commands, liveKey, sessionPrefix, instance, holdBack } = options;

  async function claimAtOnce({ pollKey, claimId, now }: ClaimAttempt, claimer: Claimer) {
    const args = [now, claimId, instance, sessionPrefix];
    return parseReply(
      await commands.run(scripts.CLAIM_BY_POINTER, [pollKey, liveKey], args, claimer),
    );
  }

  /** So that a failover does not undo it: claimed, known to a replica, and then still claimed. */
  async function claimForGood(attempt: ClaimAttempt, claimer: Claimer): Promise<ClaimReply> {
    if (holdBack.isHeld) return claimAtOnce({ ...attempt, claimId: '' }, claimer);
    let reply = await claimAtOnce(attempt, claimer);
    while (reply.state === 'claimed') {
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
    await commands.run(scripts.TAKE_BACK, [pollKey, liveKey], args, claimer);
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
    // Lost, it costs a place among the live until the session would have expired.
    if (reply.state === 'claimed') {
      await commands.run(scripts.LEAVE_PLACE, [liveKey], [sessionId]).catch(() => {});
    }
    return reply;
  }

  if (client.isCluster) return claimInSteps;
  const claim = client.mayFailOver ? claimForGood : claimAtOnce;
  // The wait for a free connection counts too.
  return (attempt) => commands.within(client.asClaimer((claimer) => claim(attempt, claimer)));
}

function parseReply(reply: unknown): ClaimReply {
  const [state, sealed = '', pointer = '', again] = reply as [
    Claim['state'],
    string?,
    string?,
    string?,
  ];
  return { state, sealed, pointer, again: again !== undefined };
}
