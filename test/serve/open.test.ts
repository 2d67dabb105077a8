/** Open sign-ins by the programs that docs/open.md names, at a provider that this project did not write. */
import { expect, onTestFinished, test } from 'bun:test';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startFaultProxy } from '../kit/fault-proxy.ts';
import { newFolder } from '../kit/folder.ts';
import { has, isHere, type Need, PYTHON } from '../kit/needs.ts';
import { type OpenIdProvider, startOpenId } from '../kit/openid.ts';
import { findFreePort, startChild } from '../kit/process.ts';
import { serveUpstream } from '../kit/provider.ts';
import { startRedis } from '../kit/redis/server.ts';
import { MAIN, ROOT, startRelay } from '../kit/relay.ts';
import { answerLink, createUser, readLink } from '../kit/user.ts';

const file = join(newFolder(), 'sessions.db');
const redis = isHere('Redis') ? await startRedis() : undefined;

/** The user continues, and signs in as Ada. */
async function signInAt(link: string, baseUrl: string, authorizeUrl: string): Promise<void> {
  const user = createUser({ ask: (url, init) => fetch(url, { redirect: 'manual', ...init }) });
  const { headers } = await user.decide(link, 'continue', { Origin: baseUrl });
  const sent = headers.get('location') ?? '';
  expect(sent).toStartWith(`${authorizeUrl}?`);
  // The user gets as far as the provider's redirect, which only the browser that continued may follow.
  const page = await answerLink('Ada', sent);
  expect([page.status, page.title]).toEqual([404, expect.any(String)]);
  await user.open(page.url.href);
}

/** The program of examples/open with these values. */
function writeExample(name: string, values: Readonly<Record<string, string>>): string {
  const program = readFileSync(join(ROOT, 'examples/open', name), 'utf8');
  // In a folder from which it finds the packages of the tests.
  const folder = mkdtempSync(join(ROOT, 'test/node_modules/.open-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, name);
  const entries = Object.entries(values);
  writeFileSync(
    path,
    entries.reduce((text, [from, to]) => text.replace(from, to), program),
  );
  return path;
}

/** Each with the command that runs it, in one of the stores. */
const PROGRAMS: readonly (readonly [
  string,
  Need | undefined,
  Readonly<Record<string, string>>,
  (baseUrl: string, provider: OpenIdProvider) => readonly string[],
])[] = [
  [
    'Authlib, over Redis',
    'Python',
    redis ? { REDIS_URL: redis.url } : {},
    (baseUrl, { authorizeUrl, tokenUrl, clientId }) => [
      ...[PYTHON, '-u'],
      writeExample('with_authlib.py', {
        'https://relay.example': baseUrl,
        'https://accounts.spotify.com/authorize': authorizeUrl,
        'https://accounts.spotify.com/api/token': tokenUrl,
        'the client id that you registered with RELAY/open/callback': clientId,
        'user-read-email': 'openid',
      }),
    ],
  ],
  [
    'oauth4webapi, which registers itself for an MCP server',
    undefined,
    { SESSIONS_FILE: file },
    writeOauth4webapi,
  ],
];

function writeOauth4webapi(baseUrl: string, { issuer }: OpenIdProvider): readonly string[] {
  const server = serveUpstream(() =>
    Response.json({
      resource: server.url,
      authorization_servers: [issuer],
      scopes_supported: ['openid'],
    }),
  );
  const program = writeExample('oauth4webapi.mjs', {
    'https://relay.example': baseUrl,
    'https://mcp.example/mcp': server.url,
    'const options = {}': 'const options = { [oauth.allowInsecureRequests]: true }',
  });
  return [process.execPath, program];
}

const RUN_HERE = PROGRAMS.filter(
  ([name, need]) => need === undefined || has(need, `${name} signs in by an open relay`),
);

/** A relay that has no client and no provider of its own. */
async function startOpenRelay(port: number, baseUrl: string, env: Record<string, string> = {}) {
  const provider = await startOpenId(`${baseUrl}/open/callback`);
  const open = { OAUTH_BASE_URL: baseUrl, OPEN_ENDPOINTS: provider.authorizeUrl };
  const relay = await startRelay({ ...open, PROVIDERS: '', MAL_CLIENT_ID: '', ...env }, { port });
  return { provider, relay };
}

const ENDINGS = [
  ['it gets its tokens, though a result is cut off', '600', [0, 'Signed in']],
  ['a link that has expired ends the program, which says so', '3', [1, 'The link has expired']],
] as const;

test.each(
  RUN_HERE.flatMap(([name, , store, commandOf]) =>
    ENDINGS.map((ending) => [name, ...ending, store, commandOf] as const),
  ),
)('%s: %s', async (_, _ending, SESSION_SECONDS, [exitCode, said], store, commandOf) => {
  const port = await findFreePort();
  let isCut = false;
  using proxy = await startFaultProxy(`http://127.0.0.1:${port}`, ({ path }) => ({
    cutAfter(response) {
      const isFirst = path.endsWith('&wait=25') && response.startsWith('HTTP/1.1 200') && !isCut;
      isCut ||= isFirst;
      return response.length - (isFirst ? 5 : 0);
    },
  }));
  const { provider, relay } = await startOpenRelay(port, proxy.url, {
    SESSION_SECONDS,
    ...store,
  });
  const client = startChild(commandOf(proxy.url, provider), {
    env: { no_proxy: '127.0.0.1' },
    cwd: newFolder(),
  });
  const link = await readLink(client);
  if (exitCode === 0) await signInAt(link, proxy.url, provider.authorizeUrl);
  expect([await client.exited, client.output()]).toEqual([exitCode, expect.stringContaining(said)]);
  expect([isCut, provider.exchanges()]).toEqual(exitCode === 0 ? [true, 1] : [false, 0]);
  await relay.stop();
});

test('login --open keeps tokens, and `token` refreshes them: the relay knows no client', async () => {
  const port = await findFreePort();
  const baseUrl = `http://127.0.0.1:${port}`;
  const { provider, relay } = await startOpenRelay(port, baseUrl);
  const tokens = newFolder();
  const place = ['own', '--relay', baseUrl, '--tokens', tokens];
  const command = (name: string, ...args: string[]) =>
    startChild([process.execPath, MAIN, name, ...place, ...args], {
      env: { NO_PROXY: '127.0.0.1' },
    });
  const scope = 'scope=openid+offline_access&prompt=consent';
  const own = ['--token-url', provider.tokenUrl, '--client-id', provider.clientId];
  const login = command('login', '--open', `${provider.authorizeUrl}?${scope}`, ...own);
  const link = await readLink(login);
  await signInAt(link, baseUrl, provider.authorizeUrl);
  expect(await login.exited).toBe(0);
  await relay.stop('SIGKILL');
  const [file = ''] = readdirSync(tokens);
  const before = JSON.parse(readFileSync(join(tokens, file), 'utf8'));
  writeFileSync(join(tokens, file), JSON.stringify({ ...before, expiresAt: 1 }));
  const token = command('token');
  expect(await token.exited).toBe(0);
  expect(token.output().trim()).not.toBe(before.accessToken);
  expect(provider.exchanges()).toBe(2);
  const incomplete = command('login', '--open', provider.authorizeUrl);
  expect(await incomplete.exited).toBe(2);
});
