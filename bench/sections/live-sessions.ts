/** Whether a sign-in costs more when many sessions are alive. */
import type { Bench, Section } from '../bench.ts';
import { cpuOfEach } from '../support/accounting.ts';
import { type Arrangement, arrangeMemory } from '../support/arrangements.ts';
import { drawPlot } from '../support/plot.ts';

const SECTION = 'A sign-in among many live sessions';
const FEW = 1_000;

/** One relay is filled step by step; another stays as it is and shows what the machine does meanwhile. */
export const measureLiveSessions: Section = async (bench) => {
  const { generator, plan, figures } = bench;
  const [filled, still] = [await arrangeMemory(bench), await arrangeMemory(bench)];
  const add = (name: string, unit: string, value: number) =>
    figures.add({ section: SECTION, name, column: 'memory', unit }, value);
  try {
    for (const { relays } of [filled, still]) {
      await generator.call('signIns', { relays, count: plan.warmUpSignIns, atOnce: plan.atOnce });
    }
    await generator.call('hold', { relays: still.relays, count: FEW });
    let live = 0;
    for (const next of plan.liveSessions) {
      await generator.call('hold', { relays: filled.relays, count: next - live });
      live = next;
      for (let round = 0; round < plan.rounds; round += 1) {
        const [many, few] = [
          await measureSignIns(bench, filled),
          await measureSignIns(bench, still),
        ];
        add(nameOf(live), 'µs', many);
        add(nameOfStill(live), 'µs', few);
        add(`${nameOf(live)}, against the other`, 'times', many / few);
      }
    }
  } finally {
    await Promise.all([filled.stop(), still.stop()]);
  }
};

const nameOf = (live: number) => `CPU with ${live.toLocaleString('en')} live sessions`;
const nameOfStill = (live: number) => `${nameOf(live)}: the other relay, with 1,000`;

async function measureSignIns({ generator, plan }: Bench, { relays, pids }: Arrangement) {
  const count = plan.signInsARound / 2;
  const signIns = () => generator.call('signIns', { relays, count, atOnce: plan.atOnce });
  return (await cpuOfEach(pids, count, signIns)).each;
}

/** What `--plot` writes; undefined when this section was not measured. */
export function plotLiveSessions({ plan, figures }: Bench): string | undefined {
  const pointsOf = (name: (live: number) => string) =>
    plan.liveSessions.flatMap((x) => {
      const figure = figures.all.find((each) => each.section === SECTION && each.name === name(x));
      return figure === undefined ? [] : [{ x, samples: figure.samples }];
    });
  const many = pointsOf(nameOf);
  if (many.length === 0) return undefined;
  return drawPlot({
    title: 'What a sign-in costs while many sessions are alive',
    xLabel: 'live sessions',
    yLabel: 'CPU of the relay, µs',
    series: [
      {
        label: 'a relay with 1,000 live sessions, measured in turn with the other',
        colour: '#999',
        points: pointsOf(nameOfStill),
      },
      { label: 'the relay with as many as the axis says', colour: '#1f6feb', points: many },
    ],
  });
}
