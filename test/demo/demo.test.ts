/** The demo as a person starts it, without its terminal. */
import { expect, setDefaultTimeout, test } from 'bun:test';
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { signInAs } from '../../demo/auto/person.ts';
import { failureOf } from '../support/failure-of.ts';

setDefaultTimeout(30_000);

const MAIN = fileURLToPath(new URL('../../demo/main.ts', import.meta.url));

function startDemo(...args: string[]) {
  const child = spawn(process.execPath, [MAIN, ...args], {
    env: { PATH: process.env.PATH ?? '' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  const shown = Promise.withResolvers<string>();
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (part) => {
      output += part;
      const link = /^ {2}(http:\S+)$/m.exec(output)?.[1];
      if (link) shown.resolve(link);
    });
  }
  const ended = new Promise<{ exitCode: number | null; output: string }>((resolve) => {
    child.once('close', (exitCode) => {
      resolve({ exitCode, output });
      shown.reject(new Error(`the demo ended without a link. It said:\n${output}`));
    });
  });
  // Not every test waits for the link.
  shown.promise.catch(() => undefined);
  return { link: shown.promise, ended, kill: child.kill.bind(child) };
}

/** As long as any token, code or state is, and longer than any word. */
const USABLE_SECRET = /[\w-]{24,}/;

test('demo --auto: signs in, shows what arrived, and ends with 0', async () => {
  const { exitCode, output } = await startDemo('--auto').ended;
  expect(output).toContain('Demo TV is signed in as Ada');
  expect(output).toContain("the provider takes the access token: it is Ada's");
  expect(output).toContain('410 Session not found');
  expect(exitCode).toBe(0);
});

test('demo --auto: shows no token, code or state that anybody could use', async () => {
  const { output } = await startDemo('--auto').ended;
  expect(output).not.toMatch(USABLE_SECRET);
});

test('demo: a person opens the link and signs in → whose tokens arrived, and 0', async () => {
  const demo = startDemo();
  const page = await signInAs('Grace', await demo.link, AbortSignal.timeout(20_000));
  expect(page).toMatchObject({ status: 200, title: 'Signed in' });
  const { exitCode, output } = await demo.ended;
  expect(output).toContain('Demo TV is signed in as Grace');
  expect(exitCode).toBe(0);
});

test.each(['SIGINT', 'SIGTERM'] as const)(
  'demo: %s → says so, ends its servers, and ends with 130',
  async (signal) => {
    const demo = startDemo();
    const link = await demo.link;
    demo.kill(signal);
    const { exitCode, output } = await demo.ended;
    expect(output).toEndWith('\n  Stopped. Nothing was kept.\n\n');
    expect(exitCode).toBe(130);
    expect(await failureOf(fetch(link))).toBeInstanceOf(Error);
  },
);

test('demo --help → how to use it, and 0; an unknown option → the same, and 1', async () => {
  const [help, unknown] = await Promise.all([startDemo('-h').ended, startDemo('--bogus').ended]);
  expect(help.output).toContain('npm run demo -- --auto');
  expect(help.exitCode).toBe(0);
  expect(unknown.output).toContain("'--bogus'");
  expect(unknown.output).toContain('npm run demo -- --auto');
  expect(unknown.exitCode).toBe(1);
});
