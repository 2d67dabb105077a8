/** What `npm test` leaves out where a program is missing. */
import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { FILES } from './needs.ts';

test('each row of the files that may be left out names some that there are', () => {
  const files = [...new Bun.Glob('**/*.test.ts').scanSync(join(import.meta.dir, '..'))];
  const isThere = (path: string) => files.some((file) => file.startsWith(path));
  expect(Object.keys(FILES).filter((path) => !isThere(path))).toEqual([]);
});
