/** `sign-in-relay dev` as it is started: its options, its terminal, its page in a browser. */
import { describe, expect, test } from 'bun:test';
import { ENDING_NAMES } from '../../src/cli/dev/endings.ts';
import { lanAddress, startDev } from '../kit/dev.ts';
import { poll, start } from '../kit/device.ts';
import { findFreePort, runChild, startChild } from '../kit/process.ts';
import { MAIN } from '../kit/relay.ts';
import { CTRL_C, startInTerminal } from '../kit/terminal.ts';
import { pollUntil } from '../kit/wait.ts';

describe('dev: options', () => {
  test('--service: under the names that an app uses', async () => {
    await using dev = await startDev({ args: ['--service', 'mal,my-provider'] });
    expect((await start(dev, 'mal')).url).toStartWith(`${dev.relayUrl}/auth/mal?state=`);
    await dev.plan({ ending: 'approve', auto: true });
    const { session } = await start(dev, 'my-provider');
    expect((await poll(dev, session)).status).toBe(200);
  });

  test('--service: a profile of that name does not count', async () => {
    // Trakt wants JSON.
    await using dev = await startDev({ args: ['--service', 'trakt'] });
    await dev.plan({ ending: 'approve', auto: true });
    const { session } = await start(dev, 'trakt');
    expect(await (await poll(dev, session)).json()).toHaveProperty('accessToken');
  });

  test('--open: a client can register for the relay alone; else there is no MCP server', async () => {
    await using dev = await startDev({ args: ['--open'] });
    const post = { method: 'POST', body: '{}' };
    for (const [address, status] of [
      [`${dev.relayUrl}/open/callback`, 201],
      ['https://other.example/callback', 400],
    ] as const) {
      const body = JSON.stringify({ redirect_uris: [address] });
      expect((await dev.askProvider('/register', { ...post, body })).status).toBe(status);
    }
    await using other = await startDev();
    expect((await other.askProvider('/mcp', post)).status).toBe(404);
    expect((await other.ask('/open', post)).status).toBe(404);
  });

  test.each([
    [['--port', 'x'], '--port'],
    [['--port', '65535'], '--port'],
    [['--service', 'start'], '--service'],
    [['--service', 'a,a'], '--service'],
    [['--address', 'here'], '--address'],
    [['--bogus'], '--bogus'],
  ])('%j → 1, and what would be right', async (args, shown) => {
    const ended = await runChild([process.execPath, MAIN, 'dev', ...args]);
    expect(ended).toEqual({ exitCode: 1, output: expect.stringContaining(shown) });
  });

  test('its port, or that of its provider, is taken → 1, and nothing runs', async () => {
    await using other = await startDev();
    for (const port of [other.port, other.port - 1]) {
      const ended = await runChild([process.execPath, MAIN, 'dev', '--port', `${port}`]);
      const output = `Port ${other.port} is taken by another program. Choose another with --port.\n`;
      expect(ended).toEqual({ exitCode: 1, output });
    }
  });

  test('only this machine reaches it, unless asked otherwise', async () => {
    await using dev = await startDev();
    const elsewhere = fetch(`http://${lanAddress}:${dev.port}/health`);
    expect(await elsewhere.catch(() => 'refused')).toBe('refused');
  });
});

describe('dev in a terminal', () => {
  async function startHere(env: Readonly<Record<string, string>> = {}) {
    const port = await findFreePort();
    const dev = startInTerminal([process.execPath, MAIN, 'dev', '--port', `${port}`], { env });
    return { ...dev, port, shown: await dev.untilShown('Ctrl-C ends it') };
  }

  test('says where it is and what happens, and ends with Ctrl-C', async () => {
    const dev = await startHere();
    await fetch(`http://127.0.0.1:${dev.port}/auth/start`, {
      method: 'POST',
      body: JSON.stringify({ service: 'dev', device: '\x1b[2JTV' }),
    });
    const shown = await dev.untilShown('started a sign-in at dev');
    expect(shown).not.toContain('\x1b[2J');
    dev.type(CTRL_C);
    expect(await dev.exited).toBe(0);
  });

  test.each([{ NO_COLOR: '1' }, { TERM: 'dumb' }])('%j: no escape sequence', async (env) => {
    const dev = await startHere(env);
    expect(dev.shown).not.toContain('\x1b');
    dev.type(CTRL_C);
    await dev.exited;
  });

  test('ends when nobody reads it any more, so that its ports become free', async () => {
    const line = `"${process.execPath}" "${MAIN}" dev --port 0 | head -n 4`;
    const shell = startChild(['sh', '-c', line]);
    const shown = await pollUntil('it listens', () => /http:\S+/.exec(shell.output())?.[0]);
    // An event, which it cannot write.
    const start = { method: 'POST', body: '{"service":"dev"}' };
    await fetch(`${shown}/auth/start`, start).catch(() => {});
    expect(await shell.exited).toBe(0);
  });
});

test('dev: GET / lists every ending, and what has happened, as text', async () => {
  await using dev = await startDev();
  await start(dev, 'dev', { device: 'The <b>TV</b>' });
  const page = await (await dev.askProvider('/')).text();
  for (const name of ENDING_NAMES) expect(page).toContain(`name="ending" value="${name}"`);
  expect(page).toContain('The &lt;b&gt;TV&lt;/b&gt;');
});
