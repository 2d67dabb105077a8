/** What is done to relays, Redis and the network meanwhile: each fault begins, lasts, and is over before the next of its kind. */
import type { FaultProxy } from '../kit/fault-proxy.ts';
import {
  isServing,
  type RedisGroup,
  replicaOf,
  startRedisAlone,
  startRedisCluster,
  startRedisSentinel,
} from '../kit/redis/groups.ts';
import type { RedisServer } from '../kit/redis/server.ts';
import { pollUntil } from '../kit/wait.ts';
import { KILL, STOP } from './check.ts';
import { type History, nowMs } from './history.ts';
import { RELAYS, type Relays } from './relays.ts';

/** What faults are done to. `store` is where a primary and its replicas are. */
interface Parts {
  readonly relays: Relays;
  readonly store: RedisGroup;
  readonly front: Pick<FaultProxy, 'cutAll'>;
  readonly history: History;
  readonly random: () => number;
}

interface Fault {
  readonly name: string;
  run(parts: Parts, relay: number): Promise<void>;
}

const MAX_STOP_MS = 8_000;
const MAX_PAUSE_MS = 1_200;
const MAX_REFUSAL_MS = 2_500;
/** A server that is silent for less than this is not replaced. */
const SHORT_FREEZE_MS = 700;
const FAILOVER_TIMEOUT_MS = 20_000;

const between = (random: () => number, least: number, most: number) =>
  Bun.sleep(least + random() * (most - least));

const RELAY_FAULTS: readonly Fault[] = [
  {
    name: KILL,
    async run({ relays, random }, nth) {
      await relays.end(nth, 'SIGKILL');
      await between(random, 0, 2_000);
      await relays.restart(nth);
    },
  },
  {
    name: STOP,
    async run({ relays, random }, nth) {
      await relays.suspend(nth);
      // More often for a moment than for long.
      await between(random, 100, random() < 0.5 ? MAX_STOP_MS / 4 : MAX_STOP_MS);
      relays.resume(nth);
    },
  },
  {
    name: 'relay updated (SIGTERM)',
    async run({ relays }, nth) {
      await relays.end(nth, 'SIGTERM');
      await relays.restart(nth);
    },
  },
];

const NETWORK_FAULTS: readonly Fault[] = [
  {
    name: 'all connections to the relays cut',
    run: async ({ front }) => front.cutAll(),
  },
];

/** On all that hold data, since any of them may be a primary. */
const onAll = (store: RedisGroup, ...command: (string | number)[]) =>
  Promise.all(store.nodes.map((node) => node.cli(...command)));

function refusing(name: string, setting: string, value: number): Fault {
  return {
    name,
    async run({ store, random }) {
      try {
        await onAll(store, 'CONFIG', 'SET', setting, value);
        await between(random, 200, MAX_REFUSAL_MS);
      } finally {
        await onAll(store, 'CONFIG', 'SET', setting, 0);
      }
    },
  };
}

/** Ends or freezes the primary until another one has taken over. */
function failing(
  name: string,
  fail: (primary: RedisServer) => Promise<void>,
  recover: (primary: RedisServer) => Promise<void> | void,
): Fault {
  return {
    name,
    async run({ store }) {
      const primary = await store.primary();
      await fail(primary);
      try {
        await store.waitForPromotion(primary);
      } finally {
        await recover(primary);
      }
      await untilReplicated(store);
    },
  };
}

const STORE_FAULTS: readonly Fault[] = [
  failing(
    'primary killed, a replica takes over',
    (primary) => primary.kill(),
    (primary) => primary.restart(),
  ),
  failing(
    'primary frozen, a replica takes over',
    (primary) => primary.freeze(),
    (primary) => primary.thaw(),
  ),
  {
    name: 'primary replaced by an operator',
    async run({ store }) {
      await store.waitForPromotion(await store.replacePrimary());
      await untilReplicated(store);
    },
  },
  {
    name: 'primary frozen for a moment',
    async run({ store, random }) {
      const primary = await store.primary();
      await primary.freeze();
      await between(random, 50, SHORT_FREEZE_MS);
      primary.thaw();
    },
  },
  {
    name: 'replica killed',
    async run({ store, random }) {
      const replica = await replicaOf(await store.primary(), store);
      await replica.kill();
      await between(random, 100, 2_000);
      await replica.restart();
      await untilReplicated(store);
    },
  },
  {
    name: 'connections to Redis cut (CLIENT KILL)',
    async run({ store, random }) {
      for (let times = 0; times < 5; times += 1) {
        await onAll(store, 'CLIENT', 'KILL', 'TYPE', random() < 0.5 ? 'normal' : 'pubsub');
        await between(random, 20, 300);
      }
    },
  },
  {
    name: 'Redis paused (CLIENT PAUSE)',
    async run({ store, random }) {
      const primary = await store.primary();
      const ms = Math.round(100 + random() * (MAX_PAUSE_MS - 100));
      await primary.cli('CLIENT', 'PAUSE', ms, random() < 0.5 ? 'WRITE' : 'ALL');
      await Bun.sleep(ms);
    },
  },
  refusing('Redis full (maxmemory)', 'maxmemory', 1),
  refusing('Redis read-only (min-replicas-to-write)', 'min-replicas-to-write', 9),
];

/** Every server is a primary or has a link to one, so that the next failover loses little. */
async function untilReplicated({ nodes, sentinels }: RedisGroup): Promise<void> {
  const primaries = sentinels.length > 0 ? 1 : Math.ceil(nodes.length / 2);
  const isPrimary = async (node: RedisServer) => (await node.cli('ROLE')).startsWith('master');
  const count = async (is: (node: RedisServer) => Promise<boolean>) =>
    (await Promise.all(nodes.map((node) => is(node).catch(() => false)))).filter(Boolean).length;
  await pollUntil(
    'every replica has its primary',
    async () => (await count(isServing)) === nodes.length && (await count(isPrimary)) === primaries,
    FAILOVER_TIMEOUT_MS,
  );
}

export type Topology = readonly [name: string, start: () => Promise<RedisGroup>];

export const TOPOLOGIES: readonly Topology[] = [
  ['one Redis', startRedisAlone],
  [
    'Redis with two replicas under Sentinel',
    () => startRedisSentinel({ replicas: 2, failsOver: true }),
  ],
  ['a Redis Cluster with replicas', () => startRedisCluster({ replicas: 1 })],
];

/** Between two faults of one kind. Sign-ins that no failover touches are most of them. */
const REST_MS = { relay: 1_500, network: 10_000, store: 5_000 };

/**
 * Runs faults until `isOver`, every one at least once, in an order that the seed decides.
 * One relay at a time, so that there is always one to come to, and one server of Redis.
 */
export async function runFaults(parts: Parts, isOver: () => boolean) {
  const lanes = [
    [RELAY_FAULTS, REST_MS.relay],
    [NETWORK_FAULTS, REST_MS.network],
    [STORE_FAULTS, REST_MS.store],
  ] as const;
  await Promise.all(
    lanes.map(async ([faults, restMs]) => {
      for (let round = 0; round === 0 || !isOver(); round += 1) {
        for (const fault of shuffled(faults, parts.random)) {
          if (round > 0 && isOver()) return;
          await between(parts.random, restMs / 2, restMs * 1.5);
          await runOne(fault, parts);
        }
      }
    }),
  );
}

async function runOne(fault: Fault, parts: Parts): Promise<void> {
  const relay = Math.floor(parts.random() * RELAYS);
  const fromMs = nowMs();
  const failed = await fault.run(parts, relay).then(
    () => undefined,
    // A fault that could not be caused fails no test. The report shows one that never could.
    (error: unknown) => String(error).split('\n')[0],
  );
  parts.history.push({
    type: 'fault',
    name: fault.name,
    fromMs,
    toMs: nowMs(),
    ...(RELAY_FAULTS.includes(fault) && { relay }),
    ...(failed !== undefined && { failed }),
  });
}

function shuffled<Item>(items: readonly Item[], random: () => number): Item[] {
  return items
    .map((item) => ({ item, at: random() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ item }) => item);
}
