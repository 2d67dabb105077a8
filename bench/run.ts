/**
 * `npm run bench`: what a sign-in costs the relay, and what a waiting device
 * does. Needs Linux; where there is no Redis its columns are left out.
 * docs/performance.md says how to read the figures.
 */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import type { Bench } from './bench.ts';
import { FULL, QUICK } from './plan.ts';
import { profile } from './profile.ts';
import { plotLiveSessions } from './sections/live-sessions.ts';
import { SECTIONS } from './sections.ts';
import { createFigures, summarise } from './support/figures.ts';
import { startGenerator } from './support/generator.ts';
import { describeMachine } from './support/machine.ts';
import { writeInto } from './support/page.ts';
import { startRedis } from './support/redis.ts';
import { providerEnv } from './support/relay.ts';
import { describeSection, describeTable } from './support/table.ts';

const USAGE = `Usage: npm run bench -- [options]

  --quick          smaller and shorter, under two minutes
  --only a,b       these sections alone: ${Object.keys(SECTIONS).join(', ')}
  --json path      every figure with all its samples
  --plot path      the cost of a sign-in among many live sessions, as SVG
  --page path      the tables, each put into its place in docs/performance.md
  --profile        no figures: CPU profiles, left in dist/profiles
`;

async function main(): Promise<void> {
  const options = readOptions();
  const plan = options.quick ? QUICK : FULL;
  const names = options.only?.split(',') ?? Object.keys(SECTIONS);
  const unknown = names.find((name) => !(name in SECTIONS));
  if (unknown !== undefined) return fail(`--only: there is no section ${unknown}\n\n${USAGE}`);
  setTimeout(() => fail('the benchmark hangs'), plan.deadlineMinutes * 60_000).unref();

  const machine = describeMachine();
  const texts = new Map([['machine', describeTable(machine)]]);
  console.log(texts.get('machine'));
  const figures = createFigures();
  const generator = startGenerator();
  const redis = await startRedis();
  if (redis === undefined) console.log('There is no redis-server here: its columns are left out.');
  const env = providerEnv(await generator.call('startProvider', {}));
  const bench: Bench = { plan, figures, generator, env, redis };

  if (options.profile) await profile(bench);
  for (const name of options.profile ? [] : names) {
    const begun = figures.all.length;
    await SECTIONS[name]?.(bench);
    const sections = new Set(figures.all.slice(begun).map(({ section }) => section));
    for (const section of sections) {
      const table = describeSection(section, figures.all);
      texts.set(section, table);
      console.log(`\n### ${section}\n\n${table}`);
    }
  }
  write(options, bench, machine, texts);
  await Promise.all([generator.stop(), redis?.stop()]);
}

function write(
  { json, page, plot }: { json?: string; page?: string; plot?: string },
  bench: Bench,
  machine: Readonly<Record<string, string>>,
  texts: ReadonlyMap<string, string>,
): void {
  const { plan, figures } = bench;
  if (json !== undefined) {
    const report = { machine, plan, figures: figures.all.map(summarise) };
    writeFileSync(json, `${JSON.stringify(report, null, 2)}\n`);
  }
  if (page !== undefined) writeInto(page, texts);
  const drawn = plotLiveSessions(bench);
  if (plot !== undefined && drawn !== undefined) writeFileSync(plot, drawn);
}

function readOptions() {
  try {
    const text = { type: 'string' } as const;
    const flag = { type: 'boolean' } as const;
    const options = { quick: flag, only: text, json: text, plot: text, page: text, profile: flag };
    return parseArgs({ options }).values;
  } catch (error) {
    return fail(`${error instanceof Error ? error.message : error}\n\n${USAGE}`);
  }
}

function fail(text: string): never {
  console.error(text);
  process.exit(1);
}

await main().catch((error: unknown) =>
  fail(error instanceof Error ? error.message : String(error)),
);
process.exit(0);
