/** The scripts of a release, apart from what they build: test/deploy/package.test.ts, test/deploy/image.soak.ts. */
import { afterAll, expect, test } from 'bun:test';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mayReplace, removeRelease } from '../../scripts/release.ts';
import { findNotes, findObstacles } from '../../scripts/release-notes.ts';
import { listTracked } from '../../scripts/run.ts';
import { runChild } from '../kit/process.ts';
import { ROOT } from '../kit/relay.ts';

const folder = mkdtempSync(join(tmpdir(), 'sign-in-relay-release-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let folders = 0;

/** A new folder with these files. */
function makeFolder(files: Record<string, string>): string {
  folders += 1;
  const made = join(folder, `${folders}`);
  mkdirSync(made);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(made, name), text);
  return made;
}

/** What `npm run release` leaves, in small. */
async function makeRelease(): Promise<string> {
  const made = makeFolder({ 'a.tgz': 'a', 'b.tar.gz': 'b' });
  const { output } = await runChild(['sha256sum', 'a.tgz', 'b.tar.gz'], { cwd: made });
  writeFileSync(join(made, 'SHA256SUMS'), output);
  return made;
}

/** In a folder of its own, so that a name without a path would be made there. */
function runRelease(...args: readonly string[]) {
  return runChild([process.execPath, join(ROOT, 'scripts/release.ts'), ...args], { cwd: folder });
}

test('a folder that is not a release is refused and stays as it is, wherever --image stands', async () => {
  const foreign = makeFolder({ 'thesis.txt': 'mine' });
  mkdirSync(join(foreign, 'pictures'));
  for (const args of [[foreign], ['--image', foreign], [foreign, '--image']]) {
    const { exitCode, output } = await runRelease(...args);
    expect([exitCode, output]).toEqual([1, expect.stringContaining('is not an earlier release')]);
  }
  expect(readFileSync(join(foreign, 'thesis.txt'), 'utf8')).toBe('mine');
  expect(readdirSync(foreign).sort()).toEqual(['pictures', 'thesis.txt']);
  expect(existsSync(join(folder, '--image'))).toBe(false);
});

test.each([
  ['an option that does not exist', ['--imag']],
  ['two folders', ['one', 'two']],
])('%s is refused', async (_, args) => {
  expect((await runRelease(...args)).exitCode).toBe(1);
  expect(readdirSync(folder)).not.toContain('one');
});

test('an earlier release is replaced', async () => {
  const release = await makeRelease();
  expect(mayReplace(release)).toBe(true);
  removeRelease(release);
  expect(existsSync(release)).toBe(false);
});

test.each<[string, (release: string) => void]>([
  ['a file beside it', (release) => writeFileSync(join(release, 'notes.txt'), '')],
  ['a folder beside it', (release) => mkdirSync(join(release, 'notes'))],
  ['a file that was changed', (release) => writeFileSync(join(release, 'a.tgz'), 'mine')],
  ['no checksums', (release) => rmSync(join(release, 'SHA256SUMS'))],
])('a release with %s is not', async (_, change) => {
  const release = await makeRelease();
  change(release);
  const names = readdirSync(release);
  expect(mayReplace(release)).toBe(false);
  expect(() => removeRelease(release)).toThrow();
  expect(readdirSync(release)).toEqual(names);
});

test.each([
  ['nothing', true, join(folder, 'nothing')],
  ['an empty folder', true, makeFolder({})],
  ['a file', false, join(makeFolder({ file: '' }), 'file')],
])('%s may be replaced: %p', (_, expected, path) => {
  expect(mayReplace(path)).toBe(expected);
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

test('the notes of a tag that is no version are refused, and nothing is written', async () => {
  const file = join(folder, 'notes.md');
  const command = [process.execPath, 'scripts/release-notes.ts', 'v0.0.0-none', file];
  const env = { GITHUB_SERVER_URL: 'https://git.example', GITHUB_REPOSITORY: 'owner/relay' };
  const { exitCode, output } = await runChild(command, { cwd: ROOT, env });
  expect([exitCode, output]).toEqual([1, expect.stringContaining('CHANGELOG.md has no section')]);
  expect(existsSync(file)).toBe(false);
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

test('npm publishes each package with provenance, and a version that is there only once', async () => {
  const release = makeFolder({ 'relay-deploy.tar.gz': '' });
  for (const name of ['one', 'two']) {
    const source = makeFolder({});
    mkdirSync(join(source, 'package'));
    writeFileSync(join(source, 'package/package.json'), JSON.stringify({ name, version: '1.0.0' }));
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
});

test('a release is seen once all of its files are there, and its publication may be repeated', async () => {
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

test('the image is signed, and has the bill of materials of the release', async () => {
  const release = makeFolder({ 'relay-1.0.0.cdx.json': '' });
  const script = ['scripts/sign-image.sh', 'relay@sha256:1', release];
  expect(await runRecorded('cosign', 'none', ...script)).toEqual({
    exitCode: 0,
    commands: [
      'sign --yes --recursive relay@sha256:1',
      `attest --yes --type=cyclonedx --predicate=${release}/relay-1.0.0.cdx.json relay@sha256:1`,
    ],
  });
  expect(await runRecorded('cosign', 'sign*', ...script)).toMatchObject({ exitCode: 1 });
});
