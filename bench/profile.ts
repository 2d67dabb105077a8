/** `--profile`: where the CPU time of a relay goes, by file and by function. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { signIns } from './load.ts';
import { type Bench, ROOT, relayColumns, start } from './processes.ts';

export async function profile(bench: Bench): Promise<void> {
  const { plan } = bench;
  for (const column of relayColumns(bench).slice(0, 2)) {
    // Git ignores it. One folder for each profile, so that it has one file.
    const folder = join(ROOT, 'dist/profiles', String(Date.now()));
    const BUN_OPTIONS = `--cpu-prof --cpu-prof-interval=500 --cpu-prof-dir=${folder}`;
    const target = await start(bench, column, { BUN_OPTIONS });
    const count = plan.warmUpSignIns + plan.signInsPerRound * plan.rounds;
    await signIns(target.ports, { count, atOnce: plan.atOnce });
    // The profile is written when the relay ends.
    await target.stop();
    const path = join(folder, readdirSync(folder)[0] ?? '');
    console.log(`\n### Profile, ${column}\n\n${path}`);
    describeProfile(JSON.parse(readFileSync(path, 'utf8')));
  }
}

interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: {
      readonly functionName: string;
      readonly url: string;
      readonly lineNumber: number;
    };
  }[];
  /** The node of each sample, and the microseconds since the sample before. */
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

const SHOWN = 30;

/** The profiler takes no samples of an idle process, so a longer gap was idle time. */
const IDLE_MICROSECONDS = 20_000;

/** Prints the time that was spent in each file and each function itself, without what they call. */
function describeProfile({ nodes, samples, timeDeltas }: CpuProfile): void {
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]));
  const byFile = new Map<string, number>();
  const byFunction = new Map<string, number>();
  let total = 0;
  samples.forEach((id, index) => {
    const microseconds = timeDeltas[index] ?? 0;
    if (microseconds > IDLE_MICROSECONDS) return;
    total += microseconds;
    const { url = '', functionName = '', lineNumber = 0 } = frames.get(id) ?? {};
    const file = url.replace(/^.*\/(?=(node_modules|src)\/)/, '') || 'the runtime';
    const name = `${functionName || '(anonymous)'}  ${file}:${lineNumber + 1}`;
    byFile.set(file, (byFile.get(file) ?? 0) + microseconds);
    byFunction.set(name, (byFunction.get(name) ?? 0) + microseconds);
  });
  for (const spent of [byFile, byFunction]) {
    console.log('');
    for (const [name, part] of [...spent].toSorted(([, a], [, b]) => b - a).slice(0, SHOWN)) {
      console.log(`${((part / total) * 100).toFixed(1).padStart(6)} %  ${name}`);
    }
  }
}
