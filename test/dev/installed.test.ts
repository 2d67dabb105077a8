/** The package as it is installed: `npm pack`, and beside it only what it depends on at run time. */
import { expect, setDefaultTimeout, test } from 'bun:test';
import { chmodSync, mkdirSync, mkdtempSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import packageJson from '../../package.json' with { type: 'json' };
import { startDev } from '../kit/dev.ts';
import { poll, start } from '../kit/device.ts';
import { runChild } from '../kit/process.ts';
import { ROOT } from '../kit/relay.ts';

setDefaultTimeout(120_000);

/** As npm installs it, without a network: unpacked, its command linked and executable. */
async function install(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'sign-in-relay-installed-'));
  const packed = await runChild(['npm', 'pack', '--pack-destination', folder], {
    cwd: ROOT,
    env: { HOME: folder },
  });
  expect(packed.exitCode).toBe(0);
  const modules = join(folder, 'node_modules');
  mkdirSync(join(modules, '.bin'), { recursive: true });
  const archive = join(folder, `sign-in-relay-${packageJson.version}.tgz`);
  await runChild(['tar', '-xzf', archive, '-C', modules]);
  await runChild(['mv', join(modules, 'package'), join(modules, 'sign-in-relay')]);
  for (const name of Object.keys(packageJson.dependencies)) {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    // Copied, not linked: from a link the modules of the checkout would be found.
    await runChild(['cp', '-rL', `${ROOT}node_modules/${name}`, join(modules, name)]);
  }
  const command = join(modules, 'sign-in-relay', packageJson.bin['sign-in-relay']);
  chmodSync(command, 0o755);
  symlinkSync(command, join(modules, '.bin', 'sign-in-relay'));
  return folder;
}

test('installed: dev, its television and login work, with the dependencies of run time alone', async () => {
  const cwd = await install();
  const bunFolder = mkdtempSync(join(tmpdir(), 'sign-in-relay-bun-'));
  symlinkSync(process.execPath, join(bunFolder, 'bun'));
  const env = { PATH: `${bunFolder}:${process.env.PATH}`, NO_PROXY: '127.0.0.1' };
  const command = join(cwd, 'node_modules', '.bin', 'sign-in-relay');
  const dev = await startDev({ command: [command], cwd, env });
  await dev.plan({ scenario: 'approve', auto: true });
  const { session } = await start(dev, 'dev');
  expect((await poll(dev, session)).status).toBe(200);
  for (const path of ['/tv?relay=http://127.0.0.1', '/client/dist/tv.js']) {
    expect([path, (await dev.askProvider(path)).status]).toEqual([path, 200]);
  }
  await dev.plan({ scenario: 'deny', auto: true });
  const login = await runChild([command, 'login', 'dev', '--relay', dev.relayUrl], { cwd, env });
  expect(login.exitCode).toBe(3);
  await dev.stop();
  const help = await runChild([command, '--help'], { cwd, env });
  expect(help).toMatchObject({ exitCode: 0 });
});
