/**
 * `npm run planted-faults`: would the tests find a fault? Plants each fault of faults.ts in a
 * copy of the project and runs there the tests that should find it. Fails if one is missed.
 * With words it plants only the faults whose name or file contains one of them.
 */
import {
  chmodSync,
  cpSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { FAULTS, type Fault, parseTest, plant } from './faults.ts';

const ROOT = join(import.meta.dir, '../..');
/** Not copied: what is large, or made from the rest. */
const NOT_COPIED = new Set(['.git', 'node_modules', 'dist']);
/** A fault may let tests wait for ever. The slowest of these files takes a minute. */
const RUN_MS = 300_000;

interface Finding {
  readonly fault: Fault;
  readonly outcome: 'found' | 'MISSED' | 'UNDECIDED';
  /** The test that failed, or why that proves nothing. */
  readonly detail: string;
}

async function main(words: readonly string[]): Promise<void> {
  const chosen = FAULTS.filter(
    ({ name, file }) =>
      words.length === 0 || words.some((word) => `${name} ${file}`.includes(word)),
  );
  const copy = createCopy();
  process.on('SIGINT', () => {
    removeCopy(copy);
    process.exit(130);
  });
  try {
    const findings: Finding[] = [];
    for (const fault of chosen) {
      const finding = { fault, ...(await tryFault(copy, fault)) };
      console.log(describe(finding));
      findings.push(finding);
    }
    summarize(findings);
  } finally {
    removeCopy(copy);
  }
}

function createCopy(): string {
  const copy = mkdtempSync(join(tmpdir(), 'sign-in-relay-faults-'));
  // Some tests run a relay as another user.
  chmodSync(copy, 0o755);
  cpSync(ROOT, copy, {
    recursive: true,
    filter: (path) => !NOT_COPIED.has(relative(ROOT, path)),
  });
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  return copy;
}

const removeCopy = (copy: string) => rmSync(copy, { recursive: true, force: true });

/** Those that pass without a fault. */
const passing = new Set<string>();

type Outcome = Omit<Finding, 'fault'>;

/** Found by the first of its tests that fails, and passes without the fault. */
async function tryFault(copy: string, fault: Fault): Promise<Outcome> {
  const path = join(copy, fault.file);
  const original = readFileSync(path, 'utf8');
  for (const test of fault.tests) {
    writeFileSync(path, plant(fault, original));
    const failed = await findFailure(copy, test);
    writeFileSync(path, original);
    if (failed === undefined) continue;
    if (failed.test === undefined) return { outcome: 'UNDECIDED', detail: failed.output };
    const failsAnyway = passing.has(test) ? undefined : await findFailure(copy, test);
    if (failsAnyway) return { outcome: 'UNDECIDED', detail: `${test} fails without the fault` };
    passing.add(test);
    return { outcome: 'found', detail: failed.test };
  }
  return { outcome: 'MISSED', detail: '' };
}

interface Failed {
  /** Undefined: the file could not be loaded, for instance, which is not a fault that a test found. */
  readonly test: string | undefined;
  readonly output: string;
}

async function findFailure(copy: string, test: string): Promise<Failed | undefined> {
  const { file, env, filter } = parseTest(test);
  const child = Bun.spawn(
    [process.execPath, 'test', '--timeout=30000', '--bail=1', file, ...filter],
    {
      cwd: copy,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: RUN_MS,
      killSignal: 'SIGKILL',
    },
  );
  const output = await new Response(child.stderr).text();
  const exitCode = await child.exited;
  if (exitCode === 0) return undefined;
  const [, name] = /^\(fail\) (.*?)(?: \[[\d.]+ms\])?$/m.exec(output) ?? [];
  const how = name ?? (child.signalCode === 'SIGKILL' ? 'did not end' : undefined);
  return { test: how && `${file}: ${how}`, output };
}

function describe({ fault, outcome, detail }: Finding): string {
  return `${outcome.padEnd(9)} ${fault.file}: ${fault.name}\n          ${detail}\n`;
}

function summarize(findings: readonly Finding[]): void {
  const of = (wanted: Finding['outcome']) => findings.filter(({ outcome }) => outcome === wanted);
  const byFile = Map.groupBy(of('found'), ({ detail }) => detail.split(': ')[0] ?? '');
  const counts = [...byFile].map(([file, { length }]) => ({ file, length }));
  for (const { file, length } of counts.toSorted((a, b) => b.length - a.length)) {
    console.log(`${String(length).padStart(4)}  ${file}`);
  }
  const [found, missed, undecided] = [of('found'), of('MISSED'), of('UNDECIDED')];
  console.log(
    `\n${findings.length} planted, ${found.length} found, ${missed.length} missed, ${undecided.length} undecided`,
  );
  process.exitCode = found.length === findings.length ? 0 : 1;
}

await main(process.argv.slice(2));
