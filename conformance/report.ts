/** What a run prints: a line for each case, and the counts. */

import type { Case, Group, Outcome, Status } from './runner.ts';

export type Report = ReturnType<typeof createReport>;

export function createReport(
  groups: readonly Group[],
  shorten: (text: string) => string,
  print: (line: string) => void,
) {
  const order = groups.flatMap(({ name, cases }) => cases.map((one) => ({ group: name, one })));
  const outcomes = new Map<Case, Outcome>();
  let printed = 0;
  const count = (...statuses: readonly Status[]) =>
    [...outcomes.values()].filter(({ status }) => statuses.includes(status)).length;
  return {
    count,
    /** Cases run at the same time. A line waits until those before it are printed. */
    add(one: Case, outcome: Outcome): void {
      outcomes.set(one, { ...outcome, detail: outcome.detail.map(shorten) });
      for (let next = order[printed]; next; next = order[printed]) {
        const { status, detail } = outcomes.get(next.one) ?? {};
        if (!status || !detail) return;
        printed += 1;
        print(`${status.padEnd(8)} ${next.group.padEnd(16)} ${next.one.title}`);
        for (const line of detail) print(`           ${line}`);
      }
    },
    closingLine(): string {
      const skipped = count('skip');
      const ran = `${count('pass')} passed, ${count('fail', 'error')} failed`;
      return skipped > 0 ? `${ran}, ${skipped} skipped` : ran;
    },
  };
}
