/**
 * Redis is down for a while. Each test waits long, so those of one deployment run at the same
 * time. Connections that are cut: repeated-commands.test.ts.
 */
import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { acknowledge, poll, pollUntilDone, start, startRequest } from '../kit/device.ts';
import { tokensFor } from '../kit/provider.ts';
import {
  isServing,
  type RedisGroup,
  startRedisAlone,
  startRedisCluster,
  startRedisSentinel,
} from '../kit/redis/groups.ts';
import type { RedisServer } from '../kit/redis/server.ts';
import type { RelayProcess } from '../kit/relay.ts';
import { LONG_POLL_SECONDS, park, type RelayPair, startRelayPair } from '../kit/relay-pair.ts';
import {
  bringCode,
  bringCodeWhenPossible,
  deny,
  makeCode,
  startWhenPossible,
} from '../kit/user.ts';
import { pollUntil } from '../kit/wait.ts';

const OUTAGE_MS = 10_000;

setDefaultTimeout(OUTAGE_MS + 90_000);

/** On a busy machine a start or a callback may get a 503, and is repeated, as by any device or user. */
async function complete(relay: RelayProcess) {
  const { session, state } = await startWhenPossible(relay);
  const code = makeCode();
  expect(await bringCodeWhenPossible(relay, state, code)).toBe(200);
  return { session, code };
}

/** Longer than the outage: after it the same servers have the same roles. */
const NO_FAILOVER = ['--cluster-node-timeout', '60000'];

const DEPLOYMENTS: readonly (readonly [string, () => Promise<RedisGroup>])[] = [
  ['one server', startRedisAlone],
  ['Sentinel', startRedisSentinel],
  ['a Cluster', () => startRedisCluster({ replicas: 1, args: NO_FAILOVER })],
];

const toAll = ({ nodes, sentinels }: RedisGroup, act: (server: RedisServer) => unknown) =>
  Promise.all([...nodes, ...sentinels].map(act));

describe.concurrent.each(DEPLOYMENTS)('%s, down for a while:', (_, startDeployment) => {
  /** One relay holds its polls beyond the outage, those of the other end and begin meanwhile. */
  const startPair = (redis: RedisGroup) =>
    startRelayPair(redis.url, { POLL_SECONDS: '2' }, { POLL_SECONDS: LONG_POLL_SECONDS });

  async function expectBusy(relay: RelayProcess): Promise<void> {
    const answer = await relay.ask('/auth/start', startRequest());
    expect([answer.status, await answer.text()]).toEqual([503, 'Server busy\n']);
  }

  /** A poll at either relay is notified of a completion at the other. */
  async function expectAllWorks(relays: RelayPair['relays']): Promise<void> {
    await Promise.all(relays.map(startWhenPossible));
    for (const [waiting, finishing] of [relays, relays.toReversed()]) {
      if (waiting === undefined || finishing === undefined) throw new Error('two relays');
      const { session, state } = await startWhenPossible(finishing);
      const parked = await park(waiting, session);
      const code = makeCode();
      expect(await bringCodeWhenPossible(finishing, state, code)).toBe(200);
      const first = await parked.answer;
      const result =
        first.status === 204 ? await pollUntilDone([waiting], session) : await first.json();
      expect(result).toEqual(tokensFor(code));
    }
  }

  test('killed: polls are 204, starts 503, no code is spent; empty it works again', async () => {
    await using redis = await startDeployment();
    await using pair = await startPair(redis);
    const { relays, provider } = pair;
    const [a, b] = relays;
    const [parkedSession, calledBack] = [await start(a), await start(b)];
    const parked = [await park(a, parkedSession.session), await park(b, parkedSession.session)];
    await toAll(redis, (server) => server.kill());
    const over = Bun.sleep(OUTAGE_MS);
    const code = makeCode();
    for (const relay of relays) {
      await expectBusy(relay);
      expect((await bringCode(relay, calledBack.state, code)).status).toBe(503);
    }
    expect((await poll(b, calledBack.session)).status).toBe(204);
    await over;
    await toAll(redis, (server) => server.restart());
    await pollUntil('all of Redis serves', async () =>
      (await Promise.all(redis.nodes.map(isServing))).every(Boolean),
    );
    // The session is lost with Redis: this poll or the next one learns it.
    for (const { answer } of parked) expect((await answer).status).toBeOneOf([204, 410]);
    // Its code is not brought to the provider.
    expect(await bringCodeWhenPossible(a, calledBack.state, code)).toBe(404);
    expect(provider.requestsFor(code)).toBe(0);
    await expectAllWorks(relays);
  });

  test('frozen: polls are 204, starts 503, no code is spent; sessions survive', async () => {
    await using redis = await startDeployment();
    await using pair = await startPair(redis);
    const { relays, provider } = pair;
    const [a, b] = relays;
    const [parkedSession, calledBack, exchanging] = [
      await start(a),
      await start(b),
      await start(b),
    ];
    const [early, late] = [makeCode(), makeCode()];
    const completed = await complete(a);
    const parked = [await park(a, parkedSession.session), await park(b, parkedSession.session)];
    const exchangingPoll = await park(b, exchanging.session);
    const held = provider.gate.close();
    const page = bringCode(a, exchanging.state, late);
    await held.arrived;

    await toAll(redis, (server) => server.freeze());
    const over = Bun.sleep(OUTAGE_MS);
    held.release();
    const starts = relays.map(expectBusy);
    const callbacks = relays.map((relay) => bringCode(relay, calledBack.state, early));
    const claims = relays.map((relay) => pollUntilDone([relay], completed.session));
    const acknowledged = acknowledge(b, calledBack.session);
    await Promise.all(starts);
    for (const answer of callbacks) expect((await answer).status).toBe(503);
    expect((await acknowledged).status).toBe(503);
    const device = pollUntilDone([b], exchanging.session);
    await over;
    await toAll(redis, (server) => server.thaw());

    expect((await parked[1]?.answer)?.status).toBe(204);
    expect((await page).status).toBe(200);
    expect((await exchangingPoll.answer).status).toBe(204);
    expect(await device).toEqual(tokensFor(late));
    expect(await Promise.all(claims)).toContainEqual(tokensFor(completed.code));
    expect(provider.requestsFor(early)).toBe(0);
    expect(await bringCodeWhenPossible(b, calledBack.state, early)).toBe(200);
    expect(await pollUntilDone(relays, calledBack.session)).toEqual(tokensFor(early));
    // The poll that has waited all the time is notified.
    await deny(b, parkedSession.state);
    expect((await parked[0]?.answer)?.status).toBe(200);
    await expectAllWorks(relays);
  });
});
