/** From the command to the first answer, from source and as one executable. */
import { join } from 'node:path';
import type { Bench, Section } from '../bench.ts';
import type { Column } from '../support/figures.ts';
import { ROOT, START_COMMAND, startRelay } from '../support/relay.ts';
import { makeTemporaryFolder } from '../support/temporary-folder.ts';

const SECTION = 'Start-up';

export const measureStartUp: Section = async (bench) => {
  const executable = compile(makeTemporaryFolder());
  for (let start = 0; start < bench.plan.starts; start += 1) {
    await measureBoth(bench, 'from source, to the first answer', START_COMMAND);
    if (executable === undefined) continue;
    await measureBoth(bench, 'as an executable, to the first answer', [executable]);
  }
};

async function measureBoth(bench: Bench, name: string, command: readonly string[]) {
  await measureStart(bench, 'memory', name, command, {});
  if (bench.redis === undefined) return;
  await measureStart(bench, 'Redis, one relay', name, command, { REDIS_URL: bench.redis.url });
}

async function measureStart(
  { env, figures }: Bench,
  column: Column,
  name: string,
  command: readonly string[],
  settings: Readonly<Record<string, string>>,
): Promise<void> {
  const relay = await startRelay({ ...env, ...settings }, command);
  figures.add({ section: SECTION, name, column, unit: 'ms' }, relay.startedInMs);
  await relay.stop();
}

/** Needs nothing from the network: the executable is Bun itself with the relay inside. */
function compile(folder: string): string | undefined {
  const outfile = join(folder, 'sign-in-relay');
  const main = join(ROOT, 'src/main.ts');
  const command = [process.execPath, 'build', '--compile', main, '--outfile', outfile];
  // Bun puts what is not finished where it was started.
  const { exitCode, stderr } = Bun.spawnSync(command, { cwd: folder });
  if (exitCode === 0) return outfile;
  console.log(`no executable could be built: ${stderr.toString().trim()}`);
  return undefined;
}
