/**
 * A primary is killed or replaced, or has no replica that keeps up: tokens are delivered
 * to no other device, and to the same one again only across a failover; no poll is
 * forgotten (docs/scaling.md "What can be lost").
 */
import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { pollUntilDone, start } from '../kit/device.ts';
import { has } from '../kit/needs.ts';
import { tokensFor } from '../kit/provider.ts';
import { type Failing, startRedisCluster, startRedisSentinel } from '../kit/redis/groups.ts';
import { park, type SignedIn, signIn, startRelayPair, tally } from '../kit/relay-pair.ts';
import {
  create,
  createCompleted,
  DELIVERED,
  GONE,
  newSession,
  openTestRedis,
  PENDING,
} from '../kit/stores.ts';
import {
  bringCode,
  bringCodeWhenPossible,
  deny,
  makeCode,
  startWhenPossible,
} from '../kit/user.ts';
import { pollUntil } from '../kit/wait.ts';

setDefaultTimeout(90_000);

const GROUPS: [string, () => Promise<Failing>][] = [
  ['with Sentinel', () => startRedisSentinel({ failsOver: true })],
  ['in a Cluster', () => startRedisCluster({ replicas: 1 })],
];
if (has('Valkey', 'a failover in a Cluster of Valkey delivers nothing twice'))
  GROUPS.push([
    'in a Cluster of Valkey',
    () => startRedisCluster({ replicas: 1, program: 'valkey-server' }),
  ]);

describe.each(GROUPS)('%s', (deployment, startGroup) => {
  const WORKERS = 8;
  const SIGN_INS = 100;

  test("a primary killed under load: no device gets another's tokens; sign-ins continue", async () => {
    await using group = await startGroup();
    await using pair = await startRelayPair(group.url);
    const { relays, provider } = pair;
    const signIns: (SignedIn & { readonly isAcross: boolean })[] = [];
    let phase: 'before' | 'failover' | 'after' = 'before';
    const untilThere = (count: number) =>
      pollUntil(`${count} sign-ins are over`, () => signIns.length >= count);
    let isOver = false;
    async function work(): Promise<void> {
      while (!isOver) {
        const startedIn = phase;
        const signedIn = await signIn(relays);
        const isAcross = startedIn !== 'after' && phase !== 'before';
        signIns.push({ ...signedIn, isAcross });
      }
    }
    const workers = Promise.all(Array.from({ length: WORKERS }, work));
    // Checked at the end: what fails before is the cause, and ends the workers.
    workers.catch(() => {});
    await untilThere(SIGN_INS);
    phase = 'failover';
    const killed = await group.primary();
    await killed.kill();
    await group.waitForPromotion(killed);
    await killed.restart();
    phase = 'after';
    await untilThere(signIns.length + SIGN_INS);
    isOver = true;
    await workers;
    const sums = tally(signIns);
    const others = tally(signIns.filter(({ isAcross }) => !isAcross));
    const spentTwice = signIns.filter(({ code }) => provider.requestsFor(code) > 1).length;
    console.log(`failover ${deployment}:`, JSON.stringify({ ...sums, spentTwice }));
    expect(sums.wrong).toBe(0);
    expect(others.doubled).toBe(0);
  });
});

// No connection fails while no command is in progress, and a completion may have been published meanwhile.
test('an operator replaces the primary of Sentinels: every parked poll is answered', async () => {
  await using group = await startRedisSentinel({ failsOver: true });
  await using pair = await startRelayPair(group.url);
  const { relays } = pair;
  const { session, state } = await startWhenPossible(relays[0]);
  const parked = await Promise.all(relays.map((relay) => park(relay, session)));
  await group.waitForPromotion(await group.replacePrimary());
  await pollUntil(
    'the user can decline',
    async () => (await deny(relays[1], state)).status === 200,
  );
  const answers = await Promise.all(parked.map(({ answer }) => answer));
  const [first, second = 0] = answers.map(({ status }) => status).toSorted();
  expect(first).toBe(200);
  // 204: it was told to look again, and not why.
  expect([204, 410]).toContain(second);
  expect(await pollUntilDone(relays, session)).toBe('gone');
});

test.each([
  ['is delivered once more at another relay, to the same device', 'another'],
  ['is not delivered again at the relay that delivered it', 'same'],
])('a delivery that a failover lost %s', async (_, where) => {
  await using group = await startRedisSentinel({ failsOver: true });
  const prefix = 'failover:';
  const one = await openTestRedis(group.url, { prefix });
  const another = await openTestRedis(group.url, { prefix });
  const { pollSecret } = await createCompleted(one.store);
  const other = await create(one.store);
  const failOver = await forgetFromHere(group, 2);
  expect(await one.store.poll(pollSecret)).toEqual(DELIVERED);
  await failOver();
  const { store: asked } = where === 'same' ? one : another;
  const again = await pollUntil('the store answers', () =>
    asked.poll(pollSecret).catch(() => undefined),
  );
  expect(again).toEqual(where === 'same' ? GONE : DELIVERED);
  for (const { store } of [one, another]) {
    expect(await store.poll(pollSecret)).toEqual(GONE);
    expect(await store.poll(other.pollSecret)).toEqual(PENDING);
    expect(await store.poll(newSession().pollSecret)).toEqual(GONE);
  }
  one.close();
  another.close();
});

/** What is written from here on is lost in the failover that the returned function makes. `sessions`: so many the replica must have. */
async function forgetFromHere({ nodes, waitForPromotion }: Failing, sessions: number) {
  const [primary, replica] = nodes;
  if (primary === undefined || replica === undefined) throw new Error('no replica');
  await pollUntil('the replica has the sessions', async () => {
    return (await replica.keys('*:sign-in:*')).length === sessions;
  });
  await replica.freeze();
  // Or what is sent to it meanwhile would be read later.
  await primary.cli('CLIENT', 'KILL', 'TYPE', 'replica');
  return async () => {
    await primary.kill();
    replica.thaw();
    await waitForPromotion(primary);
  };
}

test.each(['lease', 'completion'])(
  'a code is spent once, and its device gets tokens, though a failover lost the %s',
  async (lost) => {
    await using group = await startRedisSentinel({ failsOver: true });
    await using pair = await startRelayPair(group.url);
    const { provider, relays } = pair;
    const [relay, other] = relays;
    const { session, state } = await start(relay);
    const failOver = await forgetFromHere(group, 1);
    const code = makeCode();
    const held = lost === 'lease' ? provider.gate.close() : undefined;
    const page = bringCode(relay, state, code);
    await (held?.arrived ?? page);
    await failOver();
    const parked = await park(other, session);
    // A reload stores a completion again.
    expect(await bringCodeWhenPossible([relay], state, code)).toBe(404);
    held?.release();
    expect((await page).status).toBe(200);
    const first = await parked.answer;
    const result = first.status === 204 ? pollUntilDone([other], session) : first.json();
    expect(await result).toEqual(tokensFor(code));
    expect(await pollUntilDone(relays, session)).toBe('gone');
    expect(provider.requestsFor(code)).toBe(1);
  },
);
