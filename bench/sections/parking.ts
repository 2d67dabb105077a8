/** Whether memory comes back, again and again. */
import type { Section } from '../bench.ts';
import { residentMegabytes, settledMegabytes } from '../support/accounting.ts';
import { arrangeMemory } from '../support/arrangements.ts';

/** By then everything has run that runs. */
const EARLY_ROUND = 3;

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
      if (round !== EARLY_ROUND && round !== plan.parkingRounds) continue;
      // Garbage is collected when the runtime sees fit, at the latest after half a minute of quiet.
      await Bun.sleep(plan.quietMs);
      add(`after round ${round} and a minute of quiet`, residentMegabytes(pids));
    }
    add('at once after any round', ...released);
  } finally {
    await stop();
  }
};
