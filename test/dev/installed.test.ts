/** The package as it is installed: `npm pack`, and beside it only what it depends on at run time. */
import { beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import {
  chmodSync,
  cpSync,
  mkdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import packageJson from '../../package.json' with { type: 'json' };
import { installClient } from '../kit/client-package.ts';
import { startDev } from '../kit/dev.ts';
import { poll, start } from '../kit/device.ts';
import { newFolder } from '../kit/folder.ts';
import { findFreePort, NODE, PATH_WITHOUT_BUN, runChild } from '../kit/process.ts';
import { buildForNode, ROOT, startRelay } from '../kit/relay.ts';
import { expectUnaffected, makeUntrustedFolder } from '../kit/untrusted-folder.ts';
import { pollUntil } from '../kit/wait.ts';

setDefaultTimeout(120_000);

/** Installs it as npm would, but offline: unpacked, its command linked and executable. */
async function install(): Promise<string> {
  const folder = newFolder();
  await buildForNode();
  const pack = ['npm', 'pack', '--ignore-scripts', '--pack-destination', folder];
  const packed = await runChild(pack, { cwd: ROOT, env: { HOME: folder } });
  expect(packed.exitCode).toBe(0);
  const modules = join(folder, 'node_modules');
  mkdirSync(join(modules, '.bin'), { recursive: true });
  const archive = Bun.file(join(folder, `sign-in-relay-${packageJson.version}.tgz`));
  await new Bun.Archive(await archive.bytes()).extract(modules);
  renameSync(join(modules, 'package'), join(modules, 'sign-in-relay'));
  for (const name of Object.keys(packageJson.dependencies)) copyModule(name, modules);
  const command = join(modules, 'sign-in-relay', packageJson.bin['sign-in-relay']);
  chmodSync(command, 0o755);
  symlinkSync(command, join(modules, '.bin', 'sign-in-relay'));
  return folder;
}

/** Copied, not linked: from a link the modules of the checkout would be found. */
function copyModule(name: string, modules: string): void {
  cpSync(`${ROOT}node_modules/${name}`, join(modules, name), {
    recursive: true,
    dereference: true,
  });
}

const bunFolder = newFolder();
symlinkSync(process.execPath, join(bunFolder, 'bun'));
const ON_BUN = { PATH: `${bunFolder}:${process.env.PATH}`, NO_PROXY: '127.0.0.1' };
const ON_NODE = { PATH: PATH_WITHOUT_BUN };

let cwd = '';
let command = '';
beforeAll(async () => {
  cwd = await install();
  command = join(cwd, 'node_modules', '.bin', 'sign-in-relay');
});

test('installed: dev, its television and login need the runtime dependencies alone', async () => {
  const env = ON_BUN;
  await using dev = await startDev({ command: [command], cwd, env });
  await dev.plan({ ending: 'approve', auto: true });
  const { session } = await start(dev, 'dev');
  expect((await poll(dev, session)).status).toBe(200);
  for (const path of ['/tv?relay=http://127.0.0.1', '/client/dist/tv.js']) {
    expect([path, (await dev.askProvider(path)).status]).toEqual([path, 200]);
  }
  await dev.plan({ ending: 'deny', auto: true });
  const line = [command, 'login', 'dev', '--relay', dev.relayUrl, '--tokens', join(cwd, 'tokens')];
  const login = await runChild(line, { cwd, env });
  expect(login.exitCode).toBe(3);
  const help = await runChild([command, '--help'], { cwd, env });
  expect(help).toMatchObject({ exitCode: 0 });
});

test('installed: bunx starts it where there is no Node', async () => {
  const bunx = [join(bunFolder, 'bun'), 'x', 'sign-in-relay', '--version'];
  const { exitCode, output } = await runChild(bunx, { cwd, env: { PATH: bunFolder } });
  expect([exitCode, output]).toEqual([0, expect.stringMatching(/ on Bun \S+\n$/)]);
});

/** A stand-in by https://docs.expo.dev/versions/latest/sdk/securestore/, which restricts keys to these characters. */
const SECURE_STORE = `
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
const file = (key) => {
  if (!/^[\\w.-]+$/.test(key)) throw new Error('Invalid key');
  mkdirSync('store', { recursive: true });
  return 'store/' + key;
};
export const getItem = (key) => {
  try { return readFileSync(file(key), 'utf8'); } catch { return null; }
};
export const setItem = (key, value) => writeFileSync(file(key), value);
export const deleteItemAsync = async (key) => rmSync(file(key), { force: true });
`;

/** A stand-in by https://www.electronjs.org/docs/latest/api/safe-storage. */
const ELECTRON = `
const turned = (bytes) => Buffer.from(bytes.map((byte) => byte ^ 255));
export const app = { getPath: () => process.cwd() };
export const safeStorage = {
  encryptString: (text) => turned(Buffer.from(text)),
  decryptString: (encrypted) => turned(encrypted).toString(),
};
`;

describe("installed, beside the client, in an app's project", () => {
  const modules = () => join(cwd, 'node_modules');

  beforeAll(async () => {
    await installClient(modules());
    for (const name of ['@types', 'undici-types']) copyModule(name, modules());
  });

  const readme = readFileSync(`${ROOT}client/README.md`, 'utf8');

  /** The snippet that begins so, at this relay. */
  function snippet(begin: string, { relayUrl = '', providerUrl = '' } = {}): string {
    const [, code = ''] = new RegExp(`\`\`\`ts\n(${begin}[\\s\\S]*?)\`\`\``).exec(readme) ?? [];
    return code
      .replace(/http:\/\/127.0.0.1:8080|https:\/\/relay.example/, relayUrl)
      .replace('http://127.0.0.1:8081', providerUrl)
      .replace("'mal'", "'dev'");
  }

  test('the ten lines of the README sign in and ask an API, against a dev relay', async () => {
    await using dev = await startDev({ command: [command], cwd, env: ON_BUN });
    await dev.plan({ ending: 'approve', auto: true });
    writeFileSync(join(cwd, 'ten.mjs'), snippet('import \\{ createSession', dev));
    const ran = await runChild([NODE, 'ten.mjs'], { cwd });
    expect(ran).toMatchObject({ exitCode: 0, output: expect.stringMatching(/^Open .*Ada/s) });
  });

  test.each([
    ['Expo', 'import \\* as SecureStore', 'expo-secure-store', SECURE_STORE],
    ['Electron', 'import \\{ app, safeStorage', 'electron', ELECTRON],
  ])('the storage for %s keeps what the next process goes on with', async (_, begin, name, own) => {
    await using dev = await startDev({ command: [command], cwd, env: ON_BUN });
    await dev.plan({ ending: 'approve', auto: true });
    mkdirSync(join(modules(), name));
    writeFileSync(join(modules(), name, 'package.json'), '{"type":"module","main":"index.js"}');
    writeFileSync(join(modules(), name, 'index.js'), own);
    const program = `${snippet(begin, dev)}
await (process.argv[2] ? session.getToken() : session.signIn());
console.log(session.state.status);`;
    writeFileSync(join(cwd, 'recipe.mts'), program);
    const env = { NODE_OPTIONS: '--disable-warning=ExperimentalWarning' };
    for (const args of [[], ['again']]) {
      const ran = await runChild([NODE, 'recipe.mts', ...args], { cwd, env });
      expect(ran).toEqual({ exitCode: 0, output: 'signed-in\n' });
    }
    const kept = await Array.fromAsync(new Bun.Glob(`{store,sign-in}*/**`).scan({ cwd }));
    expect(kept).not.toBeEmpty();
  });

  const KIT = `
test('what is planned, by how many, for which service', async () => {
  const relay = await startDevRelay({ services: ['mal', 'anilist'], blind: 'can' });
  await assert.rejects(relay.next('nonsense'), /deny/);
  await relay.next('deny');
  const session = createSession({ relay: relay.url, service: 'anilist' });
  const failed = assert.rejects(session.signIn(), { code: 'access_denied' });
  await relay.approve();
  await failed;
  const again = session.signIn();
  await relay.approve();
  assert.equal(await again, true);
  assert.match((await session.getTokens()).tokenUrl, /token$/);
  await relay.stop();
});

test('the user of a session, a prompt or a link approves or declines, and no other', async () => {
  const relay = await startDevRelay();
  const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((account) =>
    createSession({ relay: relay.url, service: 'dev', account, code: account !== 'c' }),
  );
  const [first, second, third, last] = [a, b, c, d].map((session) => session.signIn());
  await relay.approve(a);
  assert.equal(await first, true);
  while (c.state.status !== 'waiting') await new Promise((resolve) => setTimeout(resolve, 10));
  await relay.decline(b.state.prompt);
  await assert.rejects(second, { code: 'access_denied' });
  await relay.approve(c.state.prompt.link);
  assert.equal(await third, true);
  assert.equal(d.state.status, 'waiting');
  await assert.rejects(relay.approve(b), /failed, The sign-in ended with access_denied/);
  d.cancel();
  assert.equal(await last, false);
  await relay.stop();
});

test('after a reset nothing is planned, and nobody who waited is approved', async () => {
  const relay = await startDevRelay();
  const earlier = createSession({ relay: relay.url, service: 'dev', account: 'earlier' });
  void earlier.signIn();
  while (earlier.state.status !== 'waiting') await new Promise((resolve) => setTimeout(resolve, 10));
  await relay.next('deny');
  await relay.reset();
  await assert.rejects(relay.approve(), /no sign-in waits/);
  const session = createSession({ relay: relay.url, service: 'dev', account: 'later' });
  const signedIn = session.signIn();
  await relay.approve();
  assert.equal(await signedIn, true);
  assert.equal(earlier.state.status, 'waiting');
  earlier.cancel();
  await relay.stop();
});

test('the kit needs neither the global fetch, which happy-dom replaces, nor timers', async (t) => {
  const relay = await startDevRelay();
  const session = createSession({ relay: relay.url, service: 'dev', account: 'timers' });
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'], now: Date.now() });
  const approved = relay.approve();
  assert.equal(await session.signIn(), true);
  await approved;
  const token = await session.getToken();
  t.mock.timers.setTime(Date.now() + 86_400_000);
  assert.notEqual(await session.getToken(), token);
  const { fetch } = globalThis;
  globalThis.fetch = () => Promise.reject(new Error('Cross-Origin Request Blocked'));
  await relay.next('deny');
  await relay.reset();
  await relay.stop();
  globalThis.fetch = fetch;
});

// Nobody stops this one: the process ends all the same.
test('a test that fails before it stops the relay', { todo: true }, async () => {
  await startDevRelay();
  assert.fail();
});`;

  test('the test of an app in the README passes, as do others, with one line for a cut', async () => {
    writeFileSync(join(cwd, 'app.test.mjs'), snippet('import assert') + KIT);
    const env = { ...ON_NODE, NO_PROXY: '127.0.0.1' };
    const { exitCode, output } = await runChild(['node', '--test', 'app.test.mjs'], { cwd, env });
    expect([exitCode, output]).toEqual([0, expect.stringContaining('pass 5')]);
    expect(output).toContain('The connection is cut off, as planned.');
    expect(output).not.toContain('chunk-');
  });

  test.each([
    ['found from the client where the current folder has none', () => cwd, /^http/],
    ['named where it is missing', () => newFolder(), /npm i -D sign-in-/],
  ])('the relay of the kit is %s', async (_, folderOf, printed) => {
    const client = join(folderOf(), 'node_modules/sign-in-relay-client');
    const here = join(modules(), 'sign-in-relay-client');
    if (client !== here) cpSync(here, client, { recursive: true });
    for (const [begin, file] of [
      [`import { startDevRelay } from '${client}/dist/testing.js';`, 'start.mjs'],
      [`const { startDevRelay } = require('${client}/dist/cjs/testing.js');`, 'start.cjs'],
    ] as const) {
      const then = 'startDevRelay().then((relay) => (console.log(relay.url), relay.stop()))';
      const program = join(client, file);
      writeFileSync(program, `${begin}\n${then}.catch(({ message }) => console.log(message));`);
      const { output } = await runChild([NODE, program], { cwd: tmpdir(), env: ON_NODE });
      expect(output).toMatch(printed);
    }
  });

  test.each([
    ['Node', NODE],
    ['Bun', process.execPath],
  ])('a test process on %s that is killed leaves no relay of the kit', async (_, runtime) => {
    const program = `
import { startDevRelay } from 'sign-in-relay-client/testing';
const { url } = await startDevRelay();
console.log(url);
process.kill(process.pid, 'SIGKILL');`;
    writeFileSync(join(cwd, 'killed.mjs'), program);
    const { output } = await runChild([runtime, 'killed.mjs'], { cwd, env: ON_NODE });
    await pollUntil('the relay has ended', () =>
      fetch(output.trim()).then(
        () => false,
        () => true,
      ),
    );
  });

  test('a program that embeds the relay has its types', async () => {
    const program = `
import { readSettings, startService, systemClock } from 'sign-in-relay';
const read = readSettings({}, () => '');
if (read.ok) console.log(read.settings.maxSessions.toFixed(), startService, systemClock.now());
`;
    writeFileSync(join(cwd, 'embed.mts'), program);
    const strict = ['--strict', '--module', 'node16', '--noEmit', '--skipLibCheck', 'false'];
    const tsc = [process.execPath, `${ROOT}node_modules/.bin/tsc`, ...strict, '--types', 'node'];
    expect(await runChild([...tsc, 'embed.mts'], { cwd })).toEqual({ exitCode: 0, output: '' });
  });
});

test.each([
  ['Bun', ON_BUN],
  ['Node', ON_NODE],
])(
  'installed, on %s: in a folder of a stranger it takes no code or variable of it',
  async (_, env) => {
    const untrusted = makeUntrustedFolder();
    await expectUnaffected([command], { cwd: untrusted, env });
    const relay = await startRelay(env, { command: [command], cwd: untrusted });
    expect((await relay.ask('/auth/done')).status).toBe(200);
    expect(await relay.stop()).toBe(0);
  },
);

describe('--env-file', () => {
  const folder = newFolder();
  const file = join(folder, 'relay.env');
  const fromFile = ['--env-file', file];

  test('gives what the environment lacks to a relay, to health and to check', async () => {
    const port = await findFreePort();
    const lines = ['# The relay', `PORT=${port}`, 'APP_NAME = "Acme #1"', 'HOST=none'];
    writeFileSync(file, `${lines.join('\n')}\n`);
    // Its HOST is in the environment.
    const relay = await startRelay(ON_NODE, { command: [command, ...fromFile], port });
    expect(await (await relay.ask('/')).text()).toContain('Acme #1');
    const env = { ...ON_NODE, HOST: '' };
    expect((await runChild([command, 'health', ...fromFile], { env })).exitCode).toBe(0);
    expect(await relay.stop()).toBe(0);
    writeFileSync(file, 'LOG_LEVEL=none#\n');
    const check = await runChild([command, 'check', ...fromFile], { env: ON_BUN });
    expect([check.exitCode, check.output]).toEqual([1, expect.stringContaining('LOG_LEVEL must')]);
    expect(check.output).toContain('! settings: LOG_LEVEL has # without quotes (line 1)');
  });

  test('with lines that are no settings is refused, with the number of each', async () => {
    writeFileSync(file, 'MAL_CLIENT_ID: abc\nPORT=0\nexport HOST=::\n');
    const { exitCode, output } = await runChild([command, ...fromFile], { env: ON_NODE });
    expect(exitCode).toBe(78);
    expect(output).toStartWith(
      `--env-file ${JSON.stringify(file)} is wrong:\n  line 1 is not NAME`,
    );
    expect(output).toContain('\n  line 3 begins with export');
  });

  test.each([
    [78, []],
    [1, ['check']],
  ])('that does not exist: ends with %d, and names it, %j', async (code, args) => {
    // Node itself would refuse it before the launcher: https://github.com/nodejs/node/issues/54232
    const main = join(cwd, 'node_modules/sign-in-relay/dist/cli/main.js');
    const line = [process.execPath, main, ...args, '--env-file', 'no.env'];
    const { exitCode, output } = await runChild(line);
    expect([exitCode, output]).toEqual([code, '--env-file "no.env" does not exist\n']);
  });
});
