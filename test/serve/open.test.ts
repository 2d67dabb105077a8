/** An open sign-in by the program of docs/open.md, at a provider that this project did not write. */
import { afterAll, expect, test } from 'bun:test';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { signInAs } from '../kit/browser.ts';
import { startOpenId } from '../kit/openid.ts';
import { findFreePort, startChild } from '../kit/process.ts';
import { startRedis } from '../kit/redis/server.ts';
import { ROOT, startRelay } from '../kit/relay.ts';
import { createUser } from '../kit/user.ts';
import { pollUntil } from '../kit/wait.ts';

const file = join(mkdtempSync(join(tmpdir(), 'sign-in-relay-open-')), 'sessions.db');
const redis = await startRedis();
afterAll(() => redis.stop());

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

    const user = createUser({ ask: (url, init) => fetch(url, { redirect: 'manual', ...init }) });
    const { headers } = await user.decide(link, 'continue', { Origin: baseUrl });
    const sent = headers.get('location') ?? '';
    expect(sent).toStartWith(`${provider.authorizeUrl}?`);
    // As far as the provider's own redirect, which only the browser that continued may follow.
    const page = await signInAs('Ada', sent, AbortSignal.timeout(20_000));
    expect([page.status, page.title]).toEqual([404, expect.any(String)]);
    await user.open(page.url.href);
    expect(await client.exited).toBe(0);
    expect(client.output()).toContain('Signed in, for');
    expect(provider.grants()).toBe(1);
  },
  60_000,
);
