/** Two relays on one Redis: a link that is opened at one, and a sign-in that is cancelled there, are known at the other. */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { pollOnce, start, startWithCode } from '../kit/device.ts';
import { startRedisCluster } from '../kit/redis/groups.ts';
import { startRedis } from '../kit/redis/server.ts';
import type { RelayProcess } from '../kit/relay.ts';
import { park, startRelayPair } from '../kit/relay-pair.ts';
import { createCode, openTestRedis, register } from '../kit/stores.ts';
import { bringCode, makeCode, textOf } from '../kit/user.ts';

setDefaultTimeout(30_000);

const [redis, cluster] = await Promise.all([startRedis(), startRedisCluster()]);
afterAll(() => Promise.all([redis, cluster].map((server) => server.stop())));

const CANCELLED = 'The sign-in was cancelled on the device.';

const pollProgress = (relay: RelayProcess, session: string) =>
  relay.ask(`/auth/result?session=${session}&progress=1`);

async function parkProgress(relay: RelayProcess, session: string) {
  const before = relay.events('poll_waiting').length;
  const answer = pollProgress(relay, session);
  answer.catch(() => {});
  await relay.untilParked(before + 1);
  // Over the same connection to the store: answered after the parked poll has asked it everything.
  await pollProgress(relay, 'A'.repeat(24));
  return { answer };
}

describe.each([
  ['one Redis', redis.url],
  ['a Cluster', cluster.url],
])('%s:', (_, url) => {
  test('whichever relay is asked, a poll that wants progress is notified of the opening, once; another stays parked', async () => {
    await using pair = await startRelayPair(url);
    const [one, other] = pair.relays;
    const { session, state } = await start(one);
    const asking = await parkProgress(one, session);
    const plain = await park(one, session);
    expect((await other.ask(`/auth/mal?state=${state}`)).status).toBe(302);
    expect(await (await asking.answer).json()).toEqual({ progress: 'opened' });
    for (const relay of [one, other]) {
      const again = await relay.ask(`/auth/result?session=${session}&progress=1&wait=0`);
      expect(again.status).toBe(204);
    }
    const result = bringCode(other, state, makeCode());
    expect(await (await plain.answer).json()).toHaveProperty('accessToken');
    expect((await result).status).toBe(200);
  });

  test('a poll that comes after the opening is answered at once, at any relay', async () => {
    await using pair = await startRelayPair(url);
    const [one, other] = pair.relays;
    const { session, state } = await start(one);
    await one.ask(`/auth/mal?state=${state}`);
    expect(await (await pollProgress(other, session)).json()).toEqual({ progress: 'opened' });
  });

  test('a cancellation ends polls at every relay, and every relay shows that to the user', async () => {
    await using pair = await startRelayPair(url);
    const [one, other] = pair.relays;
    const { session, state, link } = await startWithCode(one);
    const parked = [await park(one, session), await parkProgress(other, session)];
    for (const relay of [other, one]) {
      expect((await relay.ask(`/auth/result?session=${session}&cancel=1`)).status).toBe(204);
    }
    for (const { answer } of parked) expect((await answer).status).toBe(410);
    for (const relay of pair.relays) {
      expect((await pollOnce(relay, session)).status).toBe(410);
      for (const path of [link, `/auth/mal?state=${state}`]) {
        expect(await textOf(await relay.ask(path))).toContain(CANCELLED);
      }
      const code = makeCode();
      expect(await textOf(await bringCode(relay, state, code))).toContain(CANCELLED);
      expect(pair.provider.requestsFor(code)).toBe(0);
    }
  });
});

test('a cancelled session holds nothing sealed but where its link leads', async () => {
  const { store, close } = await openTestRedis(redis.url, { prefix: 'cancelled:' });
  const session = await register(store, { userCode: createCode(), deviceName: 'TV' });
  await store.lease(session);
  await store.complete(session);
  await store.cancel(session.pollSecret);
  const [key = ''] = await redis.keys('cancelled:session:*');
  const fields = (await redis.cli('HKEYS', key)).split('\n');
  // A field for each instance that waits has nothing but its name.
  const own = fields.filter((field) => !field.startsWith('w:'));
  expect(own.toSorted()).toEqual(['d', 'e', 'n', 's', 't', 'y']);
  close();
});
