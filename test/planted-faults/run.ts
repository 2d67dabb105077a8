/**
 * `npm run planted-faults`: would the tests find a fault? Plants each fault of faults.ts in a
 * copy of the project and runs there the tests that should find it. Fails if one is missed.
 * With words it plants only the faults whose name or file contains one of them.
 */
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
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
  /** Which test failed. Undefined: the fault was missed. */
  readonly foundBy: string | undefined;
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
      const finding = { fault, foundBy: await tryFault(copy, fault) };
      console.log(`${describe(finding)}\n`);
      findings.push(finding);
    }
    summarize(findings);
  } finally {
    removeCopy(copy);
  }
}

function createCopy(): string {
  const copy = mkdtempSync(join(tmpdir(), 'sign-in-relay-faults-'));
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

/** The first of its tests that fails, and passes without the fault. */
async function tryFault(copy: string, fault: Fault): Promise<string | undefined> {
  const path = join(copy, fault.file);
  const original = readFileSync(path, 'utf8');
  for (const test of fault.tests) {
    writeFileSync(path, plant(fault, original));
    const failed = await findFailure(copy, test);
    writeFileSync(path, original);
    if (failed === undefined) continue;
    const failsAnyway = passing.has(test) ? undefined : await findFailure(copy, test);
    if (failsAnyway !== undefined) throw new Error(`Fails without a fault: ${failsAnyway}`);
    passing.add(test);
    return failed;
  }
  return undefined;
}

async function findFailure(copy: string, test: string): Promise<string | undefined> {
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
  if (name !== undefined) return `${file}: ${name}`;
  if (child.signalCode === 'SIGKILL') return `${file}: did not end`;
  // Not a fault that a test has found: the file cannot be loaded, for instance.
  throw new Error(`${test} ended with ${exitCode}:\n${output}`);
}

function describe({ fault, foundBy }: Finding): string {
  return `${foundBy === undefined ? 'MISSED' : 'found '}  ${fault.file}\n        ${fault.name}\n        ${foundBy ?? ''}`;
}

function summarize(findings: readonly Finding[]): void {
  const found = findings.filter(({ foundBy }) => foundBy !== undefined);
  const byFile = Map.groupBy(found, ({ foundBy = '' }) => foundBy.split(': ')[0] ?? '');
  const counts = [...byFile].map(([file, { length }]) => ({ file, length }));
  for (const { file, length } of counts.toSorted((a, b) => b.length - a.length)) {
    console.log(`${String(length).padStart(4)}  ${file}`);
  }
  const missed = findings.length - found.length;
  console.log(`\n${findings.length} planted, ${found.length} found, ${missed} missed`);
  process.exitCode = missed === 0 ? 0 : 1;
}

await main(process.argv.slice(2));
