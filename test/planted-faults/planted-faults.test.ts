/** The faults that run.ts plants can still be planted. That they are found takes too long for `npm test`. */
import { expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { FAULTS, parseTest, plant } from './faults.ts';

const ROOT = join(import.meta.dir, '../..');

test.each(FAULTS.map((fault) => [fault.name, fault] as const))(
  '%s: the text that it replaces is in its file once, and its tests exist',
  (_, fault) => {
    const text = readFileSync(join(ROOT, fault.file), 'utf8');
    expect(plant(fault, text)).not.toBe(text);
    const missing = fault.tests.filter((each) => !existsSync(join(ROOT, parseTest(each).file)));
    expect([fault.tests.length > 0, missing]).toEqual([true, []]);
  },
);

test('no two faults have one name', () => {
  const names = FAULTS.map(({ name }) => name);
  expect(names).toHaveLength(new Set(names).size);
});
