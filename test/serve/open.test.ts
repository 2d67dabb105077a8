/** An open sign-in by the program of docs/open.md, at a provider that this project did not write. */
import { afterAll, expect, test } from 'bun:test';
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { signInAs } from '../kit/browser.ts';
import { startOpenId } from '../kit/openid.ts';
import { findFreePort, startChild } from '../kit/process.ts';
import { startRedis } from '../kit/redis/server.ts';
import { MAIN, ROOT, startRelay } from '../kit/relay.ts';
import { createUser } from '../kit/user.ts';
import { pollUntil } from '../kit/wait.ts';

const file = join(mkdtempSync(join(tmpdir(), 'sign-in-relay-open-')), 'sessions.db');
const redis = await startRedis();
afterAll(() => redis.stop());

/** The user continues, and signs in as Ada. */
async function signInAt(link: string, baseUrl: string, authorizeUrl: string): Promise<void> {
  const user = createUser({ ask: (url, init) => fetch(url, { redirect: 'manual', ...init }) });
  const { headers } = await user.decide(link, 'continue', { Origin: baseUrl });
  const sent = headers.get('location') ?? '';
  expect(sent).toStartWith(`${authorizeUrl}?`);
  // As far as the provider's own redirect, which only the browser that continued may follow.
  const page = await signInAs('Ada', sent, AbortSignal.timeout(20_000));
  expect([page.status, page.title]).toEqual([404, expect.any(String)]);
  await user.open(page.url.href);
}

test.each([
  ['in memory', {}],
  ['in a file', { SESSIONS_FILE: file }],
  ['in Redis', { REDIS_URL: redis.url }],
])(
  '%s: the program gets its tokens, and the relay has neither client nor provider',
  async (_, env) => {
    await using stack = new AsyncDisposableStack();
    const port = await findFreePort();
    const baseUrl = `http://127.0.0.1:${port}`;
    const provider = await startOpenId(`${baseUrl}/open/callback`);
    stack.defer(provider.stop);
    const settings = {
      OAUTH_BASE_URL: baseUrl,
      OPEN_ENDPOINTS: provider.authorizeUrl,
      PROVIDERS: '',
    };
    const relay = await startRelay({ ...settings, MAL_CLIENT_ID: '', ...env }, { port });
    stack.defer(async () => void (await relay.stop('SIGKILL')));
    const readme = readFileSync(`${ROOT}docs/open.md`, 'utf8');
    const [, program = ''] = /```python\n([\s\S]*?)```/.exec(readme) ?? [];
    const text = program
      .replace("'https://relay.example'", `'${baseUrl}'`)
      .replace("'https://accounts.spotify.com/authorize'", `'${provider.authorizeUrl}'`)
      .replace("'https://accounts.spotify.com/api/token'", `'${provider.tokenUrl}'`)
      .replace(/'the client id that[^']*'/, `'${provider.clientId}'`)
      .replace('user-read-email', 'openid');
    const script = join(mkdtempSync(join(tmpdir(), 'sign-in-relay-open-')), 'client.py');
    writeFileSync(script, text);
    const client = startChild(['python3', '-u', script], { env: { no_proxy: '127.0.0.1' } });
    await pollUntil('it shows its link', () => client.output().includes('/L/'));
    const [link = ''] = /http:\S+\/L\/\S+/.exec(client.output()) ?? [];

    await signInAt(link, baseUrl, provider.authorizeUrl);
    expect(await client.exited).toBe(0);
    expect(client.output()).toContain('Signed in, for');
    expect(provider.grants()).toBe(1);
  },
  60_000,
);

test('login --open keeps tokens that token refreshes, and neither needs the relay to know the client', async () => {
  const port = await findFreePort();
  const baseUrl = `http://127.0.0.1:${port}`;
  const provider = await startOpenId(`${baseUrl}/open/callback`);
  const open = { OAUTH_BASE_URL: baseUrl, OPEN_ENDPOINTS: provider.authorizeUrl };
  const relay = await startRelay({ ...open, PROVIDERS: '', MAL_CLIENT_ID: '' }, { port });
  const tokens = mkdtempSync(join(tmpdir(), 'sign-in-relay-open-'));
  const place = ['own', '--relay', baseUrl, '--tokens', tokens];
  const command = (name: string, ...args: string[]) =>
    startChild([process.execPath, MAIN, name, ...place, ...args], {
      env: { NO_PROXY: '127.0.0.1' },
    });
  const scope = 'scope=openid+offline_access&prompt=consent';
  const own = ['--token-url', provider.tokenUrl, '--client-id', provider.clientId];
  const login = command('login', '--open', `${provider.authorizeUrl}?${scope}`, ...own);
  await pollUntil('it shows its link', () => login.output().includes('/L/'));
  const [link = ''] = /http:\S+\/L\/\S+/.exec(login.output()) ?? [];
  await signInAt(link, baseUrl, provider.authorizeUrl);
  expect(await login.exited).toBe(0);
  await relay.stop('SIGKILL');
  const [file = ''] = readdirSync(tokens);
  const before = JSON.parse(readFileSync(join(tokens, file), 'utf8'));
  writeFileSync(join(tokens, file), JSON.stringify({ ...before, expiresAt: 1 }));
  const token = command('token');
  expect(await token.exited).toBe(0);
  expect(token.output().trim()).not.toBe(before.accessToken);
  expect(provider.grants()).toBe(2);
  const incomplete = command('login', '--open', provider.authorizeUrl);
  expect(await incomplete.exited).toBe(2);
  await provider.stop();
}, 60_000);
