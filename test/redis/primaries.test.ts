/**
 * A primary stops answering, or answers again and is not what it was: which server the
 * relay uses then, and whose answers it takes (docs/scaling.md "When a primary fails").
 */
import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { poll, pollOnce, pollUntilDone, type Started, type Target } from '../kit/device.ts';
import { tokensFor } from '../kit/provider.ts';
import {
  GROUPS_THAT_STAY,
  HASH_TAG,
  startFailingCluster,
  startFailingSentinel,
} from '../kit/redis/failing.ts';
import { type Failing, startRedisSentinel } from '../kit/redis/groups.ts';
import { type RedisServer, untilFrozen } from '../kit/redis/server.ts';
import { startRelayPair } from '../kit/relay-pair.ts';
import { bringCode, bringCodeWhenPossible, makeCode, startWhenPossible } from '../kit/user.ts';
import { pollUntil } from '../kit/wait.ts';

setDefaultTimeout(90_000);

type StartGroup = () => Promise<Failing>;
const GROUPS: [string, StartGroup][] = [
  ['with Sentinel', () => startFailingSentinel(1)],
  ['in a Cluster', () => startFailingCluster(1)],
];
const MANY = 24;

const startMany = (relay: Target) =>
  Promise.all(Array.from({ length: MANY }, () => startWhenPossible(relay)));

/** What no replica has yet would be lost. */
async function startReplicated(relay: Target, { nodes }: Failing): Promise<Started[]> {
  const started = await startMany(relay);
  const count = async (server: RedisServer) => (await server.keys('*:session:*')).length;
  const all = nodes.filter((node) => node.isAnswering());
  await pollUntil('the replicas have the sessions', async () => {
    const primaries = await Promise.all(all.map(isReplica));
    const counts = await Promise.all(all.map(count));
    const sum = (ofReplicas: boolean) =>
      counts.reduce(
        (total, each, index) => total + (primaries[index] === ofReplicas ? each : 0),
        0,
      );
    return sum(true) === sum(false);
  });
  return started;
}

/** The user comes back; a sign-in that the page says has succeeded must have its tokens at the device. */
async function finish(relay: Target, { session, state }: Started): Promise<void> {
  const code = makeCode();
  expect(await bringCodeWhenPossible([relay], state, code)).toBe(200);
  expect(await pollUntilDone([relay], session)).toEqual(tokensFor(code));
}

const finishAll = (relay: Target, sessions: readonly Started[]) =>
  Promise.all(sessions.map((session) => finish(relay, session)));

const signInMany = async (relay: Target) => finishAll(relay, await startMany(relay));

/** The primary, and the Sentinel on the same machine. */
async function machineOf(group: Failing) {
  const primary = await group.primary();
  return { primary, servers: [primary, ...group.sentinels.slice(0, 1)] };
}

/** How a machine fails, and how it comes back. */
const FAILURES = [
  {
    how: 'frozen',
    fail: (server: RedisServer) => server.freeze(),
    end: async (server: RedisServer) => server.thaw(),
  },
  {
    how: 'killed',
    fail: (server: RedisServer) => server.kill(),
    end: (server: RedisServer) => server.restart(),
  },
];

/** Sentinels close all connections of a server that they make a replica, that of redis-cli too. */
const isReplica = async (server: RedisServer) =>
  (await server.cli('ROLE').catch(() => 'not yet')).startsWith('slave');

describe.each(GROUPS)('%s', (deployment, startGroup) => {
  test('a primary is frozen, and then its successor killed: the replica is used at once, and the old one is ignored when it is back', async () => {
    await using group = await startGroup();
    await using pair = await startRelayPair(group.url);
    const [relay] = pair.relays;
    for (const { how, fail, end } of FAILURES) {
      const live = await startReplicated(relay, group);
      const { primary: old, servers } = await machineOf(group);
      await Promise.all(servers.map(fail));
      await group.waitForPromotion(old);
      const promotedAtMs = performance.now();
      await signInMany(relay);
      const usedMs = Math.round(performance.now() - promotedAtMs);
      console.log(`${how}, ${deployment}: ${MANY} sign-ins within ${usedMs} ms of the promotion`);
      expect(old.isAnswering()).toBe(false);
      await finishAll(relay, live);
      await Promise.all(servers.map(end));
      // Until it is told otherwise, it acts as the primary.
      do await signInMany(relay);
      while (!(await isReplica(old)));
      await pollUntil('it has the data of its successor', async () =>
        (await old.cli('INFO', 'replication')).includes('master_link_status:up'),
      );
    }
  });
});

describe.each(GROUPS)('%s', (deployment, startGroup) => {
  test('a primary is killed, and is back and empty while the others replace it: no live session gets a 410', async () => {
    await using group = await startGroup();
    await using pair = await startRelayPair(group.url, { env: { POLL_SECONDS: '1' } });
    const [relay] = pair.relays;
    const live = await startReplicated(relay, group);
    // A replica that finds its primary back before it is promoted would empty itself too.
    for (const node of group.nodes) await node.cli('CONFIG', 'SET', 'masterauth', 'refused');
    const old = await group.killPrimary();
    let isOver = false;
    const statuses = new Set<number>();
    async function keepPolling({ session }: Started): Promise<void> {
      while (!isOver) statuses.add((await poll(relay, session)).status);
    }
    const polls = Promise.all(live.map(keepPolling));
    await pollUntil('the others take it to be down', () => isTakenToBeDown(group, old));
    await old.restart();
    await group.waitForPromotion(old);
    await signInMany(relay);
    isOver = true;
    await polls;
    expect([...statuses]).toEqual([204]);
    await finishAll(relay, live);
    console.log(`${deployment}: ${MANY} sessions outlived a primary that came back empty`);
  });

  test('a relay was stopped while a frozen primary was replaced: the old one is ignored', async () => {
    await using group = await startGroup();
    await using pair = await startRelayPair(group.url);
    const [stopped, other] = pair.relays;
    const live = await startReplicated(stopped, group);
    process.kill(stopped.pid, 'SIGSTOP');
    await untilFrozen(stopped.pid);
    const { primary: old, servers } = await machineOf(group);
    await Promise.all(servers.map((server) => server.freeze()));
    await group.waitForPromotion(old);
    const later = await startMany(other);
    for (const server of servers) server.thaw();
    process.kill(stopped.pid, 'SIGCONT');
    await finishAll(stopped, [...live, ...later]);
    await signInMany(stopped);
  });
});

/** As the Sentinels say, or the other nodes. */
async function isTakenToBeDown(group: Failing, old: RedisServer): Promise<boolean> {
  const asked = [...group.sentinels, ...group.nodes.filter((node) => node !== old)];
  const question = group.sentinels.length > 0 ? ['SENTINEL', 'MASTERS'] : ['CLUSTER', 'NODES'];
  const answers = await Promise.all(asked.map((server) => server.cli(...question).catch(() => '')));
  const down = new RegExp(`s_down|:${old.port}@\\d+\\S* \\S*fail(?!\\?)`);
  return answers.some((answer) => down.test(answer));
}

describe.concurrent.each(GROUPS_THAT_STAY)('%s', (_, startGroup) => {
  test('a primary is frozen and wakes as such: the log reports it, its sessions continue', async () => {
    await using group = await startGroup();
    await using pair = await startRelayPair(group.url);
    const [relay] = pair.relays;
    const live = await startMany(relay);
    const primary = (await group.ownerOf?.(HASH_TAG)) ?? group.nodes[0];
    if (primary === undefined) throw new Error('no primary');
    await primary.freeze();
    const lost = await relay.waitForEvent('store_primary_lost');
    expect(lost).toMatchObject({ level: 'warning', primary: `127.0.0.1:${primary.port}` });
    const codes = live.map(({ state }) => ({ state, code: makeCode() }));
    const answers = await Promise.all(
      codes.map(async ({ state, code }) => (await bringCode(relay, state, code)).status),
    );
    expect(new Set(answers)).toEqual(new Set([503]));
    primary.thaw();
    await relay.waitForEvent('store_primary_back');
    await finishAll(
      relay,
      live.filter((_, index) => answers[index] === 503),
    );
    await signInMany(relay);
    expect(relay.events('store_primary_lost')).toHaveLength(1);
    expect(relay.events('store_primary_back')).toHaveLength(1);
  });
});

test.concurrent('all Sentinels are frozen: sign-ins continue; an unconfirmed primary is used after a while, and the log reports it', async () => {
  await using group = await startRedisSentinel();
  await using pair = await startRelayPair(group.url);
  const [relay] = pair.relays;
  const [primary] = group.nodes;
  const live = await startMany(relay);
  await Promise.all(group.sentinels.map((sentinel) => sentinel.freeze()));
  await signInMany(relay);
  await primary?.freeze();
  await relay.waitForEvent('store_primary_lost');
  primary?.thaw();
  expect((await pollOnce(relay, live[0]?.session ?? '')).status).toBe(204);
  await relay.waitForEvent('store_primary_unconfirmed');
  await finishAll(relay, live);
  await relay.waitForEvent('store_primary_back');
  expect(relay.events('store_primary_unconfirmed')).toHaveLength(1);
});
