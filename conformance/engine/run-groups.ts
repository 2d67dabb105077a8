/** Runs the chosen groups, side by side where they do not disturb each other. */

import type { Bench, Case, Group, Outcome, Status } from './case.ts';
import { Mismatch, Skip } from './expect.ts';

export interface Plan {
  readonly groups: readonly Group[];
  readonly chosen: ReadonlySet<string>;
  /** A bench whose target keeps its own account of sessions. */
  readonly makeBench: () => Bench;
  readonly report: (outcome: Outcome) => void;
}

/**
 * `alone` groups want the target to themselves, but one that only waits for a
 * lifetime to end does not disturb them, unless it ends meanwhile.
 */
const ALONE_MS = 90_000;

export async function runGroups(plan: Plan): Promise<void> {
  const { options } = plan.makeBench();
  for (const group of plan.groups.filter(({ name }) => !plan.chosen.has(name))) {
    for (const one of group.cases) plan.report(outcomeOf(group, one, 'disabled', 0, []));
  }
  const chosen = plan.groups.filter(({ name }) => plan.chosen.has(name));
  const lifetime = chosen.filter(({ when }) => when === 'lifetime');
  const lifetimeEndsAt = performance.now() + options.sessionSeconds * 1000;
  const lasting = Promise.all(lifetime.map((group) => runGroup(plan, group)));
  const together = chosen.filter(({ when }) => when === undefined);
  if (options.spread === 'none') {
    // One client address for all: side by side they would take each other's tokens.
    for (const group of together) await runGroup(plan, group);
  } else {
    await Promise.all(together.map((group) => runGroup(plan, group)));
  }
  if (performance.now() + ALONE_MS > lifetimeEndsAt) await lasting;
  for (const group of chosen.filter(({ when }) => when === 'alone')) await runGroup(plan, group);
  await lasting;
}

async function runGroup(plan: Plan, group: Group): Promise<void> {
  if (group.pace === 'at-once') {
    await Promise.all(group.cases.map((one) => runCase(plan, group, one)));
  } else {
    for (const one of group.cases) await runCase(plan, group, one);
  }
}

async function runCase(plan: Plan, group: Group, one: Case): Promise<void> {
  const bench = plan.makeBench();
  const startedAt = performance.now();
  let status: Status = 'pass';
  let detail: readonly string[] = [];
  try {
    await one.run(bench);
  } catch (fault) {
    [status, detail] = judge(fault);
  }
  const seconds = (performance.now() - startedAt) / 1000;
  // What cannot be cleaned up stays on the ledger, and the cap reckons with it.
  await bench.target.cleanUp().catch(() => undefined);
  plan.report(outcomeOf(group, one, status, seconds, detail));
}

function judge(fault: unknown): [Status, readonly string[]] {
  if (fault instanceof Skip) return ['skip', [fault.message]];
  if (fault instanceof Mismatch) {
    return ['fail', [fault.subject, `expected ${fault.expected}`, `got      ${fault.got}`]];
  }
  const text = fault instanceof Error ? (fault.stack ?? fault.message) : String(fault);
  return ['error', text.split('\n')];
}

function outcomeOf(
  group: Group,
  { section, rule }: Case,
  status: Status,
  seconds: number,
  detail: readonly string[],
): Outcome {
  return { group: group.name, section, rule, status, seconds, detail };
}
