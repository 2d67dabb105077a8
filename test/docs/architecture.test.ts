/** ARCHITECTURE.md describes the sources and the dependencies that are there. */
import { expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import docsPackage from '../../docs/package.json' with { type: 'json' };
import packageJson from '../../package.json' with { type: 'json' };
import testPackage from '../package.json' with { type: 'json' };

const ROOT = join(import.meta.dir, '../..');
const page = readFileSync(join(ROOT, 'ARCHITECTURE.md'), 'utf8');
const [, tree = ''] = page.split('```');
const [, dependencies = ''] = page.split('## Dependencies');

/** The tree names these folders as a whole. */
const isInNamedFolder = (path: string) =>
  /^(stores\/redis|pages\/messages|providers\/profiles|cli\/login)\//.test(path);

const sources = [...new Bun.Glob('**/*.{ts,tsx}').scanSync(join(ROOT, 'src'))].sort();

test.each(sources.filter((path) => !isInNamedFolder(path)))('the tree has src/%s', (path) => {
  const name = path.includes('endpoints/') ? basename(path, '.ts') : basename(path);
  expect(tree.split(/[\s,;:]+/)).toContain(name);
});

const walk = [...page.matchAll(/^\| (?:start|link|callback|result) \| (.*) \|$/gm)].flatMap(
  ([, files = '']) => files.split(', ').map((file) => file.replaceAll('`', '')),
);

test.each([...new Set(walk)])('the walk of a request opens a file that is there: %s', (file) => {
  const name = file.endsWith('.lua') ? file : `${file}.ts`;
  expect(existsSync(join(ROOT, 'src', name))).toBe(true);
});

const { dependencies: needed, optionalDependencies, devDependencies } = packageJson;
const installed = { ...needed, ...optionalDependencies, ...devDependencies };

test.each(Object.keys({ ...installed, ...testPackage.dependencies, ...docsPackage.dependencies }))(
  '%s has one line that says what it is for',
  (name) => {
    const rows = dependencies.split('\n').filter((row) => row.includes(`\`${name}\``));
    expect(rows).toHaveLength(1);
  },
);
