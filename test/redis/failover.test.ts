/**
 * A primary is killed or replaced: a code is spent once, tokens are delivered to no other device,
 * and to the same one again only across the failover; no poll is forgotten (docs/scaling.md
 * "What can be lost"). test/chaos does it under load.
 */
import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { pollUntilDone, start } from '../kit/device.ts';
import { tokensFor } from '../kit/provider.ts';
import {
  type RedisGroup,
  replicaOf,
  startRedisCluster,
  startRedisSentinel,
} from '../kit/redis/groups.ts';
import { park, startRelayPair } from '../kit/relay-pair.ts';
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

/** What is written from here on is lost in the failover that the returned function makes. Waits until the replica has this many sessions. */
async function forgetFromHere(group: RedisGroup, sessions: number) {
  const primary = await group.primary();
  const replica = await replicaOf(primary, group);
  await pollUntil('the replica has the sessions', async () => {
    return (await replica.keys('*:sign-in:*')).length === sessions;
  });
  await replica.freeze();
  // Or what is sent to it meanwhile would be read later.
  await primary.cli('CLIENT', 'KILL', 'TYPE', 'replica');
  return async () => {
    await primary.kill();
    replica.thaw();
    await group.waitForPromotion(primary);
  };
}

describe.each([
  ['Sentinel', () => startRedisSentinel({ failsOver: true })],
  ['a Cluster', () => startRedisCluster({ replicas: 1 })],
] as const)('with %s:', (_, startGroup) => {
  // No connection fails while no command is in progress, and a completion may have been published meanwhile.
  test('an operator replaces the primary: every parked poll is answered', async () => {
    await using group = await startGroup();
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
    // 204: the poll rechecked its session, which had no result.
    expect([204, 410]).toContain(second);
    expect(await pollUntilDone(relays, session)).toBe('gone');
  });

  test.each([
    ['is delivered once more at another relay, to the same device', 'another'],
    ['is not delivered again at the relay that delivered it', 'same'],
  ])('a delivery that a failover lost %s', async (_name, where) => {
    await using group = await startGroup();
    const prefix = 'failover:';
    const one = await openTestRedis(group.url, { prefix });
    const another = await openTestRedis(group.url, { prefix });
    const { pollSecret } = await createCompleted(one.store);
    const other = await create(one.store);
    const failOver = await forgetFromHere(group, 2);
    expect(await one.store.poll(pollSecret)).toEqual(DELIVERED);
    await failOver();
    // Each connects to the new primary in its own time, and a device polls again until then.
    const poll = ({ store }: typeof one, secret: string) =>
      pollUntil('the store answers', () => store.poll(secret).catch(() => undefined));
    const again = await poll(where === 'same' ? one : another, pollSecret);
    expect(again).toEqual(where === 'same' ? GONE : DELIVERED);
    for (const each of [one, another]) {
      expect(await poll(each, pollSecret)).toEqual(GONE);
      expect(await poll(each, other.pollSecret)).toEqual(PENDING);
      expect(await poll(each, newSession().pollSecret)).toEqual(GONE);
    }
  });

  test.each(['lease', 'completion'])(
    'a code is spent once, and its device gets tokens, though a failover lost the %s',
    async (lost) => {
      await using group = await startGroup();
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
      expect(await bringCodeWhenPossible(relay, state, code)).toBe(404);
      held?.release();
      expect((await page).status).toBe(200);
      const first = await parked.answer;
      const result = first.status === 204 ? pollUntilDone([other], session) : first.json();
      expect(await result).toEqual(tokensFor(code));
      expect(await pollUntilDone(relays, session)).toBe('gone');
      expect(provider.requestsFor(code)).toBe(1);
    },
  );
});
