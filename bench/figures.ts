/** What was measured: every figure with all its samples, and how it is shown. */
import { readFileSync, writeFileSync } from 'node:fs';

interface Figure {
  readonly section: string;
  readonly column: string;
  readonly row: string;
  readonly samples: number[];
}

/** In the order in which tables show them. */
export const figures: Figure[] = [];

/** Adds a sample to a cell of the section's table. */
export function record(section: string, column: string, row: string, sample: number): void {
  const known = findFigure(section, column, row);
  if (known === undefined) figures.push({ section, column, row, samples: [sample] });
  else known.samples.push(sample);
}

export const findFigure = (section: string, column: string, row: string) =>
  figures.find((each) => each.section === section && each.column === column && each.row === row);

export function median(samples: readonly number[]): number {
  const sorted = samples.toSorted((a, b) => a - b);
  const [low = Number.NaN, high = Number.NaN] = [
    sorted[(sorted.length - 1) >> 1],
    sorted[sorted.length >> 1],
  ];
  return (low + high) / 2;
}

/** The median, with the range in brackets. */
function describe(samples: readonly number[]): string {
  const middle = round(median(samples));
  if (samples.length === 1) return middle;
  return `${middle} (${round(Math.min(...samples))} to ${round(Math.max(...samples))})`;
}

/** Three significant digits. */
function round(value: number): string {
  const digits = 2 - Math.floor(Math.log10(Math.abs(value) || 100));
  return value.toFixed(Math.min(Math.max(digits, 0), 2));
}

export function describeSection(section: string): string {
  const ours = figures.filter((figure) => figure.section === section);
  const columns = [...new Set(ours.map(({ column }) => column))];
  const rows = [...Map.groupBy(ours, ({ row }) => row)].map(([row, cells]) => [
    row,
    ...columns.map((column) => {
      const cell = cells.find((each) => each.column === column);
      return cell === undefined ? '' : describe(cell.samples);
    }),
  ]);
  return describeTable(['', ...columns], rows);
}

/** In Markdown. */
export function describeTable(head: readonly string[], rows: readonly (readonly string[])[]) {
  const lines = [head, head.map(() => '---'), ...rows];
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** Replaces what is between `<!-- bench: name -->` and `<!-- bench -->`, for each name in `tables`. */
export function writeIntoPage(path: string, tables: ReadonlyMap<string, string>): void {
  const place = /(<!-- bench: (.+?) -->\n).*?(<!-- bench -->)/gs;
  const page = readFileSync(path, 'utf8');
  const filled = page.replace(place, (whole: string, begin: string, name: string, end: string) => {
    const table = tables.get(name);
    return table === undefined ? whole : `${begin}\n${table}\n\n${end}`;
  });
  writeFileSync(path, filled);
}
