/** The measured processes: how they start, on which core they run, and what they use. Linux. */
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { FETCHES_AT_ONCE } from '../src/limits.ts';
import { newFolder } from '../test/kit/folder.ts';
import type { RedisServer } from '../test/kit/redis/server.ts';
import { launchRelay, MAIN, type RelayProcess, untilHealthy } from '../test/kit/relay.ts';
import { type Ports, signIns } from './load.ts';
import type { Plan } from './plan.ts';

/** The folder of the sessions files. */
const folder = newFolder();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

/** Relays have the first core to themselves. The load and Redis share the last. */
const LAST_CORE = availableParallelism() - 1;
export const isPinned = LAST_CORE > 0 && Bun.which('taskset') !== null;
if (isPinned) Bun.spawnSync(['taskset', '-acp', String(LAST_CORE), String(process.pid)]);

/** Passed to every section. */
export interface Bench {
  readonly plan: Plan;
  /** Its origin. It replaces MyAnimeList. */
  readonly provider: string;
  /** Undefined on a machine without redis-server. */
  readonly redis: RedisServer | undefined;
}

type Env = Readonly<Record<string, string>>;

/** Resolves once it answers. `command`: what is run, if it is not `bun src/cli/main.ts`. */
async function startRelay(env: Env, command: readonly string[] = [process.execPath, MAIN]) {
  const settings = {
    BUN_CONFIG_MAX_HTTP_REQUESTS: String(FETCHES_AT_ONCE),
    LOG_LEVEL: 'info',
    // The load forwards the addresses of its clients, as a proxy does.
    TRUSTED_PROXY_CIDRS: '127.0.0.1',
    ...env,
  };
  const pinned = [...(isPinned ? ['taskset', '-c', '0'] : []), ...command];
  const relay = await launchRelay(settings, { command: pinned, stdout: 'unread' });
  // A log is read, as under a supervisor.
  relay.streams[0]?.resume();
  void relay.exited.then((code) => {
    // As after a SIGTERM.
    if (code === 0) return;
    console.error(`${command.join(' ')} ended with ${code}:\n${relay.stderr()}`);
    process.exit(1);
  });
  await untilHealthy(relay.baseUrl);
  return relay;
}

const COLUMNS = ['memory', 'one file', 'Redis, one relay', 'Redis, two relays'] as const;
export type Column = (typeof COLUMNS)[number];

/** A relay with each store. */
export const relayColumns = ({ redis }: Bench) =>
  COLUMNS.filter((column) => redis !== undefined || !column.startsWith('Redis'));

export interface Target {
  readonly column: Column;
  readonly ports: Ports;
  readonly relays: readonly RelayProcess[];
  stop(): Promise<unknown>;
}

/** So high that no section reaches them. */
const HIGH_LIMITS = { MAX_SESSIONS: '1000000', SESSION_SECONDS: '3600' };

/** If there are two relays, devices connect to the first and browsers to the second. */
export async function start(
  bench: Bench,
  column: Column,
  command?: readonly string[],
): Promise<Target> {
  const isTwo = column === 'Redis, two relays';
  const redis = { REDIS_URL: bench.redis?.url ?? '', REDIS_PREFIX: isTwo ? 'two:' : 'one:' };
  const file = { SESSIONS_FILE: join(folder, `${crypto.randomUUID()}.db`) };
  const store = column === 'one file' ? file : column.startsWith('Redis') ? redis : {};
  const provider = {
    MAL_CLIENT_ID: 'bench',
    MAL_AUTHORIZE_URL: `${bench.provider}/authorize`,
    MAL_TOKEN_URL: `${bench.provider}/token`,
  };
  const env = { ...provider, ...HIGH_LIMITS, ...store };
  const first = await startRelay(env, command);
  const relays = isTwo ? [first, await startRelay(env)] : [first];
  return {
    column,
    ports: { device: first.port, browser: relays.at(-1)?.port ?? 0 },
    relays,
    stop: () => Promise.all(relays.map((relay) => relay.stop())),
  };
}

/** The same, after enough sign-ins that its code is compiled. */
export async function startWarm(bench: Bench, column: Column, command?: readonly string[]) {
  const target = await start(bench, column, command);
  await signIns(target.ports, { count: bench.plan.warmUpSignIns, atOnce: bench.plan.atOnce });
  return target;
}

/** User and system time of all threads, those that have ended too. Linux counts it in hundredths of a second: proc_pid_stat(5). */
function cpuMicroseconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
}

/** Sign-ins at the target, and what each process spends on one of them, in microseconds. */
export async function measureCpu({ plan }: Bench, ports: Ports, pids: readonly number[]) {
  const amount = { count: plan.signInsPerRound, atOnce: plan.atOnce };
  const before = pids.map(cpuMicroseconds);
  const { perSecond } = await signIns(ports, amount);
  const after = pids.map(cpuMicroseconds);
  const cpu = after.map((time, index) => (time - (before[index] ?? 0)) / amount.count);
  return { cpu, perSecond };
}

/**
 * Takes one measurement of each kind in every round, in reverse order in every second
 * round. Other work of the machine then affects all of them alike, and `compare`, which
 * is given the measurements of one round, can relate them to each other.
 */
export async function inTurns(
  rounds: number,
  kinds: readonly (() => Promise<number>)[],
  compare: (...measured: number[]) => void,
): Promise<void> {
  for (let round = 0; round < rounds; round += 1) {
    const measured: number[] = [];
    const order = [...kinds.entries()];
    for (const [index, measure] of round % 2 === 0 ? order : order.toReversed()) {
      measured[index] = await measure();
    }
    compare(...measured);
  }
}

export const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

/** Of 10^6 bytes, of all of them. */
export const residentMegabytes = (relays: readonly RelayProcess[]) =>
  sum(relays.map((relay) => relay.residentBytes())) / 1e6;

const SETTLE_STEP_MS = 500;
const SETTLED_MEGABYTES = 0.5;

/** The same once four readings are alike, or after `longestMs`. */
export async function settledMegabytes(relays: readonly RelayProcess[], longestMs: number) {
  const endMs = performance.now() + longestMs;
  const readings: number[] = [];
  for (;;) {
    const resident = residentMegabytes(relays);
    readings.push(resident);
    const recent = readings.slice(-4);
    const isSettled = Math.max(...recent) - Math.min(...recent) < SETTLED_MEGABYTES;
    if ((isSettled && recent.length === 4) || performance.now() > endMs) return resident;
    await Bun.sleep(SETTLE_STEP_MS);
  }
}
