/** `--list`: the groups with their cases, and the rows of `protocol.md` with the groups that hold them. */

import type { Group } from '../engine/case.ts';
import { ROW_IDS, ROWS, type RowId } from '../engine/rows.ts';

export function listing(groups: readonly Group[]): string[] {
  const cases = groups.flatMap(({ name, about, cases: own }) => [
    `${name}: ${about}`,
    ...own.map(({ section, rule }) => `  §${section}: ${rule}`),
    '',
  ]);
  const rows = ROW_IDS.map(
    (row) => `  §${row.padEnd(24)} ${ROWS[row]}\n      ${holders(groups, row)}`,
  );
  return [...cases, 'Rows of protocol.md, and the cases that hold them:', ...rows];
}

/** The rows that nobody holds: a fault of the suite. */
export function uncoveredRows(groups: readonly Group[]): RowId[] {
  return ROW_IDS.filter((row) => holders(groups, row) === '');
}

/** As `group 1, 3`: the numbers of its cases in their order. */
function holders(groups: readonly Group[], row: RowId): string {
  return groups
    .map(({ name, cases }) => {
      const numbers = cases.flatMap((one, index) => (one.covers.includes(row) ? [index + 1] : []));
      return numbers.length > 0 ? `${name} ${numbers.join(', ')}` : '';
    })
    .filter((text) => text !== '')
    .join('; ');
}
