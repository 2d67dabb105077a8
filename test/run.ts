/**
 * `npm test`: installs packages, then types, lint, the build for Node, every test that this machine
 * can run, and a search of every log for every secret. What it cannot run is left out and named
 * (kit/needs.ts); as root on Debian the programs are installed first. The last line is
 * `N passed, N failed`: checks, tests and the cases of the conformance suite. With CI=true nothing
 * may be missing, and a skipped test or case is a failure.
 */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findUndocumented } from './kit/log-document.ts';
import { describeLeftOut, FILES, findMissing } from './kit/needs.ts';
import { searchLogs } from './kit/secrets.ts';

/** Installs all programs of kit/needs.ts. */
const INSTALL = 'scripts/install-test-tools.sh';

interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

type Env = Readonly<Record<string, string>>;

const bun = process.execPath;
const ROOT = join(import.meta.dir, '..');
/** Folders with packages of their own, so that `npm ci` at the root installs little. */
const PACKAGE_FOLDERS = ['test', 'docs'];
const FILES_AT_ONCE = 5;
/** These take longest. They start first, so that none of them runs alone at the end. */
const FIRST = [
  'devices/sign-in',
  'conformance',
  'browser/lossy',
  'docs/site',
  'deploy/package',
  'redis/failover',
  'redis/faults',
  'dev/installed',
  'dev/endings',
  'model/model',
  'patterns',
].map((name) => `test/${name}.test.ts`);
/** Where tests name the parts that they leave out. */
const LEFT_OUT = 'left-out.txt';
/** More than the summary of `bun test` has. */
const ENDING_CHARACTERS = 500;
/** A search for fewer secrets means that the tests plant none any more. */
const MIN_SECRETS = 100;

const isStrict = process.env.CI === 'true';

async function main(): Promise<void> {
  const missing = await installMissing();
  for (const folder of PACKAGE_FOLDERS) await installPackages(folder);
  const folder = mkdtempSync(join(tmpdir(), 'sign-in-relay-test-'));
  // Ctrl-C reaches the running step too. We wait for its end and remove the folder, which holds secrets.
  process.on('SIGINT', () => undefined);
  try {
    const all = sum(await runAll(folder, missing.length > 0));
    const failed = all.failed + (isStrict ? all.skipped : 0);
    tellLeftOut(missing, readLeftOut(folder));
    if (all.skipped > 0) console.log(`\n${all.skipped} skipped`);
    console.log(`\n${all.passed} passed, ${failed} failed`);
    process.exitCode = failed === 0 ? 0 : 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What of this machine the tests lack, as kit/needs.ts names it. */
async function installMissing(): Promise<readonly string[]> {
  let missing = findMissing();
  const isDebianRoot = Bun.which('apt-get') !== null && process.getuid?.() === 0;
  if (missing.length > 0 && isDebianRoot) {
    console.log(`${INSTALL} installs ${missing.join(', ')}`);
    await run([INSTALL]);
    missing = findMissing();
  }
  if (missing.length > 0 && isStrict) {
    throw new Error(`With CI=true nothing may be missing: ${missing.join(', ')}. See ${INSTALL}.`);
  }
  return missing;
}

/** Each part once, though several files or processes may have left it out. */
function readLeftOut(folder: string): readonly string[] {
  const files = Object.entries(FILES).flatMap(
    ([path, needs]) => describeLeftOut(needs, `test/${path}`) ?? [],
  );
  const parts = readFileSync(join(folder, LEFT_OUT), 'utf8').split('\n').filter(Boolean);
  return [...new Set([...files, ...parts])].toSorted();
}

function tellLeftOut(missing: readonly string[], parts: readonly string[]): void {
  if (parts.length === 0) return;
  console.log('\nLeft out, for want of what comes first:');
  for (const part of parts) console.log(`  ${part}`);
  console.log(`\n${parts.length} parts were left out. This machine lacks: ${missing.join(', ')}.`);
  console.log(`${INSTALL} installs the programs on Debian, as root; there npm test runs it.`);
}

async function runAll(folder: string, isPart: boolean): Promise<Counts[]> {
  const file = (name: string) => join(folder, name);
  const [logs, secrets, cases] = [file('logs'), file('secrets.txt'), file('cases.txt')];
  mkdirSync(logs);
  for (const empty of [secrets, cases, file(LEFT_OUT)]) writeFileSync(empty, '');
  const tsc = [bun, 'x', 'tsc', '--noEmit'];
  return [
    await check('types', tsc),
    await check('types of the tests', [...tsc, '--project', 'test']),
    await check('types of the documentation site', [...tsc, '--project', 'docs']),
    await check('lint and format', [bun, 'x', 'biome', 'check']),
    await check('build for Node', [bun, 'run', 'build']),
    await runTests(
      {
        RELAY_TEST_BUILT: 'true',
        RELAY_TEST_LOGS: logs,
        RELAY_TEST_SECRETS: secrets,
        RELAY_TEST_COUNTS: cases,
        RELAY_TEST_LEFT_OUT: file(LEFT_OUT),
      },
      file('timings.json'),
    ),
    ...readFileSync(cases, 'utf8').split('\n').map(countCases),
    checkLogs(logs, secrets, isPart),
  ];
}

/** A line is as the conformance suite ends: `N passed, N failed`. */
function countCases(line: string): Counts {
  const [passed = 0, failed = 0, skipped = 0] = line.match(/\d+/g)?.map(Number) ?? [];
  return { passed, failed, skipped };
}

async function check(name: string, command: readonly string[]): Promise<Counts> {
  console.log(`\n${name}:`);
  return countOne((await run(command)) === 0);
}

/** A dot for each test that passes, and what fails. Most tests wait for something, so several files run at the same time. */
async function runTests(env: Env, timings: string): Promise<Counts> {
  console.log('\ntests:');
  const leftOut = Object.entries(FILES)
    .filter(([path, needs]) => describeLeftOut(needs, path) !== undefined)
    .map(([path]) => `--path-ignore-patterns=test/${path}*`);
  // Bun starts a file of which it does not know how long it takes before all others, so it needs a time for each.
  const patterns = ['test/*.test.ts', 'test/*/*.test.ts'].map((text) => new Bun.Glob(text));
  const paths = patterns.flatMap((pattern) => [...pattern.scanSync(ROOT)]);
  const files = Object.fromEntries(paths.map((path) => [path, FIRST.includes(path) ? 60_000 : 1]));
  writeFileSync(timings, JSON.stringify({ version: 1, files }));
  const order = [`--parallel=${FILES_AT_ONCE}`, `--timings=${timings}`];
  const options = ['--dots', '--timeout=60000', ...order, ...leftOut];
  const child = Bun.spawn([bun, 'test', ...options], {
    cwd: ROOT,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'inherit', 'pipe'],
  });
  let ending = '';
  for await (const text of child.stderr.pipeThrough(new TextDecoderStream())) {
    process.stderr.write(text);
    ending = (ending + text).slice(-ENDING_CHARACTERS);
  }
  const exitCode = await child.exited;
  const read = (word: string) =>
    Number(new RegExp(`^ ?(\\d+) ${word}$`, 'm').exec(ending)?.[1] ?? 0);
  const [passed, failed, skipped] = [read('pass'), read('fail'), read('skip') + read('todo')];
  // A crash has no summary.
  return { passed, failed: failed === 0 && exitCode !== 0 ? 1 : failed, skipped };
}

function checkLogs(logFolder: string, secretsFile: string, isPart: boolean): Counts {
  const { secrets, logs, findings } = searchLogs(logFolder, secretsFile);
  const covered = isPart ? ' of the tests that were run' : '';
  console.log(`\nsearch of ${logs} logs for ${secrets} secrets${covered}:`);
  for (const finding of findings) console.log(finding);
  const undocumented = [...findUndocumentedIn(logFolder)];
  for (const each of undocumented) console.log(`docs/reference.md lacks ${each}`);
  const isEmpty = logs === 0 || (!isPart && secrets < MIN_SECRETS);
  if (isEmpty) console.log('too few secrets or logs to search');
  return countOne(findings.length === 0 && undocumented.length === 0 && !isEmpty);
}

/** Every event and field of every relay, against the table of docs/reference.md. */
function findUndocumentedIn(logFolder: string): ReadonlySet<string> {
  const relayLogs = readdirSync(logFolder).filter((name) => name.startsWith('relay-'));
  const lines = relayLogs.flatMap((name) =>
    readFileSync(join(logFolder, name), 'utf8').split('\n'),
  );
  return new Set(lines.filter((line) => line.startsWith('{"time"')).flatMap(readUndocumented));
}

/** A process that was killed may have written half a line. */
function readUndocumented(line: string): readonly string[] {
  try {
    return findUndocumented(JSON.parse(line) as Record<string, unknown>);
  } catch {
    return [];
  }
}

function countOne(isGood: boolean): Counts {
  console.log(isGood ? 'ok' : 'FAILED');
  return { passed: isGood ? 1 : 0, failed: isGood ? 0 : 1, skipped: 0 };
}

function sum(all: readonly Counts[]): Counts {
  const total = (of: keyof Counts) => all.reduce((subtotal, counts) => subtotal + counts[of], 0);
  return { passed: total('passed'), failed: total('failed'), skipped: total('skipped') };
}

function run(command: readonly string[]): Promise<number> {
  const stdio: ['ignore', 'inherit', 'inherit'] = ['ignore', 'inherit', 'inherit'];
  return Bun.spawn([...command], { cwd: ROOT, stdio }).exited;
}

/** Does nothing if the packages of the lock file are there. */
async function installPackages(folder: string): Promise<void> {
  const lock = join(ROOT, folder, 'package-lock.json');
  const installed = join(ROOT, folder, 'node_modules/.package-lock.json');
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(lock).mtimeMs) return;
  if ((await run(['npm', 'ci', '--prefix', folder])) !== 0)
    throw new Error(`no packages in ${folder}/`);
}

await main();
