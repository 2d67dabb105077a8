/** The npm package and the executable: made, installed and run, each as docs/install.md says. */
import { beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { bundleForTv } from '../../client/tv-build.ts';
import templateJson from '../../deploy/cloudflare/package.json' with { type: 'json' };
import packageJson from '../../package.json' with { type: 'json' };
import { buildExecutable, findCommit } from '../../scripts/build.ts';
import { startDev } from '../kit/dev.ts';
import { newFolder } from '../kit/folder.ts';
import { PATH_WITHOUT_BUN, runChild } from '../kit/process.ts';
import { startTokenEndpoint } from '../kit/provider.ts';
import { buildForNode, ROOT, startRelay } from '../kit/relay.ts';
import { expectUnaffected, makeUntrustedFolder } from '../kit/untrusted-folder.ts';
import { startWaiting } from '../kit/user.ts';
import { readWranglerConfig, startWorkers } from '../kit/workers.ts';

// Three installations by npm, which a busy disk makes slow.
setDefaultTimeout(300_000);

const folder = newFolder();
const untrusted = makeUntrustedFolder(join(folder, 'untrusted'));

const EXECUTABLE = join(folder, 'sign-in-relay');
const VERSION = new RegExp(
  `^${packageJson.version} \\(commit ${findCommit()}\\) on (Bun|Node) \\S+$`,
  'm',
);
await buildExecutable(EXECUTABLE);

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
  const child = await startRelay(env, { command, cwd });
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
  const readTarball = async () => new Bun.Archive(await Bun.file(tarball).bytes());
  const empty = join(folder, 'empty');
  // What npx runs. Some machines have npm without it.
  const npx = ['npm', 'exec', '--yes', `--package=${tarball}`, '--', 'sign-in-relay'];

  beforeAll(async () => {
    mkdirSync(empty);
    // Its first step, without that of the client, is the build.
    const options = ['--silent', '--ignore-scripts', '--pack-destination', folder];
    await buildForNode();
    await run(['npm', 'pack', ...options]);
  });

  test('contains what was built, and no test, bench or image', async () => {
    expect(
      [...(await (await readTarball()).files()).keys()]
        .sort()
        .filter(
          (file) =>
            !/^package\/dist\/(cli\/(chunk-\w+|main)\.js|types\/[\w/-]+\.d\.ts)$/.test(file),
        ),
    ).toEqual([
      'package/CHANGELOG.md',
      'package/LICENSE',
      'package/README.md',
      'package/bin/bunfig.toml',
      'package/bin/sign-in-relay.cjs',
      'package/dist/sign-in-relay.js',
      'package/dist/worker.js',
      'package/package.json',
      'package/tsconfig.json',
    ]);
  });

  test('the template for Cloudflare takes this version, and its Worker signs a user in', async () => {
    const template = join(folder, 'template');
    cpSync(join(ROOT, 'deploy/cloudflare'), template, { recursive: true });
    const modules = join(template, 'node_modules');
    await (await readTarball()).extract(modules);
    renameSync(join(modules, 'package'), join(modules, 'sign-in-relay'));
    expect(
      Bun.semver.satisfies(packageJson.version, templateJson.dependencies['sign-in-relay']),
    ).toBe(true);
    using provider = startTokenEndpoint();
    const file = join(template, readWranglerConfig().main);
    await using relay = await startWorkers({ MAL_TOKEN_URL: provider.tokenUrl }, { file });
    await (await startWaiting(relay)).expectSignsIn();
  });

  test('npx in an empty folder serves on Node where there is no Bun', async () => {
    const env = { ...npmEnv, npm_config_omit: 'optional' };
    expect(await expectToServe(npx, env, empty)).toMatch(/^node .*\/sign-in-relay$/);
  });

  test('npx names the version and the commit, and has the guides to providers', async () => {
    const env = { npm_config_omit: 'optional' };
    expect(await run([...npx, '--version'], env, empty)).toMatch(VERSION);
    expect(await run([...npx, 'providers', 'spotify'], env, empty)).toStartWith('# Spotify\n');
  });

  test('the Worker and the module to embed carry no guides', () => {
    for (const file of ['worker.js', 'sign-in-relay.js']) {
      expect(readFileSync(join(ROOT, 'dist', file), 'utf8')).not.toContain('# Spotify');
    }
  });
});

test('in a fresh clone the commands of docs/install.md make what they say, and serve', async () => {
  const page = readFileSync(join(ROOT, 'docs/install.md'), 'utf8');
  const [, pack = '', build = ''] =
    /^(npm ci && npm pack) .*\n(npm run build [^#]+)/m.exec(page) ?? [];
  const [, install = '', serve = ''] = /^`(npm ci --omit=dev) && (npm start)`/m.exec(page) ?? [];
  const clone = join(folder, 'clone');
  await run(['git', 'clone', '--quiet', ROOT, clone]);
  await run(['sh', '-euc', `${pack}\n${build}\n${install}`], {}, clone);
  expect(existsSync(join(clone, `sign-in-relay-${packageJson.version}.tgz`))).toBe(true);
  expect(await run([join(clone, 'sign-in-relay'), '--version'])).toStartWith(packageJson.version);
  expect(existsSync(join(clone, 'node_modules/typescript'))).toBe(false);
  // Not even the checkout's own: only the file that --env-file names.
  await Bun.write(join(clone, '.env'), 'POLL_SECONDS=none\n');
  expect(await expectToServe(serve.split(' '), npmEnv, clone)).toMatch(
    /bun.* .*src\/cli\/main\.ts$/,
  );
});

describe('the executable', () => {
  test('names the version and the commit, and has the guides to providers', async () => {
    expect(await run([EXECUTABLE, '--version'])).toMatch(VERSION);
    expect(await run([EXECUTABLE, 'providers', 'spotify'])).toStartWith('# Spotify\n');
  });

  test('may make 5000 requests at once, in the process that was started', async () => {
    const relay = await startRelay({}, { command: [EXECUTABLE] });
    const environment = readFileSync(`/proc/${relay.pid}/environ`, 'utf8').split('\0');
    expect(environment).toContain('BUN_CONFIG_MAX_HTTP_REQUESTS=5000');
    expect(await relay.stop()).toBe(0);
  });

  test('in a folder of a stranger runs no code of it and sets no variable of it', async () => {
    await expectUnaffected([EXECUTABLE], { cwd: untrusted });
    const relay = await startRelay({}, { command: [EXECUTABLE], cwd: untrusted });
    expect((await relay.ask('/auth/done')).status).toBe(200);
    expect(await relay.stop()).toBe(0);
  });

  test('has the television of dev', async () => {
    const dev = await startDev({ command: [EXECUTABLE], cwd: untrusted });
    const page = await dev.askProvider('/tv?relay=http://127.0.0.1');
    const client = await dev.askProvider('/client/dist/tv.js');
    expect([page.status, client.status]).toEqual([200, 200]);
    expect(await page.text()).toBe(readFileSync(join(ROOT, 'demo/tv.html'), 'utf8'));
    expect(await client.text()).toBe(await bundleForTv());
    await dev.stop();
  });

  test('takes --env-file', async () => {
    const file = join(folder, 'relay.env');
    await Bun.write(file, 'LOG_LEVEL=none\nLOG_FORMAT=text\n');
    const { output } = await runChild([EXECUTABLE, '--env-file', file]);
    expect(output).toContain('LOG_LEVEL = "none"');
  });
});
