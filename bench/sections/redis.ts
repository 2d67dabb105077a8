/** What sessions in Redis cost: the figures of docs/performance.md "Over Redis". */

import { startRedisCluster } from '../../test/kit/redis/groups.ts';
import { type RedisServer, startRedis } from '../../test/kit/redis/server.ts';
import { record } from '../figures.ts';
import { completeWithoutPolls, hold, park, requests, type Session, signIns } from '../load.ts';
import {
  type Bench,
  inTurns,
  measureCpu,
  start,
  startWarm,
  sum,
  type Target,
} from '../processes.ts';

const COLUMN = 'Redis, one relay';

export async function measureRedis(bench: Bench): Promise<void> {
  if (bench.redis === undefined) return;
  const [memory, shared] = [await startWarm(bench, 'memory'), await startWarm(bench, COLUMN)];
  await measureConcurrency(bench, bench.redis, memory, shared);
  await measureTraffic(bench.redis, shared);
  await measurePolls(bench, bench.redis, shared);
  await Promise.all([memory.stop(), shared.stop()]);
  await measureSessions(bench);
  await measureCluster(bench);
}

async function measureConcurrency(
  { plan }: Bench,
  redis: RedisServer,
  memory: Target,
  shared: Target,
) {
  const count = plan.signInsPerRound;
  for (const atOnce of [1, 8, 32, 100]) {
    const add = (column: string, value: number) =>
      record('Redis, by sign-ins at once', column, `${atOnce} at once`, value);
    const measure = async ({ ports, pids }: Target) => {
      const work = () => signIns(ports, { count, atOnce });
      const { cpu } = await measureCpu([...pids, redis.pid], count, work);
      if (pids === shared.pids) add('CPU of Redis, µs', cpu[1] ?? 0);
      return cpu[0] ?? 0;
    };
    const works = [() => measure(memory), () => measure(shared)];
    await inTurns(plan.rounds, works, (memoryCpu = 0, sharedCpu = 0) => {
      add('memory, µs', memoryCpu);
      add('Redis, µs', sharedCpu);
      add('ratio', sharedCpu / memoryCpu);
    });
  }
}

const TRAFFIC = {
  commands: /cmdstat_evalsha:calls=(\d+)/,
  'bytes to Redis': /total_net_input_bytes:(\d+)/,
  'bytes from Redis': /total_net_output_bytes:(\d+)/,
};

/** One sign-in after the other, so that no two commands share a round trip. */
async function measureTraffic({ cli }: RedisServer, { ports }: Target): Promise<void> {
  const count = 500;
  const before = `${await cli('INFO', 'stats')} ${await cli('INFO', 'commandstats')}`;
  await signIns(ports, { count, atOnce: 1 });
  const after = `${await cli('INFO', 'stats')} ${await cli('INFO', 'commandstats')}`;
  for (const [row, pattern] of Object.entries(TRAFFIC)) {
    const [from, to] = [before, after].map((info) => Number(pattern.exec(info)?.[1]));
    record('Redis, traffic of a sign-in', COLUMN, row, ((to ?? 0) - (from ?? 0)) / count);
  }
}

/** A device that polls again while its user signs in: looked up once, at the end of its hold. */
async function measurePolls({ plan }: Bench, redis: RedisServer, { ports, pids }: Target) {
  const [session] = await hold(ports, 1);
  const amount = { count: plan.requestsPerRound, atOnce: plan.atOnce };
  const poll = { path: `/auth/result?session=${session?.pollSecret}&wait=0` };
  for (let round = 0; round < plan.rounds; round += 1) {
    const work = () => requests(ports.device, poll, amount);
    const { cpu } = await measureCpu([...pids, redis.pid], amount.count, work);
    record('Redis, a poll that finds nothing yet', COLUMN, 'CPU of the relay, µs', cpu[0] ?? 0);
    record('Redis, a poll that finds nothing yet', COLUMN, 'CPU of Redis, µs', cpu[1] ?? 0);
  }
}

const WITH_CODE = JSON.stringify({ service: 'mal', code: true, device: 'Living room' });

/** Redis's memory for a session. */
async function measureSessions(bench: Bench): Promise<void> {
  const redis = await startRedis();
  const { ports, stop } = await start({ ...bench, redis }, COLUMN);
  const count = bench.plan.parkedPolls;
  const usedBytes = async () =>
    Number(/used_memory:(\d+)/.exec(await redis.cli('INFO', 'memory'))?.[1]);
  async function measure(row: string, body?: string, then?: (held: Session[]) => Promise<unknown>) {
    const before = await usedBytes();
    await then?.(await hold(ports, count, body));
    const kilobytes = ((await usedBytes()) - before) / count / 1_000;
    record('Redis, memory of a live session', COLUMN, `${row}, KB`, kilobytes);
  }
  await measure('waiting', undefined, (held) => park(ports, held));
  await measure('waiting, with a user code and a device name', WITH_CODE, async () => {});
  await measure('completed, not delivered', undefined, (held) => completeWithoutPolls(ports, held));
  await Promise.all([stop(), redis.stop()]);
}

async function measureCluster(bench: Bench): Promise<void> {
  const { nodes, url } = await startRedisCluster();
  const column = 'Redis, two relays';
  const target = await startWarm(bench, column, { REDIS_URL: url });
  const pids = nodes.map(({ pid }) => pid);
  const count = bench.plan.signInsPerRound;
  for (let round = 0; round < bench.plan.rounds; round += 1) {
    const work = () => signIns(target.ports, { count, atOnce: 100 });
    const { cpu } = await measureCpu(pids, count, work);
    const row = 'CPU of each node, µs';
    record('Redis, a Cluster of three', column, row, sum(cpu) / nodes.length);
  }
  await Promise.all([target.stop(), ...nodes.map((node) => node.stop())]);
}
