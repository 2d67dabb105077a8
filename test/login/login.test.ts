/** `sign-in-relay login` as a user and as a script run it, against a dev relay. */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { EXIT_CODES } from '../../src/cli/login/options.ts';
import { chooseAtProvider, startDev } from '../kit/dev.ts';
import { runChild } from '../kit/process.ts';
import { untilFrozen } from '../kit/redis/server.ts';
import { MAIN } from '../kit/relay.ts';
import { CTRL_C, startInTerminal } from '../kit/terminal.ts';
import { decide } from '../kit/user.ts';
import { pollUntil } from '../kit/wait.ts';

setDefaultTimeout(40_000);

const dev = await startDev();
const folder = mkdtempSync(join(tmpdir(), 'sign-in-relay-login-'));
afterAll(() => dev.stop());

const command = (...args: string[]) => [process.execPath, MAIN, 'login', ...args];
const atDev = (...args: string[]) => command('dev', '--relay', dev.relayUrl, ...args);

interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/** In pipes, as a script runs it. */
function startLogin(line: readonly string[], { env = {}, cwd }: RunOptions = {}) {
  const child = Bun.spawn([...line], {
    env: { PATH: process.env.PATH ?? '', NO_PROXY: '127.0.0.1', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(cwd !== undefined && { cwd }),
  });
  let stderr = '';
  const reading = (async () => {
    const decoder = new TextDecoder();
    for await (const part of child.stderr) stderr += decoder.decode(part, { stream: true });
  })();
  const stdout = new Response(child.stdout).text();
  return {
    kill: (signal: NodeJS.Signals) => child.kill(signal),
    stderr: () => stderr,
    untilShown: (text: string) => pollUntil(`stderr has ${text}`, () => stderr.includes(text)),
    ended: (async () => {
      const exitCode = await child.exited;
      await reading;
      return { exitCode, stdout: await stdout, stderr };
    })(),
  };
}

const runLogin = (line: readonly string[], options?: RunOptions) => startLogin(line, options).ended;

const approve = () => dev.plan({ scenario: 'approve', auto: true });

function isAcknowledged(device: string): boolean {
  const number = new RegExp(`#(\\d+) +"${device}" started`).exec(dev.output())?.[1];
  return new RegExp(`#${number} +the device acknowledged`).test(dev.output());
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
  test('the user confirms at the short link: stdout holds the tokens as JSON and nothing else, and the result is acknowledged', async () => {
    const login = startLogin(atDev('--device', 'The pipe'));
    await login.untilShown('Waiting');
    const link = /http:\S+\/L\/[A-Z]{4}-[A-Z]{4}\n/.exec(login.stderr())?.[0].trim() ?? '';
    expect(await (await dev.ask(link)).text()).toContain('The pipe');
    await signInAt(link);
    const { exitCode, stdout, stderr } = await login.ended;
    expect(exitCode).toBe(EXIT_CODES.signedIn);
    expect(JSON.parse(stdout)).toEqual(TOKENS);
    // From the redirect to the provider until the tokens.
    expect(stderr).toContain('The link is open');
    expect(stderr).not.toContain('\x1b');
    expect(stderr).not.toContain(JSON.parse(stdout).accessToken);
    await pollUntil('it is acknowledged', () => isAcknowledged('The pipe'));
  });

  test.each([
    ['deny', EXIT_CODES.declined, 'declined'],
    ['provider-error', EXIT_CODES.failed, 'did not sign the user in'],
    ['no-code', EXIT_CODES.failed, 'without a code'],
    ['exchange-fails', EXIT_CODES.failed, 'no tokens'],
    ['expires', EXIT_CODES.expired, 'expired'],
  ] as const)('%s → exit code %i, and why on stderr', async (scenario, exitCode, why) => {
    const isTimed = exitCode === EXIT_CODES.expired;
    await dev.plan({ scenario, auto: true, ...(isTimed && { seconds: 1 }) });
    const ended = await runLogin(atDev());
    expect(ended).toMatchObject({ exitCode, stdout: '' });
    expect(ended.stderr).toContain(why);
  });

  test('a relay that is full: it starts again, and signs in', async () => {
    await dev.plan({ scenario: 'full' });
    await approve();
    const { exitCode, stderr } = await runLogin(atDev());
    expect(exitCode).toBe(0);
    expect(stderr).toContain('Trouble: the relay answered');
  });

  test.each(['SIGHUP', 'SIGINT'] as const)(
    '%s cancels the sign-in at the relay, and has its own exit code',
    async (signal) => {
      const cancellations = () =>
        dev.output().match(/the device cancelled its sign-in/g)?.length ?? 0;
      const before = cancellations();
      const login = startLogin(atDev());
      await login.untilShown('Waiting');
      login.kill(signal);
      const { exitCode, stdout, stderr } = await login.ended;
      expect(exitCode).toBe(signal === 'SIGINT' ? EXIT_CODES.interrupted : EXIT_CODES.terminated);
      expect(stdout).toBe('');
      expect(stderr).toEndWith('Stopped. The sign-in was cancelled.\n');
      await pollUntil('the relay is told', () => cancellations() > before);
    },
  );

  const inShell = (line: readonly string[]) => line.map((part) => `'${part}'`).join(' ');

  test('a reader of stdout that has left → 7', async () => {
    await approve();
    const script = `(${inShell(atDev())}; echo "code $?" >&2) | true`;
    const { stderr } = await runLogin(['/bin/bash', '-c', script]);
    expect(stderr).toContain(`code ${EXIT_CODES.output}`);
  });

  test('what cannot be written is not acknowledged → 7', async () => {
    await approve();
    const script = `${inShell(atDev('--device', 'A full disk'))} > /dev/full`;
    const ended = await runLogin(['/bin/bash', '-c', script]);
    expect(ended).toMatchObject({ exitCode: EXIT_CODES.output, stdout: '' });
    expect(ended.stderr).toEndWith('stdout: ENOSPC\n');
    // The next one is, and by then this one would have been.
    await approve();
    await runLogin(atDev('--device', 'Another disk'));
    await pollUntil('the next one is acknowledged', () => isAcknowledged('Another disk'));
    expect(isAcknowledged('A full disk')).toBe(false);
  });
});

describe('login --output', () => {
  test('writes a file that only its owner can read, and nothing to stdout', async () => {
    await approve();
    const file = join(folder, 'tokens.json');
    // Others could read what was there.
    writeFileSync(file, 'old', { mode: 0o644 });
    const { exitCode, stdout } = await runLogin(atDev('--output', file));
    expect([exitCode, stdout]).toEqual([0, '']);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(TOKENS);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder)).toEqual(['tokens.json']);
  });

  test.each([
    ['a folder that does not exist', 'missing/tokens.json', 'cannot be written: ENOENT'],
    ['a folder', '.', 'is a directory'],
    ['a pipe, which somebody else may read', 'pipe', 'is no regular file'],
    ['a link to a pipe', 'link', 'is no regular file'],
    ['a device', '/dev/null', 'is no regular file'],
  ])('%s → 7, before a link is shown', async (_, path, why) => {
    const own = mkdtempSync(join(tmpdir(), 'sign-in-relay-login-'));
    expect((await runChild(['mkfifo', join(own, 'pipe')])).exitCode).toBe(0);
    symlinkSync('pipe', join(own, 'link'));
    const ended = await runLogin(atDev('--output', resolve(own, path)));
    expect(ended).toMatchObject({ exitCode: EXIT_CODES.output, stdout: '' });
    expect(ended.stderr).toContain(why);
    expect(ended.stderr).not.toContain('/L/');
  });

  test('--output names a symbolic link: what it leads to is replaced, and the link stays', async () => {
    const own = mkdtempSync(join(tmpdir(), 'sign-in-relay-login-'));
    mkdirSync(join(own, 'disk'));
    writeFileSync(join(own, 'disk', 'there.json'), '{"old":1}', { mode: 0o644 });
    // The second leads to a file that is not there yet.
    for (const name of ['there.json', 'new.json']) {
      symlinkSync(join('disk', name), join(own, name));
      await approve();
      const { exitCode } = await runLogin(atDev('--output', join(own, name)));
      expect(exitCode).toBe(EXIT_CODES.signedIn);
      expect(readlinkSync(join(own, name))).toBe(join('disk', name));
      const target = join(own, 'disk', name);
      expect(JSON.parse(readFileSync(target, 'utf8'))).toEqual(TOKENS);
      expect(statSync(target).mode & 0o777).toBe(0o600);
    }
    expect(readdirSync(join(own, 'disk')).toSorted()).toEqual(['new.json', 'there.json']);
  });

  test('a sign-in that fails leaves an older file, and no other', async () => {
    const own = mkdtempSync(join(tmpdir(), 'sign-in-relay-login-'));
    writeFileSync(join(own, 'tokens.json'), 'old');
    await dev.plan({ scenario: 'deny', auto: true });
    await runLogin(atDev('-o', join(own, 'tokens.json')));
    expect(readdirSync(own)).toEqual(['tokens.json']);
    expect(readFileSync(join(own, 'tokens.json'), 'utf8')).toBe('old');
  });
});

describe('login: which relay', () => {
  test('SIGN_IN_RELAY_URL names it, with a slash at its end or without; --relay comes before', async () => {
    for (const [line, SIGN_IN_RELAY_URL] of [
      [command('dev'), `${dev.relayUrl}/`],
      [atDev(), 'http://127.0.0.1:1'],
    ] as const) {
      await approve();
      expect((await runLogin(line, { env: { SIGN_IN_RELAY_URL } })).exitCode).toBe(0);
    }
  });

  test('a service that the relay does not have → 6, with what the relay says', async () => {
    const ended = await runLogin(command('nobody', '--relay', dev.relayUrl));
    expect(ended).toMatchObject({ exitCode: EXIT_CODES.relay, stdout: '' });
    expect(ended.stderr).toContain('Unknown service');
  });

  test('nothing listens there, or no relay → 6', async () => {
    using other = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch: () => new Response('{}'),
    });
    for (const [relay, why] of [
      ['http://127.0.0.1:1', 'the relay does not answer'],
      [other.url.origin, 'The relay answered 200: not what was expected'],
    ] as const) {
      const ended = await runLogin(command('dev', '--relay', relay));
      expect(ended).toMatchObject({ exitCode: EXIT_CODES.relay, stdout: '' });
      expect(ended.stderr).toContain(why);
    }
  });

  test('an http relay on another machine → 2, unless --allow-http', async () => {
    // Of a block for documentation, RFC 5737 §3.
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

describe('login in a terminal', () => {
  const ENTER = '\x1b[?1049h';
  const LEAVE = '\x1b[?25h\x1b[?1049l';

  test('shows link, code, QR code and countdown, then leaves the screen and prints the tokens', async () => {
    const login = startInTerminal(atDev());
    const shown = await login.untilShown(/Waiting for you {2}9:5\d/);
    const text = stripVTControlCharacters(shown);
    expect(text).toMatch(/http:\S+\/L\/[A-Z]{4}-[A-Z]{4}/);
    expect(text).toMatch(/Or type [A-Z]{4}-[A-Z]{4} at/);
    expect(text).toContain('▀▀▀');
    expect(shown).toStartWith(ENTER);
    const link = /http:\S+\/L\/[\w-]+/.exec(text)?.[0] ?? '';
    await signInAt(link);
    expect(await login.exited).toBe(0);
    const after = login.output().split(LEAVE).at(-1) ?? '';
    expect(JSON.parse(/\{.*\}/s.exec(after)?.[0] ?? '')).toEqual(TOKENS);
  });

  test('Ctrl-C: the screen is left, the cursor is back, nothing else is written, 130', async () => {
    const login = startInTerminal(atDev());
    await login.untilShown('Waiting for you');
    login.type(CTRL_C);
    expect(await login.exited).toBe(EXIT_CODES.interrupted);
    const [, after] = login.output().split(LEAVE);
    expect(after).toBe('Stopped. The sign-in was cancelled.\r\n');
  });

  test('a terminal that changes its size is drawn anew, with the code where it fits', async () => {
    const login = startInTerminal(atDev(), { columns: 30, rows: 12 });
    const small = await login.untilShown('Waiting for you');
    expect(small).not.toMatch(/[▀█]/);
    login.resize(100, 40);
    await login.untilShown(/▀▀▀|████/);
    login.type(CTRL_C);
    await login.exited;
  });

  test.each([20, 23])('the time is never cut off, also at %d columns', async (columns) => {
    const login = startInTerminal(atDev(), { columns, rows: 12 });
    await login.untilShown(/9:5\d(?!\d)/);
    login.type(CTRL_C);
    await login.exited;
  });

  test('Ctrl-Z leaves the screen, and what goes on after it is drawn anew', async () => {
    const login = startInTerminal(atDev());
    const shown = await login.untilShown('Waiting for you');
    login.type('\x1a');
    await untilFrozen(login.pid);
    await pollUntil('the screen is left', () => login.output().endsWith(LEAVE));
    process.kill(login.pid, 'SIGCONT');
    const link = /http:\S+\/L\/[A-Z-]+/.exec(shown)?.[0] ?? '';
    const anew = () => login.output().split(LEAVE)[1] ?? '';
    await pollUntil('it is drawn', () => anew().startsWith(ENTER) && anew().includes(link));
    login.type(CTRL_C);
    expect(await login.exited).toBe(EXIT_CODES.interrupted);
  });

  test('a terminal whose size nobody has set gets plain lines', async () => {
    await approve();
    const line = ['sh', '-c', 'stty cols 0 rows 0; exec "$@"', 'sh', ...atDev()];
    const login = startInTerminal(line);
    expect(await login.exited).toBe(0);
    expect(login.output()).not.toContain('\x1b');
    expect(login.output()).toContain('Open this link in any browser');
  });

  test('TERM=dumb gets plain lines', async () => {
    await approve();
    const login = startInTerminal(atDev(), { env: { TERM: 'dumb' } });
    expect(await login.exited).toBe(0);
    expect(login.output()).not.toContain('\x1b');
    expect(login.output()).toContain('Open this link in any browser');
  });
});
