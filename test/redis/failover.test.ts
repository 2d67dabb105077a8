/** The primary is killed under load, and the Sentinels promote a replica. hazards.md §3, Failover. */
import { expect, test } from 'bun:test';
import { pollUntil } from '../support/redis/poll-until.ts';
import { startRedisSentinel } from '../support/redis/start-sentinel.ts';
import { park } from './support/device.ts';
import { startRelayPair } from './support/relay-pair.ts';
import { type SignedIn, signIn, startWhenPossible } from './support/sign-in.ts';
import { tally } from './support/tally.ts';

const WORKERS = 8;
const SIGN_INS_BEFORE = 100;
const SIGN_INS_AFTER = 100;

test.each([
  [1, 'while none is left nothing is handed out'],
  [2, 'the other one takes its place'],
])(
  'the primary of %i is killed under load, %s: nobody gets tokens twice, sign-ins go on',
  async (replicas) => {
    await using stack = new AsyncDisposableStack();
    const group = await startRedisSentinel({ replicas, failsOver: true });
    stack.defer(() => group.stop());
    const { relays, provider } = stack.use(await startRelayPair(group.url));
    const signIns: SignedIn[] = [];
    let isOver = false;
    async function work(): Promise<void> {
      while (!isOver) signIns.push(await signIn(relays));
    }
    const workers = Promise.all(Array.from({ length: WORKERS }, work));
    // Looked at in the end: what else fails is the cause, and cuts them off.
    workers.catch(() => {});
    await untilThere(signIns, SIGN_INS_BEFORE);
    const killed = await group.killPrimary();
    await group.waitForPromotion(killed);
    // Only now: a relay that has not yet heard of the new primary would take it for the old one.
    await Promise.all(relays.map(startWhenPossible));
    await killed.restart();
    await untilThere(signIns, signIns.length + SIGN_INS_AFTER);
    isOver = true;
    await workers;

    const sums = tally(signIns);
    const spentTwice = signIns.filter(({ code }) => provider.exchangesOf(code) > 1).length;
    console.log(`failover, ${replicas} replicas:`, JSON.stringify({ ...sums, spentTwice }));
    expect(sums).toMatchObject({ doubled: 0, wrong: 0 });
  },
  90_000,
);

/** Where no command is under way, no connection fails; what a device waits for may have been said meanwhile. */
test('an operator has the replica take over: every parked poll looks again', async () => {
  await using stack = new AsyncDisposableStack();
  const group = await startRedisSentinel({ failsOver: true });
  stack.defer(() => group.stop());
  const { relays } = stack.use(await startRelayPair(group.url));
  const { session } = await startWhenPossible(relays[0]);
  const parked = await Promise.all(relays.map((relay) => park(relay, session)));
  await group.waitForPromotion(await group.replacePrimary());
  const answers = await Promise.all(parked.map(({ answer }) => answer));
  expect(answers.map(({ status }) => status)).toEqual([204, 204]);
}, 60_000);

async function untilThere(signIns: readonly SignedIn[], count: number): Promise<void> {
  await pollUntil(`${count} sign-ins are over`, async () =>
    signIns.length >= count ? true : undefined,
  );
}
