/** How many objects a sign-in leaves behind: a count that the machine's noise does not touch. */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Bench, Section } from '../bench.ts';
import { type Arrangement, arrangeBare, arrangeMemory } from '../support/arrangements.ts';
import { PROBE_SIGNAL } from '../support/heap-probe.ts';
import { makeTemporaryFolder } from '../support/temporary-folder.ts';

const PROBE = join(import.meta.dir, '../support/heap-probe.ts');
const SECTION = 'Objects that a sign-in makes';
const SIGN_INS = 2_000;

export const measureObjects: Section = async (bench) => {
  for (const arrange of [arrangeBare, arrangeMemory]) await measureOne(bench, arrange);
};

async function measureOne(
  bench: Bench,
  arrange: (bench: Bench) => Promise<Arrangement>,
): Promise<void> {
  const { generator, figures, plan } = bench;
  const HEAP_PROBE = join(makeTemporaryFolder(), 'objects');
  // Nothing is collected, so that all there ever was is counted.
  const env = { BUN_OPTIONS: `--preload ${PROBE}`, BUN_JSC_useGC: '0', HEAP_PROBE };
  const { column, relays, pids, stop } = await arrange({ ...bench, env: { ...bench.env, ...env } });
  const signIns = () => generator.call('signIns', { relays, count: SIGN_INS, atOnce: plan.atOnce });
  const [pid = 0] = pids;
  try {
    // Whatever is made once is made by then.
    await signIns();
    const before = await countObjects(pid, HEAP_PROBE);
    await signIns();
    const each = ((await countObjects(pid, HEAP_PROBE)) - before) / SIGN_INS;
    figures.add({ section: SECTION, name: 'objects', column, unit: '' }, each);
  } finally {
    await stop();
  }
}

async function countObjects(pid: number, path: string): Promise<number> {
  process.kill(pid, PROBE_SIGNAL);
  while (!existsSync(path)) await Bun.sleep(20);
  const count = Number(readFileSync(path, 'utf8'));
  rmSync(path);
  return count;
}
