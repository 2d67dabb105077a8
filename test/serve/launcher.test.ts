/**
 * `sign-in-relay` on each system and runtime, and in a folder of a stranger: bin/sign-in-relay.cjs. As a
 * package in test/dev/installed.test.ts, as an executable in test/deploy/package.test.ts.
 */
import { describe, expect, test } from 'bun:test';
import { EventEmitter } from 'node:events';
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { join, win32 } from 'node:path';
import { pathToFileURL } from 'node:url';
import { newFolder } from '../kit/folder.ts';
import { has } from '../kit/needs.ts';
import { asNode, nodeAfter } from '../kit/old-node.ts';
import { NODE, PATH_WITHOUT_BUN, runChild } from '../kit/process.ts';
import { serveUpstream } from '../kit/provider.ts';
import { LAUNCHER, ROOT, startRelay } from '../kit/relay.ts';
import { expectUnaffected, makeUntrustedFolder } from '../kit/untrusted-folder.ts';

const readChildren = (pid: number) =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean);

const onLinux = test.if(
  has('Linux', 'the command `sign-in-relay` leaves one process where it can'),
);

/** Every line is an event, so nothing else was printed. */
const expectEventsAlone = (output: string) => expect(output).toMatch(/^(\{"time":.*\}\n)+$/);

onLinux('if Node can replace its process the launcher becomes Bun and prints nothing', async () => {
  const relay = await startRelay({}, { command: [NODE, LAUNCHER] });
  const [program = ''] = readFileSync(`/proc/${relay.pid}/cmdline`, 'utf8').split('\0');
  expect(program).toEndWith('node_modules/bun/bin/bun.exe');
  expect(readChildren(relay.pid)).toEqual([]);
  expect(await relay.stop()).toBe(0);
  expectEventsAlone(relay.output());
});

/** https://github.com/nodejs/node/issues/54232 */
test('npm start leaves an --env-file to the relay, which Node would read first', async () => {
  const start = ['npm', 'start', '--silent', '--', '--env-file', 'no.env'];
  const { exitCode, output } = await runChild(start, { cwd: ROOT });
  expect([exitCode, output]).toEqual([78, '--env-file "no.env" does not exist\n']);
});

describe('where Node cannot replace its process, as before 22.15, the launcher', () => {
  const command = () => [...nodeAfter('delete process.execve;'), LAUNCHER];

  test('passes on signals, and ends with 0 after the relay', async () => {
    const relay = await startRelay({}, { command: command() });
    expect(await relay.stop('SIGINT')).toBe(0);
    expect(relay.events('draining')).toMatchObject([{ signal: 'SIGINT' }]);
    expectEventsAlone(relay.output());
  });

  onLinux('ends by the signal that killed the relay', async () => {
    const relay = await startRelay({}, { command: command() });
    for (const pid of readChildren(relay.pid)) process.kill(Number(pid), 'SIGKILL');
    expect(await relay.exited).toBe(128 + constants.signals.SIGKILL);
  });
});

onLinux('Bun runs the launcher where there is no Node, and stays the only process', async () => {
  const command = [process.execPath, LAUNCHER];
  const relay = await startRelay({ PATH: '' }, { command });
  expect(readFileSync(`/proc/${relay.pid}/cmdline`, 'utf8')).toContain('--no-env-file');
  expect(readChildren(relay.pid)).toEqual([]);
  expect(await relay.stop()).toBe(0);
});

test('where no script of a package may run the launcher finds Bun, also with pnpm', async () => {
  const folder = newFolder();
  const store = join(folder, 'node_modules/.pnpm');
  const own = join(store, 'sign-in-relay/node_modules/sign-in-relay');
  const bun = join(store, 'bun/node_modules/bun');
  const program = join(bun, '../@oven/bun-x/bin');
  for (const each of [join(own, 'dist/cli'), join(bun, 'bin'), program]) {
    mkdirSync(each, { recursive: true });
  }
  cpSync(join(ROOT, 'bin'), join(own, 'bin'), { recursive: true });
  cpSync(join(ROOT, 'tsconfig.json'), join(own, 'tsconfig.json'));
  writeFileSync(join(own, 'dist/cli/main.js'), 'console.log(process.versions.bun);');
  writeFileSync(join(bun, 'bin/bun.exe'), 'exit 1\n', { mode: 0o755 });
  symlinkSync(process.execPath, join(program, 'bun'));
  symlinkSync(bun, join(own, '../bun'));
  const command = [NODE, join(own, 'bin/sign-in-relay.cjs')];
  const { exitCode, output } = await runChild(command, { env: { PATH: PATH_WITHOUT_BUN } });
  expect([exitCode, output]).toEqual([0, `${Bun.version}\n`]);
});

describe('without a Bun, the launcher', () => {
  /** Installs a package with nothing else in it. */
  function install(build?: string): string {
    const folder = newFolder();
    cpSync(join(ROOT, 'bin'), join(folder, 'bin'), { recursive: true });
    mkdirSync(join(folder, 'dist/cli'), { recursive: true });
    if (build !== undefined) writeFileSync(join(folder, 'dist/cli/main.js'), build);
    return join(folder, 'bin/sign-in-relay.cjs');
  }
  const run = (launcher: string, node: readonly string[] = [NODE]) =>
    runChild([...node, launcher, 'check', '--json'], { env: { PATH: PATH_WITHOUT_BUN } });

  test('runs the build for Node in its own process', async () => {
    const launcher = install('console.log(process.argv.slice(2).join()); process.exitCode = 3;');
    expect(await run(launcher)).toEqual({ exitCode: 3, output: 'check,--json\n' });
  });

  test.each([
    ['a new Node', '', () => asNode('18.20.8'), 'Node 18.20.8 is too old: install Node 24'],
    ['a build', undefined, () => [NODE], 'there is no build for Node: run npm ci'],
  ])('says what is missing: %s', async (_, build, node, problem) => {
    const output = `sign-in-relay: there is no Bun 1.4 or newer, and ${problem}\n`;
    expect(await run(install(build), node())).toEqual({ exitCode: 1, output });
  });
});

describe('with the paths and variables of Windows, the launcher', () => {
  const HOME = 'C:\\Users\\Zoë Q';
  const PACKAGE = `${HOME}\\AppData\\Roaming\\npm\\node_modules\\sign-in-relay`;
  const BESIDE = `${HOME}\\AppData\\Roaming\\npm\\node_modules`;
  const IN_PATH = `${HOME}\\.bun\\bin\\bun.exe`;

  /** Runs it with everything of the system replaced. `files`: what exists. */
  function launch(files: readonly string[]) {
    const child = Object.assign(new EventEmitter(), { killed: [] as string[] });
    const asked: string[] = [];
    const spawned: { program: string; args: string[]; options: { env: object } }[] = [];
    const system = {
      'node:path': win32,
      'node:url': { pathToFileURL },
      'node:fs': {
        existsSync: (path: string) => files.some((file) => `${file}\\`.startsWith(`${path}\\`)),
        realpathSync: (path: string) => path,
      },
      'node:child_process': {
        spawnSync(program: string) {
          asked.push(program);
          return { stdout: '1.4.5\n' };
        },
        spawn(program: string, args: string[], options: { env: object }) {
          spawned.push({ program, args, options });
          return Object.assign(child, { kill: (signal: string) => child.killed.push(signal) });
        },
      },
    };
    const exits: number[] = [];
    const fakeProcess = Object.assign(new EventEmitter(), {
      platform: 'win32',
      versions: { node: '24.21.0' },
      argv: ['C:\\Program Files\\nodejs\\node.exe', 'sign-in-relay.cjs', 'login', 'mal'],
      // Windows itself looks for a program in the current folder before it looks in PATH.
      env: { PATH: `.;tools;C:\\Windows;${HOME}\\.bun\\bin`, SystemRoot: 'C:\\Windows' },
      execve: () => expect.unreachable('it throws there'),
      exit: (code: number) => exits.push(code),
    });
    const code = readFileSync(LAUNCHER, 'utf8').replace(/^#!.*\n/, '');
    new Function('require', '__dirname', 'process', code)(
      (name: keyof typeof system) => system[name],
      `${PACKAGE}\\bin`,
      fakeProcess,
    );
    return { asked, spawned, child, process: fakeProcess, exits };
  }

  test('starts the Bun that npm installed beside it, with files of its own', () => {
    const { spawned } = launch([`${BESIDE}\\bun\\bin\\bun.exe`, IN_PATH]);
    expect(spawned).toEqual([
      {
        program: `${BESIDE}\\bun\\bin\\bun.exe`,
        args: [
          `--config=${PACKAGE}\\bin\\bunfig.toml`,
          `--tsconfig-override=${PACKAGE}\\tsconfig.json`,
          '--no-env-file',
          '--no-install',
          `${PACKAGE}\\dist\\cli\\main.js`,
          'login',
          'mal',
        ],
        options: {
          stdio: 'inherit',
          env: expect.objectContaining({
            SystemRoot: 'C:\\Windows',
            BUN_CONFIG_MAX_HTTP_REQUESTS: '5000',
          }),
        } as never,
      },
    ]);
  });

  test('takes a Bun from a full path in PATH, and none from the current folder', () => {
    const here = ['bun.exe', '.\\bun.exe', 'tools\\bun.exe'];
    const { asked, spawned } = launch([...here, IN_PATH]);
    expect(asked).toEqual([IN_PATH]);
    expect(spawned.map(({ program }) => program)).toEqual([IN_PATH]);
  });

  test('outlives Ctrl-C, which Bun gets too, and ends with the exit code of Bun', () => {
    const { child, process, exits } = launch([IN_PATH]);
    for (const signal of ['SIGINT', 'SIGBREAK', 'SIGHUP']) {
      expect(process.listenerCount(signal)).toBe(1);
      process.emit(signal);
    }
    expect(child.killed).toEqual([]);
    child.emit('exit', 130, null);
    expect(exits).toEqual([130]);
  });
});

test('in a folder of a stranger a checkout runs no code and sets no variable of it', () =>
  expectUnaffected([NODE, LAUNCHER], { cwd: makeUntrustedFolder() }));

test('a checkout without packages takes none, and no Bun, that the folder names', async () => {
  using registry = serveUpstream(() => new Response('{}', { status: 404 }));
  const folder = newFolder();
  const checkout = join(folder, 'checkout');
  for (const part of ['package.json', 'tsconfig.json', 'bin', 'src']) {
    cpSync(join(ROOT, part), join(checkout, part), { recursive: true });
  }
  const beside = join(folder, 'bun/bin');
  mkdirSync(beside, { recursive: true });
  writeFileSync(join(beside, 'bun.exe'), '#!/bin/sh\necho 9.9.9\n', { mode: 0o755 });
  const inPath = join(folder, 'path');
  mkdirSync(inPath);
  symlinkSync(process.execPath, join(inPath, 'bun'));
  const cwd = join(folder, 'clone');
  mkdirSync(cwd);
  writeFileSync(join(cwd, '.npmrc'), `registry=${registry.url}/\n`);
  const env = { PATH: inPath, HOME: folder, NO_PROXY: '127.0.0.1' };
  const command = [NODE, join(checkout, 'bin/sign-in-relay.cjs'), '--version'];
  const { exitCode, output } = await runChild(command, { cwd, env });
  expect([exitCode, output]).toEqual([1, expect.stringContaining('Cannot find package')]);
  expect(registry.requests).toEqual([]);
});
