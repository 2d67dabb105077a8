/** docs/devices leads to each program, and says truly which of them the tests run. */
import { expect, test } from 'bun:test';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ROOT } from '../kit/relay.ts';
import { PLATFORMS } from './support/platforms.ts';

const PAGES = join(ROOT, 'docs/devices');
const read = (name: string) => readFileSync(join(PAGES, name), 'utf8');
const guides = readdirSync(PAGES).filter((name) => name !== 'README.md');

/** The programs to which a page leads. */
const programsOf = (name: string) =>
  [...read(name).matchAll(/\]\(\.\.\/\.\.\/(examples\/devices\/[^)]+)\)/g)].map(
    ([, program = '']) => program,
  );

test('every program is in one page', () => {
  const programs = readdirSync(join(ROOT, 'examples/devices'), { recursive: true })
    .map((file) => `examples/devices/${String(file)}`)
    .filter((file) => /\.\w+$/.test(file));
  expect(guides.flatMap(programsOf).toSorted()).toEqual(programs.toSorted());
});

test('the index lists every page, and says of those alone that are run that they are', () => {
  const rows = read('README.md').matchAll(/^\| \[([^\]]+)\]\((\S+\.md)\) \|.*\| ([^|]+) \|$/gm);
  const listed = [...rows].map(([, name = '', page = '', how = '']) => ({ name, page, how }));
  expect(listed.map(({ page }) => page).toSorted()).toEqual(guides.toSorted());
  const run = listed.filter(({ how }) => how.startsWith('run')).map(({ name }) => name);
  expect(run.toSorted()).toEqual(PLATFORMS.map(({ name }) => name).toSorted());
  for (const { page, how } of listed) {
    const isMarked = read(page).includes('**Not run here.**');
    expect({ page, isMarked }).toEqual({ page, isMarked: !how.startsWith('run') });
  }
});

test.each([...guides, 'README.md', '../migrating.md'])('the links of %s lead somewhere', (name) => {
  const links = [...read(name).matchAll(/\]\(([^)#]+)(?:#[^)]*)?\)/g)].map(([, link = '']) => link);
  const broken = links.filter(
    (link) => !link.startsWith('https://') && !existsSync(join(PAGES, dirname(name), link)),
  );
  expect(broken).toEqual([]);
});
