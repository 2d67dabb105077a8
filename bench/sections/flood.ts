/** What is refused must cost less than what is served, and others must not feel it. */
import type { Bench, Section } from '../bench.ts';
import { cpuOfEach } from '../support/accounting.ts';
import { type Arrangement, arrangeMemory } from '../support/arrangements.ts';

const SECTION = 'Under pressure';
const CAP = 5_000;
const FLOODER = '192.0.2.1';

/** So few that the sessions of a full relay last for all rounds. */
const SIGN_INS_PER_SECOND = 120;
const FLOOD_PER_SECOND = 3_000;

export const measureFlood: Section = async (bench) => {
  const open = await arrangeMemory(bench);
  const capped = await arrangeMemory(bench, { MAX_SESSIONS: String(CAP) });
  try {
    const { generator, plan } = bench;
    for (const { relays } of [open, capped]) {
      await generator.call('signIns', { relays, count: plan.warmUpSignIns, atOnce: plan.atOnce });
    }
    await generator.call('hold', { relays: capped.relays, count: CAP });
    for (let round = 0; round < plan.rounds; round += 1) {
      await measureStarts(bench, 'a start that is served', open, 200);
      await measureStarts(bench, 'a start refused at the cap (503)', capped, 503);
      await measureStarts(bench, 'a start refused to one address (429)', open, 429, FLOODER);
    }
    for (let round = 0; round < plan.rounds; round += 1) {
      await measureOthers(bench, open);
      await measureAtCap(bench, capped);
    }
  } finally {
    await Promise.all([open.stop(), capped.stop()]);
  }
};

async function measureStarts(
  { generator, plan, figures }: Bench,
  name: string,
  { pids, relays }: Arrangement,
  status: number,
  client?: string,
) {
  const { signInsARound: count, atOnce } = plan;
  const port = relays.device;
  const starts = () => generator.call('starts', { port, count, atOnce, ...(client && { client }) });
  const { each, result } = await cpuOfEach(pids, count, starts);
  // Of one address a few are served: its burst, and one a second.
  const expected = result[status] ?? 0;
  if (expected < count * 0.99) throw new Error(`${name}: ${JSON.stringify(result)}`);
  figures.add({ section: SECTION, name: `CPU of ${name}`, column: 'memory', unit: 'µs' }, each);
}

/** A calm, and then the same with a flood from one address. */
async function measureOthers(bench: Bench, { relays }: Arrangement): Promise<void> {
  const { generator, plan } = bench;
  const seconds = plan.secondsARound;
  const signIns = () =>
    generator.call('signInsAtRate', {
      ...{ relays, seconds, perSecond: SIGN_INS_PER_SECOND, personMs: plan.personMs },
    });
  const flood = { port: relays.device, perSecond: FLOOD_PER_SECOND, seconds, client: FLOODER };
  addLatency(bench, 'in a calm', await signIns());
  const [during] = await Promise.all([signIns(), generator.call('startsAtRate', flood)]);
  addLatency(bench, 'while one address floods', during);
}

/** Those who hold a session finish, while everybody else wants one and the relay is full. */
async function measureAtCap(bench: Bench, { relays }: Arrangement): Promise<void> {
  const { generator, plan } = bench;
  const seconds = plan.secondsARound;
  const finish = () =>
    generator.call('finishAtRate', {
      ...{ relays, seconds, perSecond: SIGN_INS_PER_SECOND, personMs: plan.personMs },
    });
  const flood = { port: relays.device, perSecond: FLOOD_PER_SECOND, seconds };
  const [during] = await Promise.all([finish(), generator.call('startsAtRate', flood)]);
  addLatency(bench, 'while many knock at a full relay', during);
}

function addLatency(
  { figures }: Bench,
  when: string,
  { handOver, whole }: { handOver: { p99: number }; whole: { p99: number } },
): void {
  const column = 'memory';
  figures.add(
    { section: SECTION, name: `hand-over ${when}, p99`, column, unit: 'ms' },
    handOver.p99,
  );
  figures.add(
    { section: SECTION, name: `whole sign-in ${when}, p99`, column, unit: 'ms' },
    whole.p99,
  );
}
