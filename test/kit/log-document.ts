/** The table of events in docs/reference.md, to which the log is held. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const PAGE = join(import.meta.dir, '../../docs/reference.md');

/** Every line has these. */
const COMMON = ['time', 'level', 'event'];

const namesIn = (cell: string) => [...cell.matchAll(/`(\w+)`/g)].map(([, name = '']) => name);

/** Event -> the fields that its line may have. */
export const DOCUMENTED: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  readFileSync(PAGE, 'utf8')
    .split('\n')
    .map((line) => line.split(' | '))
    .filter(([, level = '']) => /^(debug|info|warning|error)(, info)?$/.test(level))
    .flatMap(([events = '', , fields = '']) =>
      namesIn(events).map((event) => [event, new Set([...COMMON, ...namesIn(fields)])] as const),
    ),
);

/** The event, or the fields, of a line of the log that are not in the table. */
export function findUndocumented(line: Readonly<Record<string, unknown>>): readonly string[] {
  const event = String(line.event);
  const fields = DOCUMENTED.get(event);
  if (fields === undefined) return [event];
  return Object.keys(line)
    .filter((field) => line[field] !== undefined && !fields.has(field))
    .map((field) => `${event}.${field}`);
}
