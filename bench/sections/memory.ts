/** Resident memory of a relay, and how fast it starts. */
import { join } from 'node:path';
import { record } from '../figures.ts';
import { end, hold, park, signIns } from '../load.ts';
import {
  type Bench,
  type Column,
  inTurns,
  ROOT,
  relayColumns,
  residentMegabytes,
  settledMegabytes,
  start,
  startRelay,
  startWarm,
  temporaryFolder,
} from '../processes.ts';

const kilobytes = (megabytes: number, count: number) => (megabytes * 1_000) / count;

export async function measureMemory(bench: Bench): Promise<void> {
  const { plan } = bench;
  for (let round = 0; round < plan.freshRelays; round += 1) {
    for (const column of relayColumns(bench)) await measureParkedPolls(bench, column);
  }
  const works = (['bare handlers', 'memory'] as const).map(
    (column) => () => measureAfterSignIns(bench, column),
  );
  const row = `after ${plan.signInsForMemory.toLocaleString('en')} sign-ins, over bare handlers, MB`;
  await inTurns(plan.freshRelays, works, (bare = 0, memory = 0) =>
    record('Memory', 'memory', row, memory - bare),
  );
  await measureManySessions(bench);
}

/** Of a new relay and its first devices. Two relays are added up. */
async function measureParkedPolls(bench: Bench, column: Column): Promise<void> {
  const { parkedPolls: count, settleMs } = bench.plan;
  const { ports, pids, stop } = await start(bench, column);
  const add = (row: string, value: number) => record('Memory', column, row, value);
  add('at rest, MB', await settledMegabytes(pids, settleMs));
  const sessions = await hold(ports, count);
  const live = await settledMegabytes(pids, settleMs);
  add(`with ${count.toLocaleString('en')} live sessions, MB`, live);
  const polls = await park(ports, sessions);
  const parked = await settledMegabytes(pids, settleMs);
  add('the same with a parked poll for each, MB', parked);
  add('a parked poll, KB', kilobytes(parked - live, count));
  await end(ports, sessions, polls);
  add('after all of them have ended, MB', await settledMegabytes(pids, settleMs));
  await stop();
}

async function measureAfterSignIns(bench: Bench, column: Column): Promise<number> {
  const { signInsForMemory: count, atOnce, settleMs } = bench.plan;
  const { ports, pids, stop } = await start(bench, column);
  await signIns(ports, { count, atOnce });
  const resident = await settledMegabytes(pids, settleMs);
  record('Memory', column, `after ${count.toLocaleString('en')} sign-ins, MB`, resident);
  await stop();
  return resident;
}

/** So many that the memory of the first requests does not matter. */
async function measureManySessions(bench: Bench): Promise<void> {
  const { liveSessions, settleMs } = bench.plan;
  const { ports, pids, stop } = await startWarm(bench, 'memory');
  const add = (row: string, value: number) => record('Memory', 'memory', row, value);
  const count = Math.max(...liveSessions);
  const before = await settledMegabytes(pids, settleMs);
  const sessions = await hold(ports, count);
  const live = await settledMegabytes(pids, settleMs);
  add(`with ${count.toLocaleString('en')} live sessions, MB`, live);
  add('one of these, KB', kilobytes(live - before, count));
  await end(ports, sessions);
  add('after these have ended, MB', await settledMegabytes(pids, settleMs));
  await stop();
}

const EARLY_ROUND = 3;

/** Whether memory is released. */
export async function measureParking(bench: Bench): Promise<void> {
  const { parkedPolls, parkingRounds, settleMs, quietMs } = bench.plan;
  const { ports, pids, stop } = await start(bench, 'memory');
  const add = (row: string, value: number) =>
    record('Parking and releasing polls repeatedly', 'memory', row, value);
  const quiet: number[] = [];
  for (let round = 1; round <= parkingRounds; round += 1) {
    const sessions = await hold(ports, parkedPolls);
    await end(ports, sessions, await park(ports, sessions));
    add('some seconds after each round, MB', await settledMegabytes(pids, settleMs));
    if (round !== EARLY_ROUND && round !== parkingRounds) continue;
    // The runtime collects garbage after half a minute without requests.
    await Bun.sleep(quietMs);
    quiet.push(residentMegabytes(pids));
    add(`after round ${round} and a minute without requests, MB`, residentMegabytes(pids));
  }
  const [early = 0, late = 0] = quiet;
  add('gained between these two, MB', late - early);
  await stop();
}

/** In the three forms in which an operator can start the relay. */
export async function measureStartUp({ plan, env, redis }: Bench): Promise<void> {
  const [file, executable] = ['main.js', 'main'].map((name) => join(temporaryFolder, name));
  for (const form of [
    `--target=bun --minify --outfile ${file}`,
    `--compile --outfile ${executable}`,
  ]) {
    const command = [process.execPath, 'build', join(ROOT, 'src/cli/main.ts'), ...form.split(' ')];
    // Bun leaves unfinished files in its working directory.
    const { exitCode, stderr } = Bun.spawnSync(command, { cwd: temporaryFolder });
    if (exitCode !== 0) throw new Error(`bun build: ${stderr}`);
  }
  const forms = [
    ['source', undefined],
    ['the built file', `bun ${file}`],
    ['an executable', executable],
  ] as const;
  const stores = [
    ['memory', {}],
    ...(redis === undefined ? [] : [['Redis, one relay', { REDIS_URL: redis.url }] as const]),
  ] as const;
  const kinds = stores.flatMap(([column, settings]) =>
    forms.map(([form, program]) => async () => {
      const relay = await startRelay({ ...env, ...settings }, program);
      record('Start-up', column, `${form}: until the first response, ms`, relay.startedInMs);
      const resident = await settledMegabytes([relay.pid], plan.settleMs);
      record('Start-up', column, `${form}: resident at rest, MB`, resident);
      await relay.stop();
      return resident;
    }),
  );
  await inTurns(plan.starts, kinds);
}
