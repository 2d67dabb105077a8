/**
 * `npm run bench`: what a sign-in costs the relay, and what a waiting device costs.
 * docs/performance.md explains the figures.
 */
import { writeFileSync } from 'node:fs';
import { arch, availableParallelism, cpus, loadavg, release, totalmem } from 'node:os';
import { parseArgs } from 'node:util';
import { startRedis } from '../test/kit/redis/server.ts';
import {
  describe,
  describeSection,
  describeTable,
  figures,
  findFigure,
  median,
  writeIntoPage,
} from './figures.ts';
import { startProvider } from './load.ts';
import { type Bench, isPinned, providerEnv } from './processes.ts';
import { profile } from './profile.ts';
import { measureMemory, measureParking, measureStartUp } from './sections/memory.ts';
import { measureRedis } from './sections/redis.ts';
import {
  measureCost,
  measureMetrics,
  measureNode,
  measureObjects,
  measureTls,
  measureWakeUp,
} from './sections/sign-in.ts';
import { drawSoak, measureSoak } from './sections/soak.ts';
import { measureStranger } from './sections/stranger.ts';
import { measureTiming } from './sections/timing.ts';
import { measureFlood, measureLiveSessions, plotLiveSessions } from './sections/under-load.ts';

/** Sizes of all measurements. */
const FULL = {
  rounds: 11,
  signInsPerRound: 3_000,
  requestsPerRound: 4_000,
  warmUpSignIns: 6_000,
  atOnce: 64,
  secondsPerRound: 3,
  userMs: 100,
  wakeUpsPerSecond: 500,
  parkedPolls: 5_000,
  signInsForMemory: 50_000,
  freshRelays: 5,
  parkingRounds: 20,
  liveSessions: [1_000, 5_000, 20_000, 50_000, 100_000, 200_000],
  timingRounds: 3,
  timedInProcess: 50_000,
  timedOverRedis: 5_000,
  starts: 9,
  settleMs: 10_000,
  quietMs: 60_000,
  strangersRequests: 500,
  strangersConnections: 2_000,
  soakMinutes: 60,
  deadlineMinutes: 60,
};
export type Plan = typeof FULL;

const QUICK: Plan = {
  ...FULL,
  rounds: 3,
  signInsPerRound: 1_000,
  requestsPerRound: 500,
  warmUpSignIns: 1_500,
  secondsPerRound: 1,
  parkedPolls: 2_000,
  signInsForMemory: 5_000,
  freshRelays: 1,
  parkingRounds: 4,
  liveSessions: [1_000, 10_000],
  timingRounds: 1,
  timedInProcess: 20_000,
  timedOverRedis: 1_000,
  starts: 2,
  strangersRequests: 200,
  strangersConnections: 500,
  settleMs: 1_500,
  quietMs: 1_500,
  deadlineMinutes: 10,
};

const SECTIONS: Readonly<Record<string, (bench: Bench) => Promise<void>>> = {
  cost: measureCost,
  objects: measureObjects,
  metrics: measureMetrics,
  'wake-up': measureWakeUp,
  'live-sessions': measureLiveSessions,
  tls: measureTls,
  node: measureNode,
  flood: measureFlood,
  stranger: measureStranger,
  memory: measureMemory,
  parking: measureParking,
  'start-up': measureStartUp,
  redis: measureRedis,
  timing: measureTiming,
  soak: measureSoak,
};

/** Only when it is asked for, because it takes an hour by itself. */
const LONG = 'soak';

const USAGE = `Usage: npm run bench -- [options]

  --quick          smaller and shorter: shows that it works, not what it costs
  --only a,b       only these sections: ${Object.keys(SECTIONS).join(', ')}
  --json path      writes every figure with all its samples
  --page a,b       puts the tables into their places in these pages, such as docs/performance.md
  --plot path      writes the CPU of a sign-in among many live sessions, or the soak, as SVG
  --minutes n      of the soak, which runs only with --only soak
  --profile        instead of figures: CPU profiles of the relay, in dist/profiles
`;

async function main(): Promise<void> {
  const { quick, only, json, page, plot, minutes, profile: isProfiling } = readOptions();
  const names = only?.split(',') ?? Object.keys(SECTIONS).filter((name) => name !== LONG);
  const unknown = names.find((name) => !(name in SECTIONS));
  if (unknown !== undefined) return fail(`--only: there is no section ${unknown}\n\n${USAGE}`);
  const soakMinutes = Number(minutes ?? FULL.soakMinutes);
  if (!(soakMinutes > 0)) return fail(`--minutes: ${minutes} is not a number\n\n${USAGE}`);
  const plan = { ...(quick ? QUICK : FULL), soakMinutes };
  const longest = plan.deadlineMinutes + (names.includes(LONG) ? soakMinutes : 0);
  setTimeout(() => fail('the benchmark did not end'), longest * 60_000).unref();

  await using redis = Bun.which('redis-server') === null ? undefined : await startRedis();
  if (redis === undefined) console.log('There is no redis-server: its columns are left out.');
  const bench: Bench = { plan, redis, env: providerEnv(startProvider()) };
  if (isProfiling) return await profile(bench);

  const machine = describeMachine();
  const tables = new Map([['Machine', describeTable(['', ''], Object.entries(machine))]]);
  console.log(tables.get('Machine'));
  for (const name of names) {
    const before = figures.length;
    await SECTIONS[name]?.(bench);
    for (const section of new Set(figures.slice(before).map((figure) => figure.section))) {
      tables.set(section, describeSection(section));
      console.log(`\n### ${section}\n\n${tables.get(section)}`);
    }
  }
  const goals = describeGoals();
  console.log(`\n### Goals\n\n${goals}`);
  // An incomplete table would remove rows that were measured before.
  if (only === undefined && !quick) tables.set('Goals', goals);

  for (const path of page?.split(',') ?? []) writeIntoPage(path, tables);
  if (json !== undefined) {
    const summaries = figures.map(({ samples, ...figure }) => {
      const [min, max] = [Math.min(...samples), Math.max(...samples)];
      return { ...figure, median: median(samples), min, max, samples };
    });
    writeFileSync(json, `${JSON.stringify({ machine, plan, figures: summaries }, null, 2)}\n`);
  }
  const drawn = plotLiveSessions(bench) ?? drawSoak();
  if (plot !== undefined && drawn !== undefined) writeFileSync(plot, drawn);
}

/** Section, column, row, and what it should be at most. */
const GOALS: [section: string, column: string, row: string, most: number][] = [
  ['A sign-in', 'memory', 'times bare handlers', 1.45],
  ['A sign-in', 'Redis, one relay', 'times memory', 1.8],
  ['A sign-in', 'Redis, one relay', 'CPU of Redis, µs', 110],
  ['Objects that a sign-in makes', 'memory', 'objects', 250],
  ['A sign-in among many live sessions', 'ratio', '200,000 live sessions', 1.1],
  ['Memory', 'memory', 'after 50,000 sign-ins, over bare handlers, MB', 20],
  ['Memory', 'memory', 'a parked poll, KB', 3.5],
  ['Memory', 'memory', 'one of these, KB', 1],
  ['Parking and releasing polls repeatedly', 'memory', 'gained between these two, MB', 10],
  ['Start-up', 'memory', 'the built file: resident at rest, MB', 48],
  ['Refused requests', 'memory', 'refused at MAX_SESSIONS, times served', 1],
  ['Delivery from relay to relay', 'Redis, two relays', 'delivery, p99, ms', 4],
];

/** Leaves out what was not measured. */
function describeGoals(): string {
  const rows = GOALS.flatMap(([section, column, row, most]) => {
    const figure = findFigure(section, column, row);
    if (figure === undefined) return [];
    return [[section, row, column, `at most ${most}`, describe(figure.samples)]];
  });
  return describeTable(['section', 'figure', '', 'goal', 'measured'], rows);
}

function describeMachine(): Record<string, string> {
  const version = Bun.spawnSync(['redis-server', '--version']).stdout.toString();
  return {
    processor: cpus()[0]?.model ?? 'unknown',
    cores: String(availableParallelism()),
    memory: `${Math.round(totalmem() / 1e9)} GB`,
    system: `Linux ${release()} ${arch()}`,
    Bun: Bun.version,
    Redis: /v=(\S+)/.exec(version)?.[1] ?? 'none',
    // Above 0.2 other programs are running, and the figures are noisy.
    'load average before': (loadavg()[0] ?? 0).toFixed(2),
    pinned: isPinned ? 'relays and bare handlers to the first core, all else to the last' : 'no',
  };
}

function readOptions() {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean' } as const;
  const options = {
    quick: flag,
    only: text,
    json: text,
    plot: text,
    page: text,
    minutes: text,
    profile: flag,
  };
  try {
    return parseArgs({ options }).values;
  } catch (error) {
    return fail(`${error instanceof Error ? error.message : error}\n\n${USAGE}`);
  }
}

function fail(reason: string): never {
  console.error(reason);
  process.exit(1);
}

await main().catch((error: unknown) => fail(error instanceof Error ? error.message : `${error}`));
process.exit(0);
