/** What a case and a group are, and how the groups are run. */

import { Mismatch, Skip } from './expect.ts';
import { NoAnswer } from './http.ts';
import type { MockProvider } from './mock-provider.ts';
import type { Extension, Options } from './options.ts';
import type { Relay } from './relay.ts';

/** What a case works with. Each case has a relay client of its own, which cleans up after it. */
export interface Kit {
  readonly options: Options;
  readonly relay: Relay;
  readonly provider: MockProvider;
}

export interface Case {
  /**
   * `<section>: <rule>`. The section is a heading of docs/protocol.md, another
   * page or an RFC by its name, or several of them, separated by `; `.
   */
  readonly title: string;
  run(kit: Kit): Promise<void>;
}

export function cases(
  define: (test: (title: string, run: Case['run']) => void) => void,
): readonly Case[] {
  const list: Case[] = [];
  define((title, run) => list.push({ title, run }));
  return list;
}

export interface Group {
  readonly name: string;
  readonly cases: readonly Case[];
  /** Run only on request. */
  readonly extension?: Extension;
  /** Its cases mostly wait, so they run at the same time. Otherwise one after the other. */
  readonly parallel?: true;
  /**
   * `alone`: after all others, since it fills the relay. `lifetime`: waits for
   * sessions to expire, while all others run. Otherwise together with the rest.
   */
  readonly when?: 'alone' | 'lifetime';
}

export type Status = 'pass' | 'fail' | 'skip' | 'error' | 'disabled';

export interface Outcome {
  readonly status: Status;
  /** Why it is no pass, line by line. */
  readonly detail: readonly string[];
}

interface Run {
  readonly groups: readonly Group[];
  readonly options: Options;
  readonly createKit: () => Kit;
  readonly report: (one: Case, outcome: Outcome) => void;
}

/**
 * An `alone` group takes no longer than this. If the lifetime groups still
 * wait for so long, it runs beside them: sessions that only wait do not disturb it.
 */
const ALONE_MS = 90_000;

export async function runGroups(run: Run): Promise<void> {
  const { groups, options, report } = run;
  const chosen = groups.filter(({ name }) => options.groups.has(name));
  for (const one of groups.filter((group) => !chosen.includes(group)).flatMap((g) => g.cases)) {
    report(one, { status: 'disabled', detail: [] });
  }
  const of = (when: Group['when']) => chosen.filter((group) => group.when === when);
  const runAtOnce = (some: readonly Group[]) =>
    Promise.all(some.map((group) => runGroup(run, group)));
  const runInTurn = async (some: readonly Group[]) => {
    for (const group of some) await runGroup(run, group);
  };
  const lifetimeEndsAt = performance.now() + options.sessionSeconds * 1000;
  const lifetime = runAtOnce(of('lifetime'));
  await runAtOnce(of(undefined));
  if (performance.now() + ALONE_MS > lifetimeEndsAt) await lifetime;
  await runInTurn(of('alone'));
  await lifetime;
}

async function runGroup(run: Run, { cases, parallel }: Group): Promise<void> {
  if (parallel) await Promise.all(cases.map((one) => runCase(run, one)));
  else for (const one of cases) await runCase(run, one);
}

async function runCase({ createKit, report }: Run, one: Case): Promise<void> {
  const kit = createKit();
  const [status, detail] = await one.run(kit).then(() => PASS, verdictOf);
  // Sessions that cannot be cleaned up stay known, and the `cap` group counts with them.
  await kit.relay.cleanUp();
  report(one, { status, detail });
}

type Verdict = readonly [Status, detail: readonly string[]];

const PASS: Verdict = ['pass', []];

function verdictOf(error: unknown): Verdict {
  if (error instanceof Skip) return ['skip', [error.message]];
  if (error instanceof NoAnswer) return ['fail', [error.message]];
  if (error instanceof Mismatch) {
    return ['fail', [error.subject, `expected ${error.expected}`, `got      ${error.got}`]];
  }
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return ['error', text.split('\n')];
}
