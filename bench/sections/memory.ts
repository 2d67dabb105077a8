/** Resident memory of a relay. */
import { record } from '../figures.ts';
import { end, hold, park } from '../load.ts';
import {
  type Bench,
  type Column,
  relayColumns,
  settledMegabytes,
  start,
  startWarm,
} from '../processes.ts';

const kilobytes = (megabytes: number, count: number) => (megabytes * 1_000) / count;

export async function measureMemory(bench: Bench): Promise<void> {
  for (let round = 0; round < bench.plan.freshRelays; round += 1) {
    for (const column of relayColumns(bench)) await measureParkedPolls(bench, column);
  }
  await measureManySessions(bench);
}

/** Measures a new relay and its first devices. Two relays are added up. */
async function measureParkedPolls(bench: Bench, column: Column): Promise<void> {
  const { parkedPolls: count, settleMs } = bench.plan;
  const { ports, relays, stop } = await start(bench, column);
  const add = (row: string, value: number) => record('Memory', column, row, value);
  add('at rest, MB', await settledMegabytes(relays, settleMs));
  const sessions = await hold(ports, count);
  const live = await settledMegabytes(relays, settleMs);
  add(`with ${count.toLocaleString('en')} live sessions, MB`, live);
  const polls = await park(ports, sessions);
  const parked = await settledMegabytes(relays, settleMs);
  add('the same with a parked poll for each, MB', parked);
  add('a parked poll, KB', kilobytes(parked - live, count));
  await end(ports, sessions, polls);
  add('after all of them have ended, MB', await settledMegabytes(relays, settleMs));
  await stop();
}

/** There are enough sessions that the memory of the first requests does not matter. */
async function measureManySessions(bench: Bench): Promise<void> {
  const { liveSessions: count, settleMs } = bench.plan;
  const { ports, relays, stop } = await startWarm(bench, 'memory');
  const add = (row: string, value: number) => record('Memory', 'memory', row, value);
  const before = await settledMegabytes(relays, settleMs);
  const sessions = await hold(ports, count);
  const live = await settledMegabytes(relays, settleMs);
  add(`with ${count.toLocaleString('en')} live sessions, MB`, live);
  add('one of these, KB', kilobytes(live - before, count));
  await end(ports, sessions);
  add('after these have ended, MB', await settledMegabytes(relays, settleMs));
  await stop();
}
