/** What a device does with its poll secret. A result is delivered to one poll, by one script. */
import { EXCHANGE_LEASE_MS } from '../../limits.ts';
import type { Awaitable, Claim, SessionStore } from '../../relay/store.ts';
import { type DevicePlace, openResult } from '../sealed-session.ts';
import { deriveFromPollSecret } from '../sealing.ts';
import { createCallId } from './commands.ts';
import type { RedisKeys, VerbParts } from './records.ts';
import { SCRIPTS } from './scripts.ts';

export type DeviceVerbs = Pick<
  SessionStore,
  'claim' | 'acknowledge' | 'takeOpenedNotice' | 'cancel' | 'addWaiter' | 'removeWaiter'
>;

export function createDeviceVerbs(options: VerbParts): DeviceVerbs {
  const { commands, keys, localPolls, observer } = options;
  const { run } = commands;

  return {
    addWaiter(pollSecret, waiter) {
      const endsInMs = localPolls.addWaiter(deriveFromPollSecret(pollSecret).id, waiter);
      return endsInMs === undefined ? undefined : { state: 'pending', endsInMs };
    },

    removeWaiter: localPolls.removeWaiter,

    async claim(pollSecret) {
      const found = findPlace(options, pollSecret);
      const place = found instanceof Promise ? await found : found;
      if (place === undefined) return { state: 'gone' };
      const { state, sealed, isKept, endsInMs, service, waitedMs } = await claimOnce(
        options,
        place,
      );
      // A lease that is taken after this claim has not run out before.
      if (state === 'pending') return { state, endsInMs: Math.min(endsInMs, EXCHANGE_LEASE_MS) };
      // No later claim needs it.
      if (!isKept) localPolls.delete(place.poll.id);
      if (state === 'gone') return { state };
      if (service !== '') observer.current.delivered(service, waitedMs);
      // Empty: the lease ran out, and no process was there to seal a result.
      return { state, result: sealed === '' ? EXCHANGE_FAILED : openResult(place, sealed) };
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
  { commands, keys, localPolls }: VerbParts,
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

/** Repeated for a while under one id, with the same reply. */
async function claimOnce(
  { commands, keys, randomBytes, instance, localPolls }: VerbParts,
  place: DevicePlace,
): Promise<ClaimReply> {
  const { poll, sessionId } = place;
  const args = [createCallId(randomBytes), instance, sessionId];
  return commands.repeat({ insist: false }, async () => {
    const known = localPolls.get(poll.id);
    const reply = parseReply(await commands.run(SCRIPTS.claim, keysOf(keys, place), args));
    if (reply.state === 'pending') localPolls.foundPending(poll.id, known, reply.endsInMs);
    return reply;
  });
}

type ClaimReply = ReturnType<typeof parseReply>;

function parseReply(reply: unknown) {
  const [state, second = '', stays, service = '', waitedMs] = reply as [
    Claim['state'],
    ...string[],
  ];
  return {
    state,
    /** See PendingClaim. */
    endsInMs: state === 'pending' ? Number(second) : 0,
    sealed: state === 'claimed' ? second : '',
    /** Later claims get it too, for a while. */
    isKept: stays === 'kept',
    /** Empty if the result was delivered before. */
    service,
    /** The time since the result was stored. */
    waitedMs: Number(waitedMs ?? 0),
  };
}
