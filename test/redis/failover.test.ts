/** A primary is killed or replaced: no tokens are delivered twice, and no poll is forgotten (docs/scaling.md). */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { ACK_MS } from '../kit/limits.ts';
import { startRedisCluster, startRedisSentinel } from '../kit/redis/groups.ts';
import { type RedisServer, startRedis } from '../kit/redis/server.ts';
import { park, type SignedIn, signIn, startRelayPair, tally } from '../kit/relay-pair.ts';
import {
  CLAIMED,
  GONE,
  newSession,
  openTestRedis,
  PENDING,
  registerCompleted,
  tryRegister,
} from '../kit/stores.ts';
import { startWhenPossible } from '../kit/user.ts';
import { pollUntil } from '../kit/wait.ts';

setDefaultTimeout(90_000);

const PATIENT = ['--cluster-node-timeout', '60000'];

/** What fails over by itself, and how a test makes it do so. */
interface Failing extends AsyncDisposable {
  readonly url: string;
  readonly nodes: readonly RedisServer[];
  killPrimary(): Promise<RedisServer>;
  /** As an operator does before an upgrade: nothing is killed. Returns the primary that steps down. */
  replacePrimary(): Promise<RedisServer>;
  waitForPromotion(old: RedisServer): Promise<unknown>;
  stop(): Promise<void>;
}

/** Any key has a master: one of three fails over. */
const KEY = 'any';

async function startFailingCluster(replicas: number, program?: 'valkey-server'): Promise<Failing> {
  const cluster = await startRedisCluster({ replicas, ...(program && { program }) });
  return {
    ...cluster,
    async killPrimary() {
      const killed = await cluster.ownerOf(KEY);
      await killed.kill();
      return killed;
    },
    async replacePrimary() {
      const old = await cluster.ownerOf(KEY);
      await (await replicaOf(old, cluster.nodes)).cli('CLUSTER', 'FAILOVER');
      return old;
    },
    waitForPromotion: (old) => cluster.waitForNewOwner(KEY, old),
  };
}

async function replicaOf(master: RedisServer, nodes: readonly RedisServer[]) {
  const port = /^slave0:.*port=(\d+)/m.exec(await master.cli('INFO', 'replication'))?.[1];
  const replica = nodes.find((node) => node.port === Number(port));
  if (replica === undefined) throw new Error('a primary without a replica');
  return replica;
}

const VALKEY = 'valkey-server';
const startSentinel = (replicas: number) => startRedisSentinel({ replicas, failsOver: true });
const startValkeyCluster = (replicas: number) => startFailingCluster(replicas, VALKEY);
const GROUPS: [string, number[], (replicas: number) => Promise<Failing>][] = [
  ['with Sentinel', [1, 2], startSentinel],
  ['in a Cluster', [1, 2], startFailingCluster],
];
if (Bun.which(VALKEY) !== null) GROUPS.push(['in a Cluster of Valkey', [1], startValkeyCluster]);

describe.each(GROUPS)('%s', (deployment, replicaCounts, startGroup) => {
  const WORKERS = 8;
  const SIGN_INS = 100;

  test.each(replicaCounts)(
    'a primary is killed under load; %d replicas: no tokens are delivered twice, sign-ins go on',
    async (replicas) => {
      await using group = await startGroup(replicas);
      await using pair = await startRelayPair(group.url);
      const { relays, provider } = pair;
      const signIns: SignedIn[] = [];
      const untilThere = (count: number) =>
        pollUntil(`${count} sign-ins are over`, () => signIns.length >= count);
      let isOver = false;
      async function work(): Promise<void> {
        while (!isOver) signIns.push(await signIn(relays));
      }
      const workers = Promise.all(Array.from({ length: WORKERS }, work));
      // Looked at in the end: what fails before it is the cause, and cuts the workers off.
      workers.catch(() => {});
      await untilThere(SIGN_INS);
      const killed = await group.killPrimary();
      await group.waitForPromotion(killed);
      // A relay that has not yet heard of the new primary would take the restarted one for it.
      await Promise.all(relays.map(startWhenPossible));
      await killed.restart();
      await untilThere(signIns.length + SIGN_INS);
      isOver = true;
      await workers;
      const sums = tally(signIns);
      const spentTwice = signIns.filter(({ code }) => provider.requestsFor(code) > 1).length;
      console.log(
        `failover ${deployment}, ${replicas} replicas:`,
        JSON.stringify({ ...sums, spentTwice }),
      );
      expect(sums).toMatchObject({ doubled: 0, wrong: 0 });
    },
  );
});

// No connection fails while no command is in progress, and a completion may have been published meanwhile.
test('an operator replaces the primary of Sentinels: every parked poll is answered', async () => {
  await using group = await startRedisSentinel({ failsOver: true });
  await using pair = await startRelayPair(group.url);
  const { relays } = pair;
  const { session } = await startWhenPossible(relays[0]);
  const parked = await Promise.all(relays.map((relay) => park(relay, session)));
  await group.waitForPromotion(await group.replacePrimary());
  const answers = await Promise.all(parked.map(({ answer }) => answer));
  expect(answers.map(({ status }) => status)).toEqual([204, 204]);
});

/** A failover then would undo a claim. */
describe.each<[string, () => Promise<Pick<Failing, 'url' | 'nodes' | 'stop'>>]>([
  ['with Sentinel', () => startRedisSentinel({ replicas: 1 })],
  // Longer than the tests take, so that no failover begins meanwhile.
  ['in a Cluster', () => startRedisCluster({ replicas: 1, args: PATIENT })],
])('while no replica keeps up, %s', async (_, startGroup) => {
  const group = await startGroup();
  afterAll(() => group.stop());
  const replicas: RedisServer[] = [];
  for (const node of group.nodes) {
    if ((await node.cli('ROLE')).startsWith('slave')) replicas.push(node);
  }
  const freeze = () => Promise.all(replicas.map((replica) => replica.freeze()));
  const thaw = () => {
    for (const replica of replicas) replica.thaw();
  };

  async function openReporting(maxSessions = 5_000) {
    const events: string[] = [];
    const replicated = Promise.withResolvers<void>();
    function onEvent({ type }: { type: string }): void {
      events.push(type);
      if (type === 'store_replicated') replicated.resolve();
    }
    const stores = await openTestRedis(group.url, { maxSessions, onEvent });
    return { ...stores, events, replicated: replicated.promise };
  }

  test('a result is not delivered; its session stays live, and its poll is notified when a replica is back', async () => {
    const { store, events, replicated, close } = await openReporting(1);
    const { pollSecret } = await registerCompleted(store);
    await freeze();
    expect(await store.claim(pollSecret)).toEqual(PENDING);
    expect(events).toEqual(['store_unreplicated']);
    expect(await store.claim(pollSecret)).toEqual(PENDING);
    expect(await tryRegister(store)).toBe('busy');
    const notified = untilPerhaps();
    thaw();
    await replicated;
    await notified;
    expect(await store.claim(pollSecret)).toEqual(CLAIMED);
    expect(await store.claim(pollSecret)).toEqual(GONE);
    expect(events).toEqual(['store_unreplicated', 'store_replicated']);
    close();

    /** Before that it may be notified of the claim that was undone. */
    async function untilPerhaps(): Promise<void> {
      while ((await store.untilNotified(pollSecret)) !== 'perhaps');
    }
  });

  test('of two polls at once neither is refused while the claim of one is undone', async () => {
    const prefix = 'both:';
    const both = [
      await openTestRedis(group.url, { prefix }),
      await openTestRedis(group.url, { prefix }),
    ] as const;
    const { pollSecret } = await registerCompleted(both[0].store);
    await freeze();
    const claims = await Promise.all(both.map(({ store }) => store.claim(pollSecret)));
    expect(claims).toEqual([PENDING, PENDING]);
    thaw();
    for (const { close } of both) close();
  });

  test('a result that its device acknowledges is delivered: once more does no harm', async () => {
    const { store, events, close } = await openReporting();
    const acknowledged = await registerCompleted(store, { repeatMs: ACK_MS });
    const later = await registerCompleted(store, { repeatMs: ACK_MS });
    const { pollSecret } = await registerCompleted(store);
    await freeze();
    expect(await store.claim(acknowledged.pollSecret)).toEqual(CLAIMED);
    expect(await store.claim(pollSecret)).toEqual(PENDING);
    expect(events).toEqual(['store_unreplicated']);
    expect(await store.claim(later.pollSecret)).toEqual(CLAIMED);
    expect(await store.claim(acknowledged.pollSecret)).toEqual(CLAIMED);
    expect(await store.acknowledge(acknowledged.pollSecret)).toBe('acknowledged');
    thaw();
    close();
  });
});

test('a replica that a master of a Cluster has, and the other nodes do not know of, counts', async () => {
  await using cluster = await startRedisCluster();
  const replicas = await Promise.all(cluster.nodes.map(() => startRedis()));
  await using stack = new AsyncDisposableStack();
  for (const replica of replicas) stack.use(replica);
  for (const [index, { port }] of cluster.nodes.entries()) {
    const replica = replicas[index];
    await replica?.cli('REPLICAOF', '127.0.0.1', port);
    await pollUntil('it has its master', async () =>
      (await replica?.cli('ROLE'))?.includes('connected'),
    );
  }
  const { store, close } = await openTestRedis(cluster.url);
  const { pollSecret } = await registerCompleted(store);
  for (const replica of replicas) await replica.freeze();
  expect(await store.claim(pollSecret)).toEqual(PENDING);
  close();
});

describe('polls that wait', () => {
  const PARKED = 3_000;
  const PARKED_AT_ONCE = 50;
  const COMPLETED_AT_ONCE = 2;

  test('an operator has a replica take over the slots of a master while completions are published: no poll is forgotten', async () => {
    await using group = await startFailingCluster(1);
    const options = { prefix: 'moved:', maxSessions: 2 * PARKED };
    const device = await openTestRedis(group.url, options);
    const browser = await openTestRedis(group.url, options);
    const waiting: string[] = [];
    const notified: Promise<unknown>[] = [];
    async function parkMany(): Promise<void> {
      while (notified.length < PARKED) {
        const session = newSession();
        notified.push(device.store.untilNotified(session.pollSecret));
        await device.store.register(session);
        expect(await device.store.claim(session.pollSecret)).toEqual(PENDING);
        await browser.store.lease(session);
        waiting.push(session.browserState);
      }
    }
    async function completeMany(): Promise<void> {
      for (let state = waiting.pop(); state !== undefined; state = waiting.pop()) {
        expect(await browser.store.complete({ browserState: state })).toBe(true);
      }
    }
    await Promise.all(Array.from({ length: PARKED_AT_ONCE }, parkMany));
    const completed = Promise.all(Array.from({ length: COMPLETED_AT_ONCE }, completeMany));
    await group.waitForPromotion(await group.replacePrimary());
    const left = waiting.length;
    await completed;
    // Some before the move, some after; so some during it.
    console.log(`${PARKED - left} of ${PARKED} were completed while the slots moved`);
    expect(left).toBeWithin(1, PARKED);
    await Promise.all(notified);
    device.close();
    browser.close();
  });
});
