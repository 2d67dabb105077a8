/** `sign-in-relay login` as a user and as a script run it, against a dev relay. */
import { describe, expect, test } from 'bun:test';
import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { keyOf } from '../../client/src/storage.ts';
import { EXIT_CODES } from '../../src/cli/login/options.ts';
import { chooseAtProvider, startDev } from '../kit/dev.ts';
import { newFolder } from '../kit/folder.ts';
import { has } from '../kit/needs.ts';
import { startChild } from '../kit/process.ts';
import { MAIN } from '../kit/relay.ts';
import { CTRL_C, startInTerminal } from '../kit/terminal.ts';
import { decide } from '../kit/user.ts';
import { pollUntil, untilShown } from '../kit/wait.ts';

const dev = await startDev();
const home = newFolder();
const folder = join(home, 'sign-in-relay');

const command = (...args: string[]) => [process.execPath, MAIN, 'login', ...args];
const atDev = (...args: string[]) => command('dev', '--relay', dev.relayUrl, ...args);
const atRelay = ['dev', '--relay', dev.relayUrl];

/** In pipes, as a script runs it. */
function startLogin(line: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const own = { NO_PROXY: '127.0.0.1', XDG_CONFIG_HOME: home };
  const { exited, stdout, stderr, kill, isRunning } = startChild(line, { env: { ...own, ...env } });
  return {
    kill,
    stderr,
    untilShown: (text: string) => untilShown({ output: stderr, isRunning }, text),
    ended: exited.then((exitCode) => ({ exitCode, stdout: stdout(), stderr: stderr() })),
  };
}

/** `sign-in-relay token`, with its exit code and what it has printed. */
async function runToken(...args: readonly string[]) {
  const { exitCode, stdout, stderr } = await runLogin([process.execPath, MAIN, 'token', ...args]);
  return { exitCode, printed: stdout.trim(), stderr };
}

const runLogin = (...args: Parameters<typeof startLogin>) => startLogin(...args).ended;

const shortLinkIn = (shown: string) =>
  /http:\S+\/L\/[A-Z]{4}-[A-Z]{4}\n/.exec(shown)?.[0].trim() ?? '';

const approve = () => dev.plan({ ending: 'approve', auto: true });

/** Whether the dev relay says that this device did it. */
function hasDone(device: string, what: string): boolean {
  const number = new RegExp(`#(\\d+) +"${device}" started`).exec(dev.output())?.[1];
  return new RegExp(`#${number} +the device ${what}`).test(dev.output());
}

/** The user confirms at the short link, and signs in. */
async function signInAt(link: string): Promise<void> {
  const page = await chooseAtProvider(dev, await decide(dev, link), { name: 'Ada', ending: '' });
  expect(page.status).toBe(200);
}

const TOKENS = {
  accessToken: expect.any(String),
  refreshToken: expect.any(String),
  expiresIn: 3_600,
  expiresAt: expect.any(Number),
};

describe('login in a pipe', () => {
  test('the user confirms at the short link: tokens are kept privately and acknowledged', async () => {
    const login = startLogin(atDev('--device', 'The pipe'));
    await login.untilShown('Waiting');
    const link = shortLinkIn(login.stderr());
    expect(await (await dev.ask(link)).text()).toContain('The pipe');
    await signInAt(link);
    const { exitCode, stdout, stderr } = await login.ended;
    expect(exitCode).toBe(EXIT_CODES.signedIn);
    const { printed } = await runToken(...atRelay, '--json');
    expect(JSON.parse(printed)).toEqual(TOKENS);
    const [file = ''] = readdirSync(folder);
    expect([readdirSync(folder).length, statSync(join(folder, file)).mode & 0o777]).toEqual([
      1, 0o600,
    ]);
    // From the redirect to the provider until the tokens.
    expect(stderr).toContain('The link is open');
    expect(stdout + stderr).not.toContain('\x1b');
    expect(stdout + stderr).not.toContain(JSON.parse(printed).accessToken);
    await pollUntil('it is acknowledged', () => hasDone('The pipe', 'acknowledged'));
  });

  test.each([
    ['deny', EXIT_CODES.declined, 'declined'],
    ['exchange-fails', EXIT_CODES.failed, 'no tokens'],
  ] as const)('%s → exit code %i, and why on stderr', async (ending, exitCode, why) => {
    await dev.plan({ ending, auto: true });
    const ended = await runLogin(atDev());
    expect(ended).toMatchObject({ exitCode, stdout: '' });
    expect(ended.stderr).toContain(why);
  });

  test('each new link is shown, and a problem in between; when no more come → 5', async () => {
    await dev.plan({ ending: 'full' });
    // A link of which less than a second is left is not shown.
    for (let link = 0; link < 4; link += 1) await dev.plan({ ending: 'expires', seconds: 3 });
    const ended = await runLogin(atDev());
    expect(ended).toMatchObject({ exitCode: EXIT_CODES.expired, stdout: '' });
    expect(ended.stderr).toContain('Problem: The relay answered 503');
    expect(ended.stderr.match(/open the link/g)).toHaveLength(4);
    expect(ended.stderr).toContain('expired');
  });

  test('SIGHUP cancels the sign-in at the relay, and has its own exit code', async () => {
    const login = startLogin(atDev('--device', 'The hung up'));
    await login.untilShown('Waiting');
    login.kill('SIGHUP');
    const { exitCode, stdout, stderr } = await login.ended;
    expect([exitCode, stdout]).toEqual([EXIT_CODES.terminated, '']);
    expect(stderr).toEndWith('Stopped. The sign-in was cancelled.\n');
    await pollUntil('the relay gets the cancellation', () => hasDone('The hung up', 'cancelled'));
  });
});

test('that the link is open is said once, also after a connection that broke', async () => {
  const login = startLogin(atDev());
  await login.untilShown('Waiting');
  const link = shortLinkIn(login.stderr());
  const redirect = await decide(dev, link);
  await login.untilShown('The link is open');
  await chooseAtProvider(dev, redirect, { name: 'Ada', ending: 'cut-off' });
  const { exitCode, stderr } = await login.ended;
  expect(exitCode).toBe(EXIT_CODES.signedIn);
  expect(stderr).toContain('Problem: ');
  expect(stderr.match(/The link is open/g)).toHaveLength(1);
});

describe('token', () => {
  test('prints one line; each service and account has its own', async () => {
    const accounts = ['A', 'B'];
    for (const account of accounts) {
      await approve();
      expect((await runLogin(atDev('--account', account))).exitCode).toBe(0);
    }
    const [one, other] = await Promise.all(
      accounts.map((account) => runToken(...atRelay, '--account', account)),
    );
    expect(one).toMatchObject({
      exitCode: 0,
      printed: expect.stringMatching(/^dev\.access\.\S+$/),
    });
    expect(other?.printed).not.toBe(one?.printed);
    const line = `login dev --relay ${dev.relayUrl} --account 'C D' --tokens ${folder}`;
    expect(await runToken(...atRelay, '--account', 'C D', '--tokens', folder)).toMatchObject({
      exitCode: EXIT_CODES.failed,
      printed: '',
      stderr: expect.stringContaining(`sign-in-relay ${line}\n`),
    });
  });

  test('one that has expired is refreshed; without the relay it says so → 6', async () => {
    await approve();
    await runLogin(atDev('--account', 'old'));
    const path = () =>
      join(folder, readdirSync(folder).find((name) => name.includes('__old')) ?? '');
    const before = JSON.parse(await Bun.file(path()).text());
    writeFileSync(path(), JSON.stringify({ ...before, expiresAt: 1 }));
    const { printed } = await runToken(...atRelay, '--account', 'old');
    expect(printed).not.toBe(before.accessToken);
    expect(JSON.parse(await Bun.file(path()).text()).accessToken).toBe(printed);
    const away = { relay: 'http://127.0.0.1:1', service: 'dev', account: 'old' };
    writeFileSync(
      join(folder, `${keyOf(away)}.json`),
      JSON.stringify({ ...before, refreshToken: ' ', tokenUrl: 'x:', expiresAt: 1 }),
    );
    const named = ['dev', '--relay', away.relay, '--account', away.account];
    expect(await runToken(...named)).toMatchObject({ exitCode: EXIT_CODES.relay, printed: '' });
  });
});

describe('login: which relay', () => {
  test('SIGN_IN_RELAY_URL names it, with or without a final slash; --relay comes first', async () => {
    for (const [line, SIGN_IN_RELAY_URL] of [
      [command('dev'), `${dev.relayUrl}/`],
      [atDev(), 'http://127.0.0.1:1'],
    ] as const) {
      await approve();
      expect((await runLogin(line, { SIGN_IN_RELAY_URL })).exitCode).toBe(0);
    }
  });

  test('a service that the relay does not have, or nothing that listens → 6, and why', async () => {
    for (const [line, why] of [
      [command('nobody', '--relay', dev.relayUrl), /^Cannot sign in: .*Unknown service/],
      [
        command('dev', '--relay', 'http://127.0.0.1:1'),
        /did not answer.*The relay started no sign-in within 10 s/s,
      ],
    ] as const) {
      const ended = await runLogin(line);
      expect(ended).toMatchObject({ exitCode: EXIT_CODES.relay, stdout: '' });
      expect(ended.stderr).toMatch(why);
    }
  });

  test('an http relay on another machine → 2, unless --allow-http', async () => {
    // An address for documentation, RFC 5737 §3.
    const ended = await runLogin(command('dev', '--relay', 'http://192.0.2.1'));
    expect(ended).toMatchObject({ exitCode: EXIT_CODES.usage, stdout: '' });
    expect(ended.stderr).toStartWith('http://192.0.2.1 is http: anybody on the way');
    expect(ended.stderr).toContain('--allow-http');
  });

  test.each([
    [['dev', '--relay', 'relay.example']],
    [['dev', '--relay', 'https://relay.example/?a=b']],
    [[]],
    [['dev', 'mal']],
    [['dev', '--bogus']],
  ])('login %j → 2, and how to use it', async (args) => {
    const ended = await runLogin(command(...args));
    expect(ended).toMatchObject({ exitCode: EXIT_CODES.usage, stdout: '' });
    expect(ended.stderr).toMatch(/--relay|Usage/);
  });

  test('--help → 0, with every exit code', async () => {
    const { exitCode, stdout } = await runLogin(command('--help'));
    expect(exitCode).toBe(0);
    for (const code of Object.values(EXIT_CODES))
      expect(stdout).toMatch(new RegExp(`\\b${code}\\b`));
  });
});

const withCommands = test.if(
  has('POSIX commands', '`login` shows plain lines in a terminal without a size'),
);

describe('login in a terminal', () => {
  const CLEAR_LINE = '\r\x1b[K';

  test('shows link, code, QR code and countdown, and then what is next', async () => {
    const login = startInTerminal(atDev('--tokens', folder));
    const text = stripVTControlCharacters(await login.untilShown(/9:5\d {2}Waiting for you/));
    expect(text).toMatch(/Or type [A-Z]{4}-[A-Z]{4} at/);
    expect(text).toContain('▀▀▀');
    const link = /http:\S+\/L\/[\w-]+/.exec(text)?.[0] ?? '';
    await signInAt(link);
    expect(await login.exited).toBe(0);
    const after = login.output().split(CLEAR_LINE).at(-1) ?? '';
    expect(after).toStartWith('Signed in to dev.');
    expect(after).toContain(`sign-in-relay token dev --relay ${dev.relayUrl}`);
  });

  test('the time is never cut off, also at 12 columns, where there is no code', async () => {
    const login = startInTerminal(atDev('--tokens', folder), { columns: 12, rows: 12 });
    const shown = await login.untilShown(/9:5\d(?!\d)/);
    expect(shown).not.toMatch(/[▀█]/);
    login.type(CTRL_C);
    await login.exited;
  });

  withCommands.each([
    ['whose size nobody has set', 'xterm', 'stty cols 0 rows 0; exec "$@"'],
    ['with TERM=dumb', 'dumb', 'exec "$@"'],
  ])('a terminal %s gets plain lines', async (_, TERM, script) => {
    await approve();
    const line = ['sh', '-c', script, 'sh', ...atDev('--tokens', folder)];
    const login = startInTerminal(line, { env: { TERM } });
    expect(await login.exited).toBe(0);
    expect(login.output()).not.toContain('\x1b');
    expect(login.output()).toContain('open the link in any browser');
  });
});
