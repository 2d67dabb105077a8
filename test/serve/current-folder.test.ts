/**
 * `sign-in-relay` in a folder of a stranger: in a checkout here, as a package in
 * test/dev/installed.test.ts, as an executable in test/deploy.
 */
import { expect, test } from 'bun:test';
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newFolder } from '../kit/folder.ts';
import { NODE, runChild } from '../kit/process.ts';
import { serveUpstream } from '../kit/provider.ts';
import { LAUNCHER, ROOT } from '../kit/relay.ts';
import { expectUnaffected, makeStrangeFolder } from '../kit/strange-folder.ts';

test('in a folder of a stranger a checkout runs no code and sets no variable of it', () =>
  expectUnaffected([NODE, LAUNCHER], { cwd: makeStrangeFolder() }));

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
