/** Whether memory comes back, again and again. */
import type { Section } from '../bench.ts';
import { settledMegabytes } from '../support/accounting.ts';
import { arrangeMemory } from '../support/arrangements.ts';

export const measureParking: Section = async (bench) => {
  const { generator, plan, figures } = bench;
  const { column, relays, pids, stop } = await arrangeMemory(bench);
  const section = `Parking and releasing ${plan.parkedPolls} polls, again and again`;
  const add = (name: string, ...megabytes: number[]) =>
    figures.add({ section, name, column, unit: 'MB' }, ...megabytes);
  const released: number[] = [];
  try {
    for (let round = 1; round <= plan.parkingRounds; round += 1) {
      await generator.call('hold', { relays, count: plan.parkedPolls });
      await generator.call('park', { relays });
      await generator.call('end', { relays });
      released.push(await settledMegabytes(pids, plan.settleMs));
    }
    const half = plan.parkingRounds / 2;
    add('after round 3', released[2] ?? Number.NaN);
    add(`after round ${plan.parkingRounds}`, released.at(-1) ?? Number.NaN);
    add('after any round', ...released);
    // When garbage is collected is the runtime's affair, and a single round tells of that;
    // what is never given back would raise the least.
    add('the least, first half of the rounds', Math.min(...released.slice(0, half)));
    add('the least, second half', Math.min(...released.slice(half)));
  } finally {
    await stop();
  }
};
