/** The figures as tables in Markdown, one a section: what is printed is what docs/performance.md holds. */
import type { Column, Figure } from './figures.ts';
import { median } from './median.ts';

const COLUMNS: readonly Column[] = [
  'bare handlers',
  'memory',
  'Redis, one relay',
  'Redis, two relays',
];

export function describeSection(section: string, figures: readonly Figure[]): string {
  const ours = figures.filter((figure) => figure.section === section);
  const columns = COLUMNS.filter((column) => ours.some((figure) => figure.column === column));
  const names = [...new Set(ours.map(({ name }) => name))];
  const rows = names.map((name) => [
    nameWithUnit(name, ours),
    ...columns.map((column) => {
      const figure = ours.find((each) => each.name === name && each.column === column);
      return figure === undefined ? '' : describe(figure.samples);
    }),
  ]);
  return markdownTable([['', ...columns], ...rows]);
}

/** Names and what they hold. */
export function describeTable(facts: Readonly<Record<string, string>>): string {
  return markdownTable([['', ''], ...Object.entries(facts)]);
}

function markdownTable([head = [], ...rows]: readonly (readonly string[])[]): string {
  const lines = [head, head.map(() => '---'), ...rows];
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function nameWithUnit(name: string, figures: readonly Figure[]): string {
  const unit = figures.find((figure) => figure.name === name)?.unit ?? '';
  return unit === '' ? name : `${name}, ${unit}`;
}

/** The median, and between what the samples lie. */
function describe(samples: readonly number[]): string {
  const middle = round(median(samples));
  if (samples.length === 1) return middle;
  return `${middle} (${round(Math.min(...samples))} to ${round(Math.max(...samples))})`;
}

/** Three digits: there is no more in them. */
function round(value: number): string {
  if (value === 0) return '0';
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.max(Math.abs(value), 0.01))));
  return digits > 0 ? value.toFixed(Math.min(digits, 2)) : String(Math.round(value));
}
