/**
 * `sign-in-relay` in a folder of a stranger: in a checkout here, as a package in
 * test/dev/installed.test.ts, as an executable in test/deploy.
 */
import { describe, expect, test } from 'bun:test';
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newFolder } from '../kit/folder.ts';
import { findFreePort, NODE, runChild, startChild } from '../kit/process.ts';
import { serveUpstream } from '../kit/provider.ts';
import { LAUNCHER, ROOT, startRelay } from '../kit/relay.ts';
import { expectUnaffected, makeStrangeFolder } from '../kit/strange-folder.ts';

const COMMAND = [NODE, LAUNCHER];
const strange = makeStrangeFolder();

describe('in a folder of a stranger, a checkout', () => {
  test('runs no code of it and sets no variable of it', () =>
    expectUnaffected(COMMAND, { cwd: strange }));

  test('serves its pages and its metrics with its own packages', async () => {
    const env = { ADMIN_PORT: `${await findFreePort()}` };
    const relay = await startRelay(env, { command: COMMAND, cwd: strange });
    for (const path of ['/auth/done', '/link', '/openapi.json', '/services']) {
      expect([path, (await relay.ask(path)).status]).toEqual([path, 200]);
    }
    const metrics = await fetch(`http://127.0.0.1:${env.ADMIN_PORT}/metrics`);
    expect(await metrics.text()).toContain('sign_in_relay_parked_polls');
    expect(await relay.stop()).toBe(0);
  });

  test('as login asks the relay that its user named, or the one on this machine', async () => {
    const firstLine = Promise.withResolvers<string>();
    const options = { cwd: strange, onLine: firstLine.resolve };
    const login = startChild(
      [...COMMAND, 'login', 'mal', '--tokens', `${strange}/tokens`],
      options,
    );
    // SIGN_IN_RELAY_URL of the folder is no address.
    expect(await firstLine.promise).not.toMatch(/--relay is the base URL of a relay|stranger/);
    login.kill('SIGKILL');
    await login.exited;
  });
});

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
