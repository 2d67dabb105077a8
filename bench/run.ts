/** `npm run bench`: what a sign-in and a waiting device cost a relay, and how fast tokens are delivered. */
import { availableParallelism, cpus, loadavg, release, totalmem } from 'node:os';
import { parseArgs } from 'node:util';
import { startRedis } from '../test/kit/redis/server.ts';
import { describeSection, describeTable, figures, writeIntoPage } from './figures.ts';
import { startProvider } from './load.ts';
import { FULL, QUICK } from './plan.ts';
import { type Bench, isPinned } from './processes.ts';
import { measureMemory } from './sections/memory.ts';
import { measureRedis } from './sections/redis.ts';
import { measureCost, measureNode } from './sections/sign-in.ts';

const SECTIONS: Readonly<Record<string, (bench: Bench) => Promise<void>>> = {
  cost: measureCost,
  node: measureNode,
  memory: measureMemory,
  redis: measureRedis,
};

const USAGE = `Usage: npm run bench -- [options]

  --quick          smaller and shorter: shows that it works, not what it costs
  --only a,b       only these sections: ${Object.keys(SECTIONS).join(', ')}
  --page a,b       puts the tables into their places in these pages, such as docs/performance.md
`;

async function main(): Promise<void> {
  const { quick, only, page } = readOptions();
  const names = only?.split(',') ?? Object.keys(SECTIONS);
  const unknown = names.find((name) => !(name in SECTIONS));
  if (unknown !== undefined) return fail(`--only: there is no section ${unknown}\n\n${USAGE}`);
  const plan = quick ? QUICK : FULL;
  setTimeout(() => fail('the benchmark did not end'), plan.deadlineMinutes * 60_000).unref();

  await using redis = Bun.which('redis-server') === null ? undefined : await startRedis();
  if (redis === undefined) console.log('There is no redis-server: its columns are left out.');
  const bench: Bench = { plan, redis, provider: startProvider() };

  const tables = new Map([['Machine', describeMachine()]]);
  console.log(tables.get('Machine'));
  for (const name of names) {
    const before = figures.length;
    await SECTIONS[name]?.(bench);
    for (const section of new Set(figures.slice(before).map((figure) => figure.section))) {
      tables.set(section, describeSection(section));
      console.log(`\n### ${section}\n\n${tables.get(section)}`);
    }
  }
  for (const path of page?.split(',') ?? []) writeIntoPage(path, tables);
}

function describeMachine(): string {
  const version = Bun.spawnSync(['redis-server', '--version']).stdout.toString();
  return describeTable(
    ['', ''],
    [
      ['processor', cpus()[0]?.model ?? 'unknown'],
      ['cores', String(availableParallelism())],
      ['memory', `${Math.round(totalmem() / 1e9)} GB`],
      ['system', `Linux ${release()}`],
      ['Bun', Bun.version],
      ['Redis', /v=(\S+)/.exec(version)?.[1] ?? 'none'],
      // Above 0.2 other programs are running, and the figures are noisy.
      ['load average before', (loadavg()[0] ?? 0).toFixed(2)],
      ['pinned', isPinned ? 'relays to the first core, all else to the last' : 'no'],
    ],
  );
}

function readOptions() {
  const text = { type: 'string' } as const;
  try {
    return parseArgs({ options: { quick: { type: 'boolean' }, only: text, page: text } }).values;
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
