/** The report on standard output: a line a case, in the order of the groups, and the counts at the end. */

import { type Group, type Outcome, type Status, titleOf } from '../engine/case.ts';

export interface Report {
  add(outcome: Outcome): void;
  /** In the order of the groups. */
  readonly outcomes: readonly Outcome[];
  count(...statuses: readonly Status[]): number;
  closingLine(): string;
}

export function createReport(
  groups: readonly Group[],
  shorten: (text: string) => string,
  print: (line: string) => void,
): Report {
  const order = groups.flatMap(({ name, cases }) => cases.map(({ rule }) => `${name}: ${rule}`));
  const arrived = new Map<string, Outcome>();
  let printed = 0;
  const printNext = () => {
    // Cases run side by side; a line waits until those before it are printed.
    for (let key = order[printed]; key !== undefined; key = order[printed]) {
      const outcome = arrived.get(key);
      if (!outcome) return;
      printed += 1;
      for (const line of lines(outcome)) print(line);
    }
  };
  const count = (...statuses: readonly Status[]) =>
    [...arrived.values()].filter(({ status }) => statuses.includes(status)).length;
  return {
    add(outcome) {
      const detail = outcome.detail.map(shorten);
      arrived.set(`${outcome.group}: ${outcome.rule}`, { ...outcome, detail });
      printNext();
    },
    get outcomes() {
      return order.flatMap((key) => arrived.get(key) ?? []);
    },
    count,
    closingLine() {
      const skipped = count('skip');
      const ran = `${count('pass')} passed, ${count('fail', 'error')} failed`;
      return skipped > 0 ? `${ran}, ${skipped} skipped` : ran;
    },
  };
}

function lines({ group, section, rule, status, detail }: Outcome): string[] {
  const head = `${status.padEnd(8)} ${group.padEnd(16)} ${titleOf({ section, rule })}`;
  return [head, ...detail.map((line) => `           ${line}`)];
}
