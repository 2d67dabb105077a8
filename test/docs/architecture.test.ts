/** ARCHITECTURE.md says what each dependency is for. */
import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import docsPackage from '../../docs/package.json' with { type: 'json' };
import packageJson from '../../package.json' with { type: 'json' };
import testPackage from '../package.json' with { type: 'json' };

const ROOT = join(import.meta.dir, '../..');
const page = readFileSync(join(ROOT, 'ARCHITECTURE.md'), 'utf8');
const [, dependencies = ''] = page.split('## Dependencies');

const { dependencies: needed, optionalDependencies, devDependencies } = packageJson;
const installed = { ...needed, ...optionalDependencies, ...devDependencies };

test.each(Object.keys({ ...installed, ...testPackage.dependencies, ...docsPackage.dependencies }))(
  '%s has one line that says what it is for',
  (name) => {
    const rows = dependencies.split('\n').filter((row) => row.includes(`\`${name}\``));
    expect(rows).toHaveLength(1);
  },
);
