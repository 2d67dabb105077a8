/** Resident memory: at rest, with sessions, with a poll parked for each, and when all of it is gone. */
import type { Bench, Section } from '../bench.ts';
import { settledMegabytes } from '../support/accounting.ts';
import { type Arrangement, arrangeMemory, arrangements } from '../support/arrangements.ts';

const SECTION = 'Memory';
const BYTES_PER_MEGABYTE = 1_000_000;

export const measureMemory: Section = async (bench) => {
  for (let round = 0; round < bench.plan.freshRelays; round += 1) {
    for (const arrangement of arrangements(bench)) await measureFresh(bench, await arrangement());
  }
  await measureMany(bench, await arrangeMemory(bench));
};

/** Relays that have done nothing yet, and then their first devices. Of two, both together. */
async function measureFresh(bench: Bench, arrangement: Arrangement): Promise<void> {
  const { generator, plan, figures } = bench;
  const { column, relays, pids } = arrangement;
  const add = (name: string, unit: string, value: number) =>
    figures.add({ section: SECTION, name, column, unit }, value);
  const resident = () => settledMegabytes(pids, plan.settleMs);
  const devices = `${plan.parkedPolls} live sessions`;
  try {
    add('at rest', 'MB', await resident());
    await generator.call('hold', { relays, count: plan.parkedPolls });
    const live = await resident();
    add(`with ${devices}`, 'MB', live);
    await generator.call('park', { relays });
    const parked = await resident();
    add(`with ${devices}, each with a parked poll`, 'MB', parked);
    add('a parked poll over its session', 'KB', kilobytes(parked - live, plan.parkedPolls));
    await generator.call('end', { relays });
    add('after all of them are gone', 'MB', await resident());
  } finally {
    await arrangement.stop();
  }
}

/** So many that what the first requests cost any process no longer shows. */
async function measureMany(bench: Bench, arrangement: Arrangement): Promise<void> {
  const { generator, plan, figures } = bench;
  const { column, relays, pids } = arrangement;
  const add = (name: string, unit: string, value: number) =>
    figures.add({ section: SECTION, name, column, unit }, value);
  const most = Math.max(...plan.liveSessions);
  try {
    await generator.call('signIns', { relays, count: plan.warmUpSignIns, atOnce: plan.atOnce });
    const before = await settledMegabytes(pids, plan.settleMs);
    await generator.call('hold', { relays, count: most });
    const live = await settledMegabytes(pids, plan.settleMs);
    add(`with ${most} live sessions`, 'MB', live);
    add(`a live session, of ${most}`, 'KB', kilobytes(live - before, most));
    await generator.call('end', { relays });
    add(`after ${most} are gone`, 'MB', await settledMegabytes(pids, plan.settleMs));
  } finally {
    await arrangement.stop();
  }
}

function kilobytes(megabytes: number, count: number): number {
  return (megabytes * BYTES_PER_MEGABYTE) / 1_000 / count;
}
