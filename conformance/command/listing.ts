/** `--list`: the groups with their cases, and the rows of `protocol.md` with the groups that hold them. */

import { type Group, titleOf } from '../engine/case.ts';
import { EXTENSION_ROWS } from '../engine/extension-rows.ts';
import { EXTENSION_ROW_IDS, ROW_IDS, ROWS, type RowId } from '../engine/rows.ts';

export function listing(groups: readonly Group[]): string[] {
  const cases = groups.flatMap(({ name, about, extension, cases: own }) => [
    `${name}: ${about}${extension ? ` (--with ${extension})` : ''}`,
    ...own.map((one) => `  ${titleOf(one)}`),
    '',
  ]);
  const rows = ROW_IDS.map(
    (row) => `  §${row.padEnd(24)} ${ROWS[row]}\n      ${holders(groups, row)}`,
  );
  const extensionRows = EXTENSION_ROW_IDS.map(
    (row) => `  ${row.padEnd(25)} ${EXTENSION_ROWS[row]}\n      ${holders(groups, row)}`,
  );
  return [
    ...cases,
    'Rows of protocol.md, and the cases that hold them:',
    ...rows,
    '',
    'Rules of the extensions, and the cases that hold them:',
    ...extensionRows,
  ];
}

/** The rows that nobody holds: a fault of the suite. */
export function uncoveredRows(groups: readonly Group[]): RowId[] {
  return [...ROW_IDS, ...EXTENSION_ROW_IDS].filter((row) => holders(groups, row) === '');
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
