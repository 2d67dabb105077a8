/** What a sign-in costs the relay, and how fast its tokens are delivered. */
import { buildForNode, RUNTIMES } from '../../test/kit/relay.ts';
import { findFigure, median, record } from '../figures.ts';
import { signIns } from '../load.ts';
import {
  type Bench,
  inTurns,
  measureCpu,
  relayColumns,
  residentMegabytes,
  startWarm,
  sum,
  type Target,
} from '../processes.ts';

const PER_SECOND = 'sign-ins a second';

/** A relay with each store, in turns. */
export async function measureCost(bench: Bench): Promise<void> {
  const { plan } = bench;
  const relays: Target[] = [];
  for (const column of relayColumns(bench)) relays.push(await startWarm(bench, column));
  const works = relays.map((target) => () => recordSignIns(bench, target));
  await inTurns(plan.rounds, works, (memory = 0, ...others) => {
    others.forEach((cpu, index) => {
      const column = relays[index + 1]?.column ?? '';
      record('A sign-in', column, 'times memory', cpu / memory);
    });
  });
  for (let round = 0; round < plan.rounds; round += 1) {
    for (const target of relays) await recordDelivery(bench, target);
  }
  await Promise.all(relays.map((target) => target.stop()));
}

async function recordSignIns(bench: Bench, target: Target): Promise<number> {
  const { redis } = bench;
  const { column, ports } = target;
  const pids = target.relays.map(({ pid }) => pid);
  const add = (row: string, value: number) => record('A sign-in', column, row, value);
  const all = redis === undefined ? pids : [...pids, redis.pid];
  const { cpu, perSecond } = await measureCpu(bench, ports, all);
  const relayCpu = sum(cpu.slice(0, pids.length));
  add('CPU of the relay, µs', relayCpu);
  if (column.startsWith('Redis')) add('CPU of Redis, µs', cpu.at(-1) ?? 0);
  add(PER_SECOND, perSecond);
  return relayCpu;
}

/** At half the rate that the target can carry. The delays of the load generator are included. */
async function recordDelivery({ plan }: Bench, { column, ports }: Target): Promise<void> {
  const add = (row: string, value: number) => record('A sign-in', column, row, value);
  const highest = median(findFigure('A sign-in', column, PER_SECOND)?.samples ?? []);
  const amount = { perSecond: highest / 2, seconds: plan.secondsPerRound };
  const { deliveriesMs, failed } = await signIns(ports, amount, plan.userMs);
  add('delivery at half that rate, p50, ms', median(deliveriesMs));
  if (failed > 0) add('sign-ins that failed', failed);
}

const ON_NODE = 'On Node';

/** The build for Node, and the sources on Bun. */
export async function measureNode(bench: Bench): Promise<void> {
  await buildForNode();
  const [[, bun], [, node]] = RUNTIMES;
  const onBun = await startWarm(bench, 'memory', bun);
  const onNode = await startWarm(bench, 'memory', node);
  const add = (row: string, value: number) => record(ON_NODE, 'memory', row, value);
  const works = [onBun, onNode].map(({ ports, relays }) => async () => {
    const pids = relays.map(({ pid }) => pid);
    return sum((await measureCpu(bench, ports, pids)).cpu);
  });
  await inTurns(bench.plan.rounds, works, (bun = 0, node = 0) => {
    add('CPU of a sign-in on Bun, µs', bun);
    add('CPU of a sign-in on Node, µs', node);
    add('Node, times Bun', node / bun);
  });
  add('resident after these on Bun, MB', residentMegabytes(onBun.relays));
  add('resident after these on Node, MB', residentMegabytes(onNode.relays));
  await Promise.all([onBun, onNode].map((target) => target.stop()));
}
