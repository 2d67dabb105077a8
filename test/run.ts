/**
 * `npm test`: types, lint, the build for Node, every test, and a search of every log
 * for every secret. The last line is `N passed, N failed`: checks, tests and the cases
 * of the conformance suite. With CI=true a skipped test or case is a failure.
 */
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
import { findUndocumented } from './kit/log-document.ts';
import { searchLogs } from './kit/secrets.ts';

/** Commands that the tests need, and the Debian packages that have them. */
const COMMANDS: Readonly<Record<string, string>> = {
  buildah: 'buildah',
  caddy: 'caddy',
  chromium: 'chromium',
  curl: 'curl',
  haproxy: 'haproxy',
  nginx: 'nginx-light',
  node: 'nodejs',
  openssl: 'openssl',
  'redis-cli': 'redis-tools',
  'redis-server': 'redis-server',
  script: 'bsdutils',
  /* For the programs of examples/devices. */
  go: 'golang-go',
  rustc: 'rustc',
  javac: 'default-jdk-headless',
  mcs: 'mono-mcs',
  mono: 'mono-runtime',
  'systemd-analyze': 'systemd',
  'valkey-server': 'valkey-server',
};

/** In Debian 12 these are in its backports alone. */
const FROM_BACKPORTS = new Set(['valkey-server']);

/** Files that the tests need, and the Debian packages that have them. */
const FILES: Readonly<Record<string, string>> = {
  '/usr/lib/mono/4.5/System.Net.Http.dll': 'libmono-system-net-http4.0-cil',
  '/usr/lib/mono/4.5/System.Runtime.Serialization.dll':
    'libmono-system-runtime-serialization4.0-cil',
};

/** The same for modules of Debian's Python. */
const PYTHON_MODULES: Readonly<Record<string, string>> = { oauthlib: 'python3-oauthlib' };

interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

type Env = Readonly<Record<string, string>>;

const bun = process.execPath;
const ROOT = join(import.meta.dir, '..');
const FILES_AT_ONCE = 2;
/** More than the summary of `bun test` has. */
const ENDING_CHARACTERS = 500;
/** A search for fewer secrets means that the tests plant none any more. */
const MIN_SECRETS = 100;

async function main(): Promise<void> {
  await installMissing();
  const folder = mkdtempSync(join(tmpdir(), 'sign-in-relay-test-'));
  // Ctrl-C reaches the running step too. We wait for its end and remove the folder, which holds secrets.
  process.on('SIGINT', () => undefined);
  try {
    const all = sum(await runAll(folder));
    const isStrict = process.env.CI === 'true';
    const failed = all.failed + (isStrict ? all.skipped : 0);
    if (all.skipped > 0) console.log(`\n${all.skipped} skipped`);
    console.log(`\n${all.passed} passed, ${failed} failed`);
    process.exitCode = failed === 0 ? 0 : 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function runAll(folder: string): Promise<Counts[]> {
  const file = (name: string) => join(folder, name);
  const [logs, secrets, cases] = [file('logs'), file('secrets.txt'), file('cases.txt')];
  mkdirSync(logs);
  for (const empty of [secrets, cases]) writeFileSync(empty, '');
  return [
    await check('types', ['node_modules/.bin/tsc', '--noEmit']),
    await check('lint and format', ['node_modules/.bin/biome', 'check']),
    await check('build for Node', [bun, 'run', 'build']),
    await runTests({
      RELAY_TEST_BUILT: 'true',
      RELAY_TEST_LOGS: logs,
      RELAY_TEST_SECRETS: secrets,
      RELAY_TEST_COUNTS: cases,
    }),
    ...readFileSync(cases, 'utf8').split('\n').map(countCases),
    checkLogs(logs, secrets),
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

/** Their results appear as they come. Most tests wait for something, so two files run at the same time. */
async function runTests(env: Env): Promise<Counts> {
  console.log('\ntests:');
  const child = Bun.spawn([bun, 'test', '--timeout=30000', `--parallel=${FILES_AT_ONCE}`], {
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
    Number(new RegExp(`^ (\\d+) ${word}$`, 'm').exec(ending)?.[1] ?? 0);
  const [passed, failed, skipped] = [read('pass'), read('fail'), read('skip') + read('todo')];
  // A crash has no summary.
  return { passed, failed: failed === 0 && exitCode !== 0 ? 1 : failed, skipped };
}

function checkLogs(logFolder: string, secretsFile: string): Counts {
  const { secrets, logs, findings } = searchLogs(logFolder, secretsFile);
  console.log(`\nsearch of ${logs} logs for ${secrets} secrets:`);
  for (const finding of findings) console.log(finding);
  const undocumented = [...findUndocumentedIn(logFolder)];
  for (const each of undocumented) console.log(`docs/operating.md lacks ${each}`);
  const isEmpty = logs === 0 || secrets < MIN_SECRETS;
  if (isEmpty) console.log('too few secrets or logs to search');
  return countOne(findings.length === 0 && undocumented.length === 0 && !isEmpty);
}

/** Every event and field of every relay, against the table of docs/operating.md. */
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

function run(command: readonly string[], env: Env = {}): Promise<number> {
  const options = { cwd: ROOT, env: { ...process.env, ...env } };
  return Bun.spawn([...command], { ...options, stdio: ['ignore', 'inherit', 'inherit'] }).exited;
}

/** Leaves alone what is there. Without apt-get or its rights, it throws and names what is missing. */
async function installMissing(): Promise<void> {
  console.log(
    `the tests need ${[...Object.keys(COMMANDS), ...Object.keys(PYTHON_MODULES)].join(', ')}`,
  );
  const packages = missingPackages();
  if (packages.length === 0) return console.log('all of it is here');
  const names = packages.join(' ');
  if (Bun.which('apt-get') === null || process.getuid?.() !== 0) throw missingError(names);
  console.log(`missing, and installed now with apt-get: ${names}`);
  await run(['apt-get', '--quiet', 'update']);
  await install(packages.filter((name) => !FROM_BACKPORTS.has(name) || !isDebian12()));
  const rest = missingPackages();
  if (rest.length > 0 && isDebian12()) await installFromBackports(rest);
  const still = missingPackages();
  if (still.length > 0) throw missingError(still.join(' '));
}

async function install(packages: readonly string[], options: readonly string[] = []) {
  if (packages.length === 0) return;
  const command = ['install', '--yes', '--no-install-recommends', ...packages];
  const env = { DEBIAN_FRONTEND: 'noninteractive' };
  await run(['apt-get', '--quiet', ...options, ...command], env);
}

function isDebian12(): boolean {
  return /^VERSION_CODENAME=bookworm$/m.test(readFileSync('/etc/os-release', 'utf8'));
}

/** With lists of sources of its own, from the same mirror: those of the machine stay as they are. */
async function installFromBackports(packages: readonly string[]): Promise<void> {
  const format = '$(REPO_URI) $(CODENAME) $(COMPONENT)';
  const { stdout } = Bun.spawnSync(['apt-get', 'indextargets', '--format', format]);
  const [, mirror = ''] = /^(\S+) bookworm main$/m.exec(stdout.toString()) ?? [];
  const folder = mkdtempSync(join(tmpdir(), 'sign-in-relay-apt-'));
  const lists = join(folder, 'lists');
  mkdirSync(join(lists, 'partial'), { recursive: true });
  const sources = join(folder, 'sources.list');
  const keys = '[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]';
  const suites = ['bookworm', 'bookworm-backports'];
  writeFileSync(sources, suites.map((suite) => `deb ${keys} ${mirror} ${suite} main\n`).join(''));
  const options = [
    ...['-o', `Dir::Etc::sourcelist=${sources}`, '-o', 'Dir::Etc::sourceparts=-'],
    ...['-o', `Dir::State::lists=${lists}`, '--target-release', 'bookworm-backports'],
  ];
  await run(['apt-get', '--quiet', ...options, 'update']);
  await install(packages, options);
  rmSync(folder, { recursive: true, force: true });
}

function missingPackages(): string[] {
  const commands = Object.entries(COMMANDS).filter(([command]) => Bun.which(command) === null);
  const modules = Object.entries(PYTHON_MODULES).filter(([module]) => !canImport(module));
  const files = Object.entries(FILES).filter(([path]) => !existsSync(path));
  return [...commands, ...modules, ...files].map(([, name]) => name);
}

function canImport(module: string): boolean {
  // Another Python that is first in PATH would not find Debian's modules.
  const python = Bun.which('python3', { PATH: '/usr/bin' });
  return python !== null && Bun.spawnSync([python, '-c', `import ${module}`]).success;
}

function missingError(names: string): Error {
  return new Error(
    `The tests need packages that are not here. Install them and run again; on Debian as root: apt-get install ${names}`,
  );
}

await main();
