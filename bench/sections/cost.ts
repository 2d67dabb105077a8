/** What a sign-in costs, beside the floor, and how fast it is handed over. */
import type { Bench, Section } from '../bench.ts';
import { cpuOfEach, measureCpu } from '../support/accounting.ts';
import { type Arrangement, arrangeBare, arrangements } from '../support/arrangements.ts';
import { startFloor } from '../support/floor.ts';
import { median } from '../support/median.ts';

/** Start, authorize, poll, callback, and the exchange, in which the relay is the client. */
const EXCHANGES_OF_A_SIGN_IN = 5;

export const measureCost: Section = async (bench) => {
  const { generator, plan } = bench;
  const floor = await startFloor();
  const all = [() => arrangeBare(bench), ...arrangements(bench)];
  const arranged = await Promise.all(all.map((arrange) => arrange()));
  try {
    for (const { relays } of arranged) {
      await generator.call('signIns', { relays, count: plan.warmUpSignIns, atOnce: plan.atOnce });
    }
    await measureFloor(bench, floor);
    for (let round = 0; round < plan.rounds; round += 1) {
      const floorCpu = await measureFloor(bench, floor);
      for (const arrangement of arranged) await measureRound(bench, arrangement, floorCpu);
    }
    for (let round = 0; round < plan.rounds; round += 1) {
      for (const arrangement of arranged) await measureHandOver(bench, arrangement);
    }
  } finally {
    await Promise.all([floor, ...arranged].map((each) => each.stop()));
  }
};

const SECTION = 'A sign-in';

/** Microseconds of five exchanges. */
async function measureFloor(
  { generator, plan }: Bench,
  { pid, port }: { pid: number; port: number },
): Promise<number> {
  const count = plan.signInsARound * EXCHANGES_OF_A_SIGN_IN;
  const exchange = () => generator.call('exchange', { port, count, atOnce: plan.atOnce * 2 });
  const { each } = await cpuOfEach([pid], count, exchange);
  return each * EXCHANGES_OF_A_SIGN_IN;
}

async function measureRound(bench: Bench, arrangement: Arrangement, floorCpu: number) {
  const { generator, redis, plan, figures } = bench;
  const { column, relays, pids } = arrangement;
  const { signInsARound: count, atOnce } = plan;
  const add = (name: string, unit: string, value: number) =>
    figures.add({ section: SECTION, name, column, unit }, value);
  const signIns = () => generator.call('signIns', { relays, count, atOnce });
  const beside = [generator.pid, ...(redis === undefined ? [] : [redis.pid])];
  const measured = () => measureCpu(beside, count, signIns);
  const { each, result } = await cpuOfEach(pids, count, measured);
  const [generatorCpu = 0, redisCpu = 0] = result.cpu;
  add('CPU of the relay', 'µs', each);
  add('the floor: five static answers', 'µs', floorCpu);
  add('times the floor', '', each / floorCpu);
  if (column.startsWith('Redis')) add('CPU of Redis', 'µs', redisCpu);
  add('CPU of the load generator, for comparison', 'µs', generatorCpu);
  add(PER_SECOND, '', result.result.perSecond);
}

const PER_SECOND = 'sign-ins a second';

/** At half of what it can. The times are as the generator sees them, its own delays among them. */
async function measureHandOver(bench: Bench, { column, relays }: Arrangement) {
  const { generator, plan, figures } = bench;
  const most = figures.all.find(
    (figure) =>
      figure.section === SECTION && figure.name === PER_SECOND && figure.column === column,
  );
  const { handOver, whole, failed } = await generator.call('signInsAtRate', {
    relays,
    perSecond: median(most?.samples ?? []) / 2,
    seconds: plan.secondsARound,
    personMs: plan.personMs,
  });
  const add = (name: string, value: number, unit = 'ms') =>
    figures.add({ section: SECTION, name, column, unit }, value);
  add('hand-over at half of that, p50', handOver.p50);
  add('hand-over at half of that, p99', handOver.p99);
  add('hand-over at half of that, p99.9', handOver.p999);
  add('whole sign-in without the person, p50', whole.p50);
  add('whole sign-in without the person, p99', whole.p99);
  add('sign-ins that failed there', failed, '');
}
