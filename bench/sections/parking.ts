/** Whether memory comes back, again and again. */
import type { Section } from '../bench.ts';
import { settledMegabytes } from '../support/accounting.ts';
import { arrangeMemory } from '../support/arrangements.ts';

export const measureParking: Section = async (bench) => {
  const { generator, plan, figures } = bench;
  const { column, relays, pids, stop } = await arrangeMemory(bench);
  const section = `Parking and releasing ${plan.parkedPolls} polls, again and again`;
  const add = (name: string, value: number) =>
    figures.add({ section, name, column, unit: 'MB' }, value);
  const released: number[] = [];
  try {
    for (let round = 1; round <= plan.parkingRounds; round += 1) {
      await generator.call('hold', { relays, count: plan.parkedPolls });
      await generator.call('park', { relays });
      await generator.call('end', { relays });
      released.push(await settledMegabytes(pids, plan.settleMs));
    }
    add('after round 3', released[2] ?? Number.NaN);
    add(`after round ${plan.parkingRounds}`, released.at(-1) ?? Number.NaN);
    figures.add({ section, name: 'all rounds', column, unit: 'MB' }, ...released);
  } finally {
    await stop();
  }
};
