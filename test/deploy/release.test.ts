/** The scripts of a release, apart from what they build: test/deploy/package.test.ts, test/deploy/image.soak.ts. */
import { expect, test } from 'bun:test';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findNotes, findObstacles } from '../../scripts/release-notes.ts';
import { listTracked } from '../../scripts/run.ts';
import { newFolder } from '../kit/folder.ts';
import { has } from '../kit/needs.ts';
import { runChild } from '../kit/process.ts';
import { ROOT } from '../kit/relay.ts';

const folder = newFolder();

let folders = 0;

/** A new folder with these files. */
function makeFolder(files: Record<string, string>): string {
  folders += 1;
  const made = join(folder, `${folders}`);
  mkdirSync(made);
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

test('a file that git does not track is in no package', () => {
  const secret = join(ROOT, 'deploy/not-tracked.env');
  try {
    writeFileSync(secret, '');
    expect(listTracked('deploy')).toContain('deploy/nginx.conf');
    expect(listTracked('deploy')).not.toContain('deploy/not-tracked.env');
  } finally {
    rmSync(secret);
  }
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

const withCommands = test.if(
  has('POSIX commands', 'the scripts name addresses and versions, and publish nothing twice'),
);

withCommands('an owner names all addresses, and each version, with one command', async () => {
  const checkout = makeFolder({});
  const run = async (...command: readonly string[]) => {
    const { exitCode, output } = await runChild(command, { cwd: checkout });
    expect([exitCode, output]).toEqual([0, expect.any(String)]);
  };
  for (const path of listTracked('*.json', '*.yaml', 'docs/*.md', '*.sh', '.github')) {
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

/** Runs a script with a program that records its arguments, and fails for those that match. */
async function runRecorded(program: string, failing: string, ...script: readonly string[]) {
  const bin = makeFolder({});
  const record = join(bin, 'record');
  const lines = ['#!/bin/sh', `echo "$@" >> ${record}`, `case "$*" in ${failing}) exit 1 ;; esac`];
  writeFileSync(join(bin, program), `${lines.join('\n')}\n`, { mode: 0o755 });
  const env = { PATH: `${bin}:${process.env.PATH}` };
  const { exitCode } = await runChild(script, { cwd: ROOT, env });
  return { exitCode, commands: readFileSync(record, 'utf8').trim().split('\n') };
}

withCommands(
  'npm publishes each package with provenance, and a version that is there only once',
  async () => {
    const release = makeFolder({ 'relay-deploy.tar.gz': '' });
    for (const name of ['one', 'two']) {
      const source = makeFolder({});
      mkdirSync(join(source, 'package'));
      writeFileSync(
        join(source, 'package/package.json'),
        JSON.stringify({ name, version: '1.0.0' }),
      );
      await runChild(['tar', '-czf', join(release, `${name}.tgz`), '-C', source, 'package']);
    }
    const script = ['scripts/publish-npm.sh', release];
    // The second one is not published yet.
    expect(await runRecorded('npm', '"view two"*', ...script)).toEqual({
      exitCode: 0,
      commands: [
        'view one@1.0.0 version',
        'view two@1.0.0 version',
        `publish ${release}/two.tgz --access=public --provenance`,
      ],
    });
    const failed = await runRecorded('npm', 'view*|publish*', ...script);
    expect(failed).toMatchObject({ exitCode: 1 });
  },
);

test('a release is seen once all its files are there, and may be published again', async () => {
  const release = makeFolder({ a: '', SHA256SUMS: '' });
  const script = ['scripts/publish-release.sh', 'v1.0.0', release, 'notes.md'];
  const upload = `release upload v1.0.0 ${release}/SHA256SUMS ${release}/a --clobber`;
  const create = 'release create v1.0.0 --draft --verify-tag --title v1.0.0 --notes-file notes.md';
  const [view, edit] = ['release view v1.0.0', 'release edit v1.0.0 --draft=false'];
  expect(await runRecorded('gh', '*view*', ...script)).toEqual({
    exitCode: 0,
    commands: [view, create, upload, edit],
  });
  expect(await runRecorded('gh', 'none', ...script)).toEqual({
    exitCode: 0,
    commands: [view, upload, edit],
  });
  expect(await runRecorded('gh', '*upload*', ...script)).toEqual({
    exitCode: 1,
    commands: [view, upload],
  });
});
