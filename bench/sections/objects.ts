/** How many objects a sign-in makes: a count that the machine's noise does not touch. */
import { createHeapCount } from '../../test/kit/heap.ts';
import type { Bench, Section } from '../bench.ts';
import { type Arrangement, arrangeBare, arrangeMemory } from '../support/arrangements.ts';

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
  using heap = createHeapCount({ collects: false });
  const env = { ...bench.env, ...heap.env };
  const { column, relays, pids, stop } = await arrange({ ...bench, env });
  const signIns = () => generator.call('signIns', { relays, count: SIGN_INS, atOnce: plan.atOnce });
  const [pid = 0] = pids;
  try {
    // Whatever is made once is made by then.
    await signIns();
    const before = await heap.countObjects(pid);
    await signIns();
    const each = ((await heap.countObjects(pid)) - before) / SIGN_INS;
    figures.add({ section: SECTION, name: 'objects', column, unit: '' }, each);
  } finally {
    await stop();
  }
}
