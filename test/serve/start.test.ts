/** How the process starts, and how it refuses to (docs/configuration.md, docs/operating.md). */
import { describe, expect, test } from 'bun:test';
import { mkdtempSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { newFolder } from '../kit/folder.ts';
import { has } from '../kit/needs.ts';
import { asNode } from '../kit/old-node.ts';
import { runChild } from '../kit/process.ts';
import { ROOT, RUNTIMES, runRelay, startRelay } from '../kit/relay.ts';
import { plantSecret } from '../kit/secrets.ts';

const folder = newFolder();

describe('a relay that starts', () => {
  test('logs once that it listens, with the redirect URI of each provider to register', async () => {
    const names = ['mal', 'anilist', 'spotify'];
    const env = { PROVIDERS: names.join(), ANILIST_CLIENT_ID: 'a', SPOTIFY_CLIENT_ID: 's' };
    await using relay = await startRelay(env);
    const { baseUrl } = relay;
    const redirectUris = Object.fromEntries(
      names.map((name) => [name, `${baseUrl}/auth/${name}/callback`]),
    );
    expect(relay.events('listening')).toMatchObject([{ level: 'info', baseUrl, redirectUris }]);
    expect(await (await relay.ask('/health')).text()).toBe('ok');
  });

  test.each(RUNTIMES)('says it runs on %s, on Node that Bun takes less', async (name, command) => {
    await using relay = await startRelay({}, { command });
    const [listening] = relay.events('listening');
    expect(listening?.version).toMatch(/^\d+\.\d+\.\d+/);
    expect(listening?.runtime).toMatch(new RegExp(`^${name} \\d+\\.\\d+`));
    const hint = expect.stringContaining('Bun is the fast way, then Node 24');
    expect(listening?.hint).toEqual(name === 'Node' ? hint : undefined);
  });

  test('on Node 20 warns that it is not supported there', async () => {
    const command = [...asNode('20.20.2'), `${ROOT}dist/cli/main.js`];
    const relay = await startRelay({}, { command });
    await relay.stop();
    expect(relay.events('runtime')).toEqual([
      expect.objectContaining({
        level: 'warning',
        runtime: 'Node 20.20.2',
        problem: expect.stringContaining('not supported: install Node 24'),
      }),
    ]);
  });

  test('at a host name listens on one of its addresses: no second relay takes another', async () => {
    await using relay = await startRelay({ HOST: 'localhost' });
    const [{ url } = { url: '' }] = relay.events('listening');
    expect(String(url)).toMatch(/^http:\/\/(127\.0\.0\.1|\[::1\]):/);
  });

  test('shows every setting with --help', async () => {
    const { exitCode, output } = await runRelay({}, { args: ['--help'] });
    expect(exitCode).toBe(0);
    const names = ['OAUTH_BASE_URL', 'TRUSTED_PROXY_CIDRS', '_CLIENT_SECRET', '_PKCE', 'LOG_LEVEL'];
    for (const name of [...names, 'AUTHORIZE_PARAMS']) expect(output).toContain(name);
  });
});

test.each(RUNTIMES)('settings that do not fit the machine are warnings: %s', async (_, command) => {
  async function warningsOf(env: Record<string, string>) {
    const relay = await startRelay(env, { command, openFiles: 1_000 });
    await relay.stop();
    return relay.events('setting').map(({ level, setting, problem }) => [level, setting, problem]);
  }
  expect(await warningsOf({ MAX_SESSIONS: '900' })).toEqual([]);
  const NODE_EXTRA_CA_CERTS = '/nowhere.pem';
  expect(await warningsOf({ MAX_SESSIONS: '901', NODE_EXTRA_CA_CERTS })).toEqual([
    [
      'warning',
      'NODE_EXTRA_CA_CERTS',
      expect.stringContaining('names /nowhere.pem, which does not exist'),
    ],
    ['warning', 'MAX_SESSIONS', expect.stringContaining('may open only 1000')],
  ]);
});

describe('providers, on the command line', () => {
  const show = (...args: string[]) => runRelay({}, { args: ['providers', ...args] });

  test('lists all that may be named, and marks what is unverified', async () => {
    const { exitCode, output } = await show();
    expect(exitCode).toBe(0);
    expect(output).toMatch(/^spotify +Spotify +S256 +optional +yes +-$/m);
    expect(output).toMatch(/^strava \* +Strava/m);
    expect(output).toMatch(/^discord +Discord .* of its own$/m);
    expect(output).toContain('Not by their names: amazon, apple, ');
    expect(output.split('\n').filter((line) => line.length > 80)).toEqual([]);
  });

  test.each([
    [['spotfy'], 'No provider is called "spotfy". Did you mean spotify?'],
    [['constructor'], 'No provider is called "constructor".'],
    [['spotify', 'mal'], 'Unexpected argument "mal"'],
  ])('refuses %j', async (args, problem) => {
    const { exitCode, output } = await show(...args);
    expect([exitCode, output]).toEqual([1, expect.stringContaining(problem)]);
  });
});

/** EX_CONFIG. Other failures may pass by themselves, and end with 1. */
const WRONG_SETTINGS = 78;

const withCommands = test.if(
  has('POSIX commands', 'of a file that a setting names a relay reads a bounded part'),
);

withCommands('a pipe in NODE_EXTRA_CA_CERTS is left to the runtime: it is read once', async () => {
  const NODE_EXTRA_CA_CERTS = join(folder, 'certificates');
  expect((await runChild(['mkfifo', NODE_EXTRA_CA_CERTS])).exitCode).toBe(0);
  await using relay = await startRelay({ NODE_EXTRA_CA_CERTS });
  expect(relay.events('setting')).toEqual([]);
});

describe('a relay that refuses to start', () => {
  test.each([
    ['an unknown option', ['--prot', '80'], /'--prot'.*Usage:/s],
    ['an unknown command', ['start'], /no command "start"\n.*Usage:/s],
    ['a mistyped command', ['chek'], 'There is no command "chek": did you mean check?\n'],
    ['an unknown option of a command', ['health', '--json'], "Unknown option '--json'"],
  ])('because of %s says so', async (_, args, problem) => {
    const { exitCode, output } = await runRelay({}, { args });
    expect(exitCode).toBe(1);
    expect(output).toMatch(problem);
  });

  withCommands.each(RUNTIMES)('reads small regular files in UTF-8, on %s', async (_, command) => {
    const own = mkdtempSync(join(folder, 'files-'));
    const at = (name: string) => join(own, name);
    const [pipe, huge, latin, link] = [at('pipe'), at('huge'), at('latin'), at('link')];
    expect((await runChild(['mkfifo', pipe])).exitCode).toBe(0);
    writeFileSync(huge, '');
    truncateSync(huge, 400_000_000);
    writeFileSync(latin, 'caf\xE9', 'latin1');
    writeFileSync(at('secret'), `${plantSecret('a-secret-behind-a-link')}\n`);
    // As Kubernetes mounts secrets.
    symlinkSync('secret', link);
    const settings = {
      PROVIDERS: 'mal,anilist,trakt',
      MAL_CLIENT_SECRET_FILE: link,
      ANILIST_CLIENT_SECRET_FILE: pipe,
      TRAKT_CLIENT_SECRET_FILE: latin,
      ADMIN_TOKEN_FILE: huge,
      LOGO: '/dev/zero',
    };
    const { exitCode, output } = await runRelay(settings, { command });
    expect([exitCode, output]).toEqual([WRONG_SETTINGS, expect.stringContaining('4 settings')]);
    for (const reason of [
      /ANILIST_CLIENT_SECRET_FILE.*cannot be read \(not a regular file\)/,
      /TRAKT_CLIENT_SECRET_FILE.*cannot be read \(not in UTF-8\)/,
      /ADMIN_TOKEN_FILE.*cannot be read \(larger than 1 MiB\)/,
      /LOGO.*cannot be read \(not a regular file\)/,
    ]) {
      expect(output).toMatch(reason);
    }
  });

  describe('without a terminal', () => {
    /** `output` is stdout, then stderr: what is no event would be found too. */
    async function failWith(env: Record<string, string>) {
      const { exitCode, output } = await runRelay({ ...env, LOG_FORMAT: '' });
      const lines = output.trimEnd().split('\n');
      return { exitCode, events: lines.map((line) => JSON.parse(line) as object) };
    }

    test('says in the log what is wrong with its settings', async () => {
      const secret = `${plantSecret('first-line-of-a-secret')}\n${plantSecret('second-line-of-a-secret')}`;
      const env = { PORT: 'x', MAL_CLIENT_SECRET: secret, LOGLEVEL: 'debug' };
      const { exitCode, events } = await failWith(env);
      expect(exitCode).toBe(WRONG_SETTINGS);
      expect(events).toMatchObject([
        { level: 'warning', event: 'setting', setting: 'MAL_CLIENT_ID' },
        { level: 'warning', event: 'setting', setting: 'LOGLEVEL' },
        { level: 'error', event: 'setting', setting: 'PORT', value: 'x' },
        { level: 'error', event: 'setting', setting: 'MAL_CLIENT_SECRET', value: '***' },
        { level: 'error', event: 'not_started', problem: '2 settings are wrong' },
      ]);
    });

    test('says in the log what this machine lacks', async () => {
      // An address for documentation, RFC 5737 §3.
      const at = { HOST: '203.0.113.5', PORT: '0', APP_NAME: 'Acme' };
      const env = { OAUTH_BASE_URL: 'https://relay.example', ...at };
      const problem = 'HOST is 203.0.113.5: this machine has no such address';
      const { exitCode, events } = await failWith({ ...env, MAL_CLIENT_ID: 'id' });
      expect(exitCode).toBe(1);
      expect(events).toMatchObject([{ level: 'error', event: 'not_started', problem }]);
    });
  });

  const hasIPv6 = Object.values(networkInterfaces()).some((addresses) =>
    addresses?.some(({ address }) => address === '::1'),
  );
  const IPV6_PAIRS = [
    ['::1', ''],
    ['', '::1'],
    ['::', '0.0.0.0'],
  ];

  test.concurrent.each([
    ['127.0.0.1', '127.0.0.1'],
    ['', ''],
    ['127.0.0.1', ''],
    ['', '127.0.0.1'],
    ['0.0.0.0', ''],
    ['localhost', 'localhost'],
    ...(hasIPv6 ? IPV6_PAIRS : []),
  ])(
    'because another relay has its port leaves that one alone: HOST=%s, then HOST=%s',
    async (first = '', second = '') => {
      await using relay = await startRelay({ HOST: first });
      const { exitCode, output } = await runRelay({
        OAUTH_BASE_URL: relay.baseUrl,
        HOST: second,
        PORT: String(relay.port),
      });
      expect(output).toContain(`PORT is ${relay.port}: another program listens there already\n`);
      expect(exitCode).toBe(1);
      const host = first.includes('::1') ? '[::1]' : '127.0.0.1';
      expect((await fetch(`http://${host}:${relay.port}/health`)).status).toBe(200);
    },
  );
});

test('a start that fails because of a bug shows its place, and no secret', async () => {
  const secret = plantSecret('the-password-in-an-address');
  const env = { OAUTH_BASE_URL: `https://relay.example/${secret}` };
  const { exitCode, output } = await runRelay(env, { fault: 'broken URL' });
  expect([exitCode, output]).toEqual([1, expect.stringContaining('because of a bug')]);
  expect(output).toMatch(/src\/\S+\.ts/);
  expect(output).not.toContain(secret);
});
