/** How the process starts. */
import { afterEach, expect, test } from 'bun:test';
import { startLocalRelay } from '../support/local-relay.ts';
import type { RelayProcess } from '../support/relay-process.ts';
import { runRelay } from '../support/run-relay.ts';

const relays: RelayProcess[] = [];
afterEach(async () => {
  for (const relay of relays.splice(0)) await relay.stop();
});

async function start(env: Record<string, string>, options = {}): Promise<RelayProcess> {
  const relay = await startLocalRelay(env, options);
  relays.push(relay);
  return relay;
}

test('one line says that it listens, with the redirect URI to register for each provider', async () => {
  const relay = await start({
    PROVIDERS: 'mal,anilist,spotify',
    MAL_CLIENT_ID: 'm',
    ANILIST_CLIENT_ID: 'a',
    SPOTIFY_CLIENT_ID: 's',
  });
  expect(relay.events().filter(({ event }) => event === 'listening')).toMatchObject([
    {
      level: 'info',
      baseUrl: relay.baseUrl,
      redirectUris: {
        mal: `${relay.baseUrl}/auth/mal/callback`,
        anilist: `${relay.baseUrl}/auth/anilist/callback`,
        spotify: `${relay.baseUrl}/auth/spotify/callback`,
      },
    },
  ]);
  expect(await (await fetch(`${relay.baseUrl}/health`)).text()).toBe('ok');
});

test('§1: without OAUTH_BASE_URL everything under /auth/ is 503, and /health is ok', async () => {
  const relay = await start({ OAUTH_BASE_URL: '' });
  for (const path of ['start', 'result', 'done', 'mal', 'mal/callback', 'a/b/c', '']) {
    for (const method of ['GET', 'POST', 'DELETE']) {
      const response = await fetch(`${relay.baseUrl}/auth/${path}`, { method });
      expect([response.status, await response.text()]).toEqual([
        503,
        'OAuth proxy not configured\n',
      ]);
    }
  }
  expect((await fetch(`${relay.baseUrl}/health`)).status).toBe(200);
});

test('--help tells every setting, --version the version', async () => {
  const { exitCode, output } = await runRelay({}, ['--help']);
  expect(exitCode).toBe(0);
  for (const setting of [
    'OAUTH_BASE_URL',
    'TRUSTED_PROXY_CIDRS',
    '_CLIENT_SECRET',
    '_PKCE',
    'LOG_LEVEL',
  ]) {
    expect(output).toContain(setting);
  }
  expect((await runRelay({}, ['--version'])).output).toMatch(/^\d+\.\d+\.\d+\n$/);
});

test('it serves its pages wherever it is started from', async () => {
  const relay = await start({ MAL_CLIENT_ID: 'mal-client' }, { cwd: '/' });
  const page = await fetch(`${relay.baseUrl}/auth/done`);
  expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('Signed in')]);
});
