/** The npm package, the executable and the Debian package: made, installed, run and removed, each as docs/install.md says. */
import {
  afterAll,
  beforeAll,
  describe,
  expect,
  onTestFinished,
  setDefaultTimeout,
  test,
} from 'bun:test';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import packageJson from '../../package.json' with { type: 'json' };
import { buildExecutable, findCommit } from '../../scripts/build.ts';
import { buildDebianPackage } from '../../scripts/debian.ts';
import { findFreePort, PATH_WITHOUT_BUN, runChild } from '../kit/process.ts';
import { startTokenEndpoint } from '../kit/provider.ts';
import { launchRelay, ROOT } from '../kit/relay.ts';
import { plantSecret } from '../kit/secrets.ts';
import { expectUnaffected, makeStrangeFolder } from '../kit/strange-folder.ts';

setDefaultTimeout(120_000);

const folder = mkdtempSync(join(tmpdir(), 'sign-in-relay-install-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const strange = makeStrangeFolder(join(folder, 'strange'));

const EXECUTABLE = join(folder, 'sign-in-relay');
const VERSION = new RegExp(
  `^${packageJson.version} \\(commit ${findCommit()}\\) on (Bun|Node) \\S+$`,
  'm',
);
buildExecutable(EXECUTABLE);

/** What npm needs here besides: its cache, and who signs for its registry. */
const npmEnv = {
  PATH: PATH_WITHOUT_BUN,
  HOME: process.env.HOME ?? folder,
  NODE_EXTRA_CA_CERTS: process.env.NODE_EXTRA_CA_CERTS ?? '',
  npm_config_audit: 'false',
  npm_config_fund: 'false',
  npm_config_prefer_offline: 'true',
};

async function run(command: readonly string[], env: Record<string, string> = {}, cwd = ROOT) {
  const { exitCode, output } = await runChild(command, { env: { ...npmEnv, ...env }, cwd });
  if (exitCode !== 0) throw new Error(`${command.join(' ')} failed:\n${output}`);
  return output;
}

/** Starts a program that runs a relay, until that answers; then ends the relay. Resolves with its command line. */
async function expectToServe(
  command: readonly string[],
  env: Record<string, string>,
  cwd: string,
): Promise<string> {
  const child = await launchRelay(env, { command, cwd });
  await child.waitForEvent('listening');
  expect((await child.ask('/health')).status).toBe(200);
  const relay = findLastDescendant(child.pid);
  const commandLine = readFileSync(`/proc/${relay}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
  // Not npx, which would end without the relay: its shell does not pass on the signal.
  process.kill(relay, 'SIGTERM');
  await child.waitForEvent('stopped');
  await child.exited;
  return commandLine;
}

/** npx starts a shell, which starts the relay. */
function findLastDescendant(pid: number): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  const [child] = children.split(' ').filter(Boolean);
  return child === undefined ? pid : findLastDescendant(Number(child));
}

describe('the npm package', () => {
  const tarball = join(folder, `sign-in-relay-${packageJson.version}.tgz`);
  const empty = join(folder, 'empty');
  const npx = ['npx', '--yes', `--package=${tarball}`, 'sign-in-relay'];

  beforeAll(async () => {
    mkdirSync(empty);
    // As `npm pack` does, whose first step would write dist/ while other tests read it.
    const options = ['--silent', '--ignore-scripts', '--pack-destination', folder];
    await run([process.execPath, 'scripts/build.ts']);
    await run(['npm', 'pack', ...options]);
  });

  test('contains what was built, and no test, bench or image', async () => {
    const files = (await run(['tar', '-tzf', tarball])).trim().split('\n').sort();
    expect(
      files.filter((file) => !/^package\/dist\/cli\/(chunk-\w+|main)\.js$/.test(file)),
    ).toEqual([
      'package/CHANGELOG.md',
      'package/LICENSE',
      'package/README.md',
      'package/bin/sign-in-relay',
      'package/client/dist/tv.js',
      'package/demo/tv.html',
      'package/dist/sign-in-relay.js',
      'package/package.json',
    ]);
  });

  test('npx in an empty folder serves on Node where there is no Bun', async () => {
    const env = { ...npmEnv, npm_config_omit: 'optional' };
    expect(await expectToServe(npx, env, empty)).toMatch(/^node .*\/dist\/cli\/main\.js$/);
  });

  test('npx names the version and the commit', async () => {
    const env = { npm_config_omit: 'optional' };
    expect(await run([...npx, '--version'], env, empty)).toMatch(VERSION);
  });

  test('npx takes a Bun that is in PATH', async () => {
    const bin = join(folder, 'bin');
    mkdirSync(bin);
    cpSync(process.execPath, join(bin, 'bun'));
    const env = { ...npmEnv, npm_config_omit: 'optional', PATH: `${bin}:${PATH_WITHOUT_BUN}` };
    expect(await expectToServe(npx, env, empty)).toMatch(/^bun .*\/dist\/cli\/main\.js$/);
    await expectUnaffected(npx, { cwd: strange, env });
  });

  test('a checkout serves after npm ci --omit=dev && npm start', async () => {
    const checkout = join(folder, 'checkout');
    for (const part of ['package.json', 'package-lock.json', 'tsconfig.json', 'bin', 'src']) {
      cpSync(join(ROOT, part), join(checkout, part), { recursive: true });
    }
    await run(['npm', 'ci', '--omit=dev'], {}, checkout);
    expect(existsSync(join(checkout, 'node_modules/typescript'))).toBe(false);
    // Not even the checkout's own: only the file that --env-file names.
    await Bun.write(join(checkout, '.env'), 'POLL_SECONDS=none\n');
    expect(await expectToServe(['npm', 'start'], npmEnv, checkout)).toMatch(
      /bun.* .*src\/cli\/main\.ts$/,
    );
  });
});

describe('the executable', () => {
  test('names the version and the commit', async () => {
    expect(await run([EXECUTABLE, '--version'])).toMatch(VERSION);
  });

  test('may make 5000 requests at once, in the process that was started', async () => {
    const relay = await launchRelay({}, { command: [EXECUTABLE] });
    await relay.waitForEvent('listening');
    const environment = readFileSync(`/proc/${relay.pid}/environ`, 'utf8').split('\0');
    expect(environment).toContain('BUN_CONFIG_MAX_HTTP_REQUESTS=5000');
    expect(await relay.stop()).toBe(0);
  });

  test('in a folder of a stranger runs no code of it and sets no variable of it', async () => {
    await expectUnaffected([EXECUTABLE], { cwd: strange });
    const relay = await launchRelay({}, { command: [EXECUTABLE], cwd: strange });
    await relay.waitForEvent('listening');
    expect((await relay.ask('/auth/done')).status).toBe(200);
    expect(await relay.stop()).toBe(0);
  });

  test('takes --env-file', async () => {
    const file = join(folder, 'relay.env');
    await Bun.write(file, 'LOG_LEVEL=none\nLOG_FORMAT=text\n');
    const { output } = await runChild([EXECUTABLE, '--env-file', file]);
    expect(output).toContain('LOG_LEVEL = "none"');
  });
});

describe('the Debian package', () => {
  const file = join(folder, 'sign-in-relay.deb');
  const UNIT = '/usr/lib/systemd/system/sign-in-relay.service';
  const SETTINGS = '/etc/sign-in-relay/environment';

  beforeAll(async () => {
    // It would be removed at the end.
    if (existsSync('/etc/sign-in-relay'))
      throw new Error('this machine has a sign-in-relay already');
    buildDebianPackage(EXECUTABLE, 'amd64', file);
    await run(['dpkg', '--install', file]);
  });
  afterAll(async () => {
    await run(['dpkg', '--purge', 'sign-in-relay']);
    for (const path of ['/usr/bin/sign-in-relay', '/etc/sign-in-relay', UNIT]) {
      expect(existsSync(path)).toBe(false);
    }
    expect(readFileSync('/etc/group', 'utf8')).not.toContain('sign-in-relay');
  });

  test('installs the program, and settings and a folder for secrets that only root can read', async () => {
    expect(await run(['/usr/bin/sign-in-relay', '--version'])).toMatch(VERSION);
    await expectUnaffected(['/usr/bin/sign-in-relay'], { cwd: strange });
    const modesOf = (path: string) => {
      const { mode, uid, gid } = statSync(path);
      return [mode & 0o777, uid, gid];
    };
    expect(modesOf('/etc/sign-in-relay/secrets')).toEqual([0o700, 0, 0]);
    expect(modesOf(SETTINGS)).toEqual([0o640, 0, 0]);
  });

  test('an upgrade keeps the settings, and takes from others the right to read them', async () => {
    const settings = readFileSync(SETTINGS, 'utf8');
    const copy = `${SETTINGS}.dpkg-old`;
    onTestFinished(() => {
      writeFileSync(SETTINGS, settings);
      rmSync(copy, { force: true });
    });
    for (const path of [SETTINGS, copy]) {
      writeFileSync(path, `${settings}MAL_CLIENT_ID=mine\n`);
      chmodSync(path, 0o644);
    }
    await run(['dpkg', '--install', file]);
    for (const path of [SETTINGS, copy]) {
      expect(statSync(path).mode & 0o777).toBe(0o640);
      expect(readFileSync(path, 'utf8')).toEndWith('MAL_CLIENT_ID=mine\n');
    }
  });

  test('`check` sees the settings and secrets of the unit, by the command that the docs have', async () => {
    const page = readFileSync(join(ROOT, 'docs/operating.md'), 'utf8');
    const [command = ''] = /^sed .*sign-in-relay check --env-file .*$/m.exec(page) ?? [];
    const settings = readFileSync(SETTINGS, 'utf8');
    const secret = '/etc/sign-in-relay/secrets/mal';
    onTestFinished(() => {
      writeFileSync(SETTINGS, settings);
      rmSync(secret);
    });
    using provider = startTokenEndpoint();
    const port = await findFreePort();
    const added = [
      ...[`OAUTH_BASE_URL=http://127.0.0.1:${port}`, `PORT=${port}`, 'TRUSTED_PROXY_CIDRS='],
      ...['POLL_SECONDS=1', 'MAL_CLIENT_ID=id', `MAL_TOKEN_URL=${provider.tokenUrl}`],
      'MAL_CLIENT_SECRET_FILE=/run/credentials/sign-in-relay.service/secret_mal',
    ];
    writeFileSync(SETTINGS, `${settings}${added.join('\n')}\n`);
    writeFileSync(secret, plantSecret('a-secret-of-the-package'), { mode: 0o600 });
    const { output } = await runChild(['sh', '-c', command]);
    for (const line of ['settings: the relay can start', 'base URL: http', 'poll: held for 1 s']) {
      expect(output).toContain(`✓ ${line}`);
    }
    expect(output).not.toContain('a-secret-of-the-package');
  });

  test('systemd accepts the unit, and rates its exposure at 1.3 or less', async () => {
    expect(await run(['systemd-analyze', 'verify', UNIT])).toBe('');
    const report = await run(['systemd-analyze', 'security', '--offline=yes', '--no-pager', UNIT]);
    const [, exposure] =
      /Overall exposure level for sign-in-relay.service: ([\d.]+)/.exec(report) ?? [];
    expect(Number(exposure)).toBeLessThanOrEqual(1.3);
  });

  test('the settings that it brings start a relay, as a user without any right', async () => {
    const settings = readFileSync(SETTINGS, 'utf8');
    const env = Object.fromEntries(
      [...settings.matchAll(/^([A-Z_]+)=(.*)$/gm)].map(([, name = '', value = '']) => [
        name,
        value,
      ]),
    );
    const command = [...asUser('65534', '65534'), '/usr/bin/sign-in-relay'];
    const port = await findFreePort();
    const relay = await launchRelay({ ...env, PORT: `${port}` }, { command, port });
    // The kernel forgets to end it with us, since its user changes.
    onTestFinished(() => relay.stop('SIGKILL').then(() => {}));
    const { url } = await relay.waitForEvent('listening');
    expect(url).toBe(`http://127.0.0.1:${port}`);
    expect(relay.events('setting')).toEqual([]);
    expect(await relay.stop()).toBe(0);
  });

  test('a proxy in the group of the unit may connect to a Unix socket, and no other user', async () => {
    const unit = readFileSync(UNIT, 'utf8');
    const settingOf = (name: string) => new RegExp(`^${name}=(.*)$`, 'm').exec(unit)?.[1] ?? '';
    const group = settingOf('Group');
    // As systemd makes it, for RuntimeDirectory.
    const runtimeFolder = mkdtempSync('/run/sign-in-relay-test-');
    onTestFinished(() => rmSync(runtimeFolder, { recursive: true }));
    await run(['chown', `65534:${group}`, runtimeFolder]);
    chmodSync(runtimeFolder, 0o755);
    const HOST = `unix:${runtimeFolder}/relay.sock`;
    const withUmask = ['sh', '-c', `umask ${settingOf('UMask')}; exec "$@"`, 'sh'];
    const command = [...withUmask, ...asUser('65534', group), '/usr/bin/sign-in-relay'];
    const relay = await launchRelay({ HOST }, { command });
    onTestFinished(() => relay.stop('SIGKILL').then(() => {}));
    await relay.waitForEvent('listening');
    const askAs = (...groups: readonly string[]) =>
      runChild([...asUser('www-data', 'www-data', ...groups), '/usr/bin/sign-in-relay', 'health'], {
        env: { HOST, OAUTH_BASE_URL: 'https://relay.example', MAL_CLIENT_ID: 'x' },
      });
    expect(await askAs(group)).toMatchObject({ exitCode: 0, output: 'ok\n' });
    const refused = await askAs();
    expect(refused).toMatchObject({ exitCode: 1, output: expect.stringContaining('EACCES') });
    expect(await relay.stop()).toBe(0);
  });
});

/** A command before another, which then runs as this user, in these groups alone and without any right. */
function asUser(user: string, group: string, ...groups: readonly string[]): string[] {
  const others = groups.length === 0 ? '--clear-groups' : `--groups=${groups.join(',')}`;
  const rights = ['--inh-caps=-all', '--bounding-set=-all', '--no-new-privs'];
  return ['setpriv', `--reuid=${user}`, `--regid=${group}`, others, ...rights];
}
