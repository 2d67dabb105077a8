/**
 * deploy/Dockerfile, built by buildah as it is: first the executable, then the image of it, as
 * a release does, without the network. The image that it begins with is not pulled: one with the
 * Node and the commands of this machine stands in for it. The relay runs as the image says, in a
 * chroot with nothing to write to but its volume. Only `npm run soak` runs it, and needs buildah.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { runChild } from '../kit/process.ts';
import { startTokenEndpoint } from '../kit/provider.ts';
import { ROOT, startRelay } from '../kit/relay.ts';
import { startWaiting } from '../kit/user.ts';

setDefaultTimeout(240_000);

const folder = mkdtempSync(join(tmpdir(), 'sign-in-relay-image-'));
const storage = [`--root=${folder}/storage`, `--runroot=${folder}/run`, '--storage-driver=vfs'];

async function run(...command: string[]): Promise<string> {
  const env = { HOME: folder, TMPDIR: folder };
  const { exitCode, output } = await runChild(command, { env, cwd: ROOT });
  if (exitCode !== 0) throw new Error(`${command.join(' ')} failed:\n${output}`);
  return output.trim();
}

const buildah = (command: string, ...args: string[]) =>
  run('buildah', ...storage, command, ...args);

interface Config {
  readonly User: string;
  readonly Env: readonly string[];
  readonly Entrypoint: readonly string[];
  readonly Healthcheck: { readonly Test: readonly string[] };
}

let config: Config;
/** The files of the image. */
let root = '';

beforeAll(async () => {
  await makeBase('stand-in');
  const [, base] =
    /^FROM (\S+) AS base$/m.exec(readFileSync(`${ROOT}deploy/Dockerfile`, 'utf8')) ?? [];
  const options = [
    '--pull=never',
    '--isolation=chroot',
    '--layers=false',
    '--format=docker',
    `--build-context=${base}=container-image://localhost/stand-in`,
  ];
  const context = ['--file=deploy/Dockerfile', '--ignorefile=deploy/Dockerfile.dockerignore'];
  const fromSource = ['--network=host', '--build-arg=COMMIT=1a2b3c4', '--target=executable'];
  await buildah('build', ...options, ...context, ...fromSource, '--tag=executable', '.');
  const stage = await mount('executable');
  const [built = ''] = [...new Bun.Glob('sign-in-relay-*').scanSync(stage)];
  // As `npm run release` names them.
  const release = join(folder, 'release');
  mkdirSync(release);
  for (const name of ['linux-x64-baseline', 'linux-arm64']) {
    copyFileSync(join(stage, built), join(release, `sign-in-relay-1.2.3-${name}`));
  }
  await run('scripts/image-context.sh', release, join(folder, 'executables'));
  const given = ['--network=host', `--build-context=executable=${folder}/executables`];
  const build = ['buildah', ...storage, 'build', ...options, ...context, ...given];
  await run('unshare', '--net', ...build, '--tag=sign-in-relay', '.');
  root = await mount('sign-in-relay');
  config = JSON.parse(await buildah('inspect', 'sign-in-relay')).Docker.config;
});

afterAll(async () => {
  await buildah('umount', '--all');
  rmSync(folder, { recursive: true, force: true });
});

/** Returns the folder with the files of an image. */
async function mount(image: string): Promise<string> {
  return await buildah('mount', await buildah('from', '--pull=never', image));
}

/** What the steps of the file use, with the libraries that it needs. */
async function makeBase(name: string): Promise<void> {
  const base = join(folder, 'base');
  const place = (from: string, to: string) => {
    mkdirSync(dirname(join(base, to)), { recursive: true });
    copyFileSync(from, join(base, to));
  };
  const commands = 'node sh bash cp mkdir grep xargs ldd cat env chown chmod';
  const programs = commands.split(' ').map((command) => Bun.which(command) ?? command);
  for (const program of programs) {
    place(program, `/bin/${basename(program)}`);
    // A script, such as ldd, has none.
    const { output } = await runChild(['ldd', program]);
    for (const [library] of output.matchAll(/\/\S+\.so\S*/g)) place(library, library);
  }
  const npm = realpathSync(Bun.which('npm') ?? 'npm');
  cpSync(dirname(dirname(npm)), join(base, 'npm'), { recursive: true });
  writeFileSync(join(base, 'bin/npm'), '#!/bin/sh\nexec node /npm/bin/npm-cli.js "$@"\n', {
    mode: 0o755,
  });
  const { NODE_EXTRA_CA_CERTS: authorities } = process.env;
  if (authorities) place(authorities, '/authorities.pem');
  writeFileSync(join(base, 'bin/.keep'), '');
  mkdirSync(join(base, 'tmp'));
  const working = await buildah('from', 'scratch');
  await buildah('add', working, base, '/');
  const env = ['--env=PATH=/bin', '--env=NODE_EXTRA_CA_CERTS=/authorities.pem'];
  await buildah('config', ...env, working);
  await buildah('commit', '--rm', working, name);
}

test('has a program, its libraries, and no shell', async () => {
  const found = (await run('find', root, '-type', 'f', '-printf', '%P\n')).split('\n').sort();
  const libraries = /^lib(64)?\/.*(ld-linux|libc|libm|libdl|libpthread)[-.].*so/;
  expect(found.filter((file) => !libraries.test(file))).toEqual([
    'etc/nsswitch.conf',
    'sign-in-relay',
  ]);
});

test('names its user and its health check', () => {
  const { User, Entrypoint, Healthcheck } = config;
  expect(User).toBe('65534:65534');
  const { uid, mode } = statSync(join(root, 'var/lib/sign-in-relay'));
  expect([uid, mode & 0o777]).toEqual([65_534, 0o700]);
  expect(Entrypoint).toEqual(['/sign-in-relay']);
  expect(Healthcheck.Test).toEqual(['CMD', '/sign-in-relay', 'health']);
});

/** In namespaces of its own; the mounts end with it. */
function inImage(...args: string[]): string[] {
  const [uid = '', gid = ''] = config.User.split(':');
  const steps = [
    `mount --bind ${root} ${root}`,
    `mkdir -p ${root}/proc ${root}/dev`,
    `mount -t proc proc ${root}/proc`,
    `mount --bind /dev ${root}/dev`,
    `mount -o remount,bind,ro ${root}`,
    // The volume, as `docker run --volume` mounts a new one.
    `mount -t tmpfs -o mode=700,uid=${uid},gid=${gid} none ${root}/var/lib/sign-in-relay`,
    `exec setpriv --no-new-privs chroot --userspec=${uid}:${gid} ${root} "$@"`,
  ];
  const command = [...config.Entrypoint, ...args];
  return ['unshare', '--mount', 'sh', '-c', steps.join(' && '), 'sh', ...command];
}

/** Besides what the image sets. */
async function startImage(more: Record<string, string>) {
  const env = Object.fromEntries(config.Env.map((line) => line.split(/=(.*)/s).slice(0, 2)));
  const settings = { ...env, PATH: process.env.PATH ?? '', ...more };
  return { settings, relay: await startRelay(settings, { command: inImage() }) };
}

test('a sign-in succeeds, as that user and with a root that is read-only', async () => {
  const { relay } = await startImage({ MAL_TOKEN_URL: startTokenEndpoint().tokenUrl });
  const status = await Bun.file(`/proc/${relay.pid}/status`).text();
  expect(status).toMatch(/^Uid:\t65534\t65534\t65534\t65534$/m);
  expect(status).toMatch(/^CapEff:\t0+$/m);
  // Its fifth and sixth columns are the place, as the process sees it, and the options.
  expect(await Bun.file(`/proc/${relay.pid}/mountinfo`).text()).toMatch(/^(\S+ ){4}\/ ro,/m);
  await (await startWaiting(relay)).expectSignsIn();
  expect(await relay.stop()).toBe(0);
});

test('`check` beside a running relay, as `docker exec` and `kubectl exec` run it', async () => {
  const { settings, relay } = await startImage({ POLL_SECONDS: '1' });
  const own = { OAUTH_BASE_URL: relay.baseUrl, PORT: String(relay.port), HOST: '127.0.0.1' };
  const client = { MAL_CLIENT_ID: 'mal-client', MAL_TOKEN_URL: startTokenEndpoint().tokenUrl };
  const command = inImage('check');
  const { output } = await runChild(command, { env: { ...settings, ...own, ...client } });
  expect(output).toContain(`✓ base URL: this relay answers at ${relay.baseUrl}\n`);
  expect(output).toContain('✓ poll: held for 1 s, and nothing cut it\n');
  await relay.stop();
});

test('names the version and the commit', async () => {
  expect(await run(...inImage('--version'))).toMatch(
    /^\d+\.\d+\.\d+ \(commit 1a2b3c4\) on Bun \d+\.\d+\.\d+$/,
  );
});
