/** CHANGELOG.md says of each version what an operator must do, before anything else. */
import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const changelog = readFileSync(join(import.meta.dir, '../../CHANGELOG.md'), 'utf8');
const versions = changelog
  .split(/^## /m)
  .slice(1)
  .map((text) => [text.split('\n', 1)[0] ?? '', text] as const);

test('there is a version', () => {
  expect(versions).not.toEqual([]);
});

test.each(versions)('%s begins with what an operator must do', (_, text) => {
  const [, first] = text.split(/^### /m);
  expect(first).toStartWith('For operators\n');
  expect(first).toMatch(/^- /m);
});
