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
  /** Fills the relay, so it runs alone, and before there are other sessions that count. */
  readonly isFirst?: true;
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

export async function runGroups(run: Run): Promise<void> {
  const { groups, options, report } = run;
  const chosen = groups.filter(({ name }) => options.groups.has(name));
  for (const one of groups.filter((group) => !chosen.includes(group)).flatMap((g) => g.cases)) {
    report(one, { status: 'disabled', detail: [] });
  }
  for (const group of chosen.filter(({ isFirst }) => isFirst)) await runGroup(run, group);
  const others = chosen.filter(({ isFirst }) => !isFirst);
  await Promise.all(others.map((group) => runGroup(run, group)));
}

async function runGroup(run: Run, { cases, parallel }: Group): Promise<void> {
  if (parallel) await Promise.all(cases.map((one) => runCase(run, one)));
  else for (const one of cases) await runCase(run, one);
}

async function runCase({ createKit, report }: Run, one: Case): Promise<void> {
  const kit = createKit();
  const [status, detail] = await one.run(kit).then(() => PASS, verdictOf);
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
