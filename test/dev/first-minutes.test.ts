/** The first minutes of a new user: README.md "Try it", where a machine is not as ours. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { cpSync, mkdirSync, symlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { startDev } from '../kit/dev.ts';
import { newFolder } from '../kit/folder.ts';
import { findFreePort, runChild, startChild } from '../kit/process.ts';
import { MAIN, ROOT } from '../kit/relay.ts';
import { untilShown } from '../kit/wait.ts';

/** The width of a terminal by default. */
const COLUMNS = 80;
const wide = (text: string) => text.split('\n').filter((line) => [...line].length > COLUMNS);

const home = newFolder();

describe('on a screen of 80 columns', () => {
  test.each(['', 'dev', 'login', 'token', 'logout'])('the help of "%s" fits', async (name) => {
    const command = name === '' ? [] : [name];
    const { exitCode, output } = await runChild([process.execPath, MAIN, ...command, '--help']);
    expect([exitCode, wide(output)]).toEqual([0, []]);
  });

  test('what dev says at its start fits', async () => {
    await using dev = await startDev();
    expect(wide(dev.output())).toEqual([]);
  });
});

describe('where another program has port 8080', () => {
  const other = createServer();
  // If it is taken already, that is what the tests need.
  beforeAll(
    () =>
      new Promise<void>((resolve) => {
        other.once('error', () => resolve()).listen(8_080, '127.0.0.1', resolve);
      }),
  );
  afterAll(() => void other.close());

  test('dev takes the next two ports that are free, and says so', async () => {
    const dev = startChild([process.execPath, MAIN, 'dev']);
    const shown = await untilShown(dev, 'Ctrl-C ends it');
    const [, port = ''] = /The relay +http:\/\/127\.0\.0\.1:(\d+) /.exec(shown) ?? [];
    expect(Number(port)).toBeGreaterThan(8_080);
    expect(dev.output()).toContain(
      `Port 8080 or 8081 is taken by another program: here it is ${port}.`,
    );
    expect(dev.output()).toContain(`login dev --relay http://127.0.0.1:${port}`);
    expect(await (await fetch(`http://127.0.0.1:${port}/health`)).text()).toBe('ok');
    expect((await fetch(`http://127.0.0.1:${Number(port) + 1}/`)).status).toBe(200);
    dev.kill();
    expect(await dev.exited).toBe(0);
  });
});

test('the commands of the README work in a folder with spaces and other alphabets', async () => {
  const checkout = join(home, 'Mein Gerät, 東京 & Co');
  mkdirSync(checkout);
  for (const part of ['package.json', 'tsconfig.json', 'bin', 'client', 'demo', 'src']) {
    cpSync(join(ROOT, part), join(checkout, part), { recursive: true });
  }
  symlinkSync(join(ROOT, 'node_modules'), join(checkout, 'node_modules'));
  const options = { cwd: checkout, env: { HOME: home } };
  const port = await findFreePort();
  const dev = startChild(['npm', 'run', 'dev', '--', '--port', `${port}`], options);
  await untilShown(dev, 'Ctrl-C ends it');
  const provider = `http://127.0.0.1:${port + 1}`;
  const television = await (await fetch(`${provider}/client/dist/tv.js`)).text();
  expect(television).toContain('SignInRelay');
  const body = JSON.stringify({ ending: 'approve', auto: true });
  await fetch(`${provider}/next`, { method: 'POST', body });
  const folder = join(home, 'from npm');
  const relay = ['--relay', `http://127.0.0.1:${port}`, '--tokens', folder];
  const login = await runChild(['npm', 'run', 'login', '--', 'dev', ...relay], options);
  const where = `--relay http://127.0.0.1:${port} --tokens '${folder}'`;
  const next = `npx sign-in-relay token dev ${where}\n`;
  expect(login).toMatchObject({ exitCode: 0, output: expect.stringContaining(next) });
  // npm passes it on.
  dev.kill('SIGTERM');
  expect(await dev.exited).toBe(0);
  expect(await fetch(provider).catch(() => 'ended')).toBe('ended');
});

test('a proxy that the environment names is not asked for this machine', async () => {
  await using dev = await startDev();
  await dev.plan({ ending: 'approve', auto: true });
  const proxy = `http://127.0.0.1:${await findFreePort()}`;
  const env = { HOME: home, HTTP_PROXY: proxy, http_proxy: proxy, no_proxy: 'corp.example' };
  const line = ['login', 'dev', '--relay', dev.relayUrl, '--tokens', join(home, 'tokens')];
  const login = await runChild([process.execPath, MAIN, ...line], { env });
  expect(login).toMatchObject({ exitCode: 0, output: expect.stringContaining('Signed in to dev') });
});
