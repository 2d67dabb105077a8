/** The documentation says what the tables say, and its examples are right. */
import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { showProviders } from '../../src/cli/show-providers.ts';
import { readGuides } from '../../src/providers/guides.ts';
import { PROFILES } from '../../src/providers/profiles.ts';
import { PROVIDER_SETTINGS, RELAY_SETTINGS, type SettingsTable } from '../../src/settings/names.ts';
import { ACME, faultsOf } from './read.ts';

const docs = `${import.meta.dir}/../../docs`;
const tables: readonly (readonly [string, SettingsTable])[] = [
  ['', RELAY_SETTINGS],
  ['<NAME>_', PROVIDER_SETTINGS],
];
const all = tables.flatMap(([prefix, table]) =>
  Object.entries(table).map(([name, setting]) => [`${prefix}${name}`, setting] as const),
);

/** A row of docs/configuration.md: its last cell is the example. */
const EXAMPLE = /^(\| `(.+?)` .*) \| `(.+)` \|$/;
const rows = readFileSync(`${docs}/configuration.md`, 'utf8')
  .split('\n')
  .filter((line) => /^\| `[A-Z<]/.test(line))
  .map((line) => {
    const [, row = line, name = '', example = ''] = EXAMPLE.exec(line) ?? [];
    return { row, name, example };
  });

test('docs/configuration.md has each setting of the tables, and no other', () => {
  expect(rows.map(({ row }) => row)).toEqual(
    all.map(([name, { meaning, default: standard }]) => {
      const cells = name.startsWith('<')
        ? [`\`${name}\``, meaning]
        : [`\`${name}\``, meaning, standard ? `\`${standard}\`` : '–'];
      return `| ${cells.join(' | ')}`;
    }),
  );
});

test('docs/providers.md names each provider that has a guide, and no other', () => {
  const page = readFileSync(`${docs}/providers.md`, 'utf8');
  const table = page.split('\n').filter((line) => line.startsWith('| '));
  const named = table.flatMap((row) => [...row.matchAll(/`([a-z]+)`/g)].map(([, name]) => name));
  expect([...new Set(named)].toSorted()).toEqual([...PROFILES.keys()].toSorted());
  const others = Object.keys(readGuides()).filter((name) => !PROFILES.has(name));
  const shown = others.map((name) => /^# (.*)/.exec(showProviders(name))?.[1]);
  expect(page).toContain(`${shown.slice(0, -1).join(', ')} and ${shown.at(-1)}: `);
});

test.each(rows.map(({ name, example }) => [name.replace('<NAME>', 'ACME'), example]))(
  'the example is right: %s=%s',
  (name, example) => {
    const files = { '/etc/relay/logo.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>' };
    expect(faultsOf({ ...ACME, [name]: example }, files)).toEqual([]);
  },
);
