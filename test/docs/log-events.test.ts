/** docs/reference.md "Events" has every event of the log, and no other. test/run.ts holds it to every field. */
import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DOCUMENTED } from '../kit/log-document.ts';
import { ROOT } from '../kit/relay.ts';

const sources = [...new Bun.Glob('src/**/*.{ts,tsx}').scanSync(ROOT)]
  // Metrics have names like those of events.
  .filter((path) => !path.includes('/admin/'))
  .map((path) => readFileSync(join(ROOT, path), 'utf8'));

/** Where the source has the name of an event. */
const PATTERNS = [
  /\blog(?:\.(?!isEnabledFor)\w+|\[[^\]]+\])\(\s*'(\w+)'/g,
  /\bwarnOnce\(\s*'(\w+)'/g,
  /\b(?:exchange|refresh|revoke): '(\w+_failed)'/g,
  /'(store_\w+)'/g,
];

const EVENTS = new Set(
  sources.flatMap((source) =>
    PATTERNS.flatMap((pattern) => [...source.matchAll(pattern)].map(([, name = '']) => name)),
  ),
);

test('the page has each event of the source, and no other', () => {
  expect([...DOCUMENTED.keys()].toSorted()).toEqual([...EVENTS].toSorted());
});
