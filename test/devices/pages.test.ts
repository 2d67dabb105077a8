/** docs/devices says truly which of its programs the tests run. What is checked without being run. */
import { describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../kit/relay.ts';
import { PLATFORMS } from './support/platforms.ts';

const PAGES = join(ROOT, 'docs/devices');
const read = (name: string) => readFileSync(join(PAGES, name), 'utf8');
const guides = readdirSync(PAGES).filter((name) => name !== 'README.md');

test('the index lists every page, and says of those alone that are run that they are', () => {
  const rows = read('README.md').matchAll(/^\| \[([^\]]+)\]\((\S+\.md)\) \|.*\| ([^|]+) \|$/gm);
  const listed = [...rows].map(([, name = '', page = '', how = '']) => ({ name, page, how }));
  expect(listed.map(({ page }) => page).toSorted()).toEqual(guides.toSorted());
  const run = listed.filter(({ how }) => how.startsWith('run')).map(({ name }) => name);
  expect(run.toSorted()).toEqual(PLATFORMS.map(({ name }) => name).toSorted());
  for (const { page, how } of listed) {
    const isMarked = read(page).includes('**Not run here.**');
    expect({ page, isMarked }).toEqual({ page, isMarked: how === 'not run' });
  }
});

// The tests run neither. The clock rule: docs/devices/README.md "The rules that all of them follow".
describe.each([
  ['tvos', 'RelaySignIn.swift', 'ContinuousClock', /\bDate\b/],
  ['flutter', 'relay_sign_in.dart', 'Stopwatch', /\bDateTime\b/],
])('the program for %s', (platform, file, clock, settable) => {
  const folder = join(ROOT, 'examples/devices', platform);
  const readProgram = (name: string) => readFileSync(join(folder, name), 'utf8');

  test('counts with a clock that cannot be set', () => {
    expect(readProgram(file)).toContain(clock);
    expect(readProgram(file)).not.toMatch(settable);
  });

  test.each(['expired', 'refused', 'unreachable', 'not_saved'])('makes the failure %s', (code) => {
    const program = readdirSync(folder).map(readProgram).join('\n');
    expect(program).toMatch(new RegExp(`SignInFailure\\(.*["']${code}["']`));
  });
});
