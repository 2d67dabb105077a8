/** How the process starts. */
import { afterEach, describe, expect, test } from 'bun:test';
import { findFreePort } from '../support/free-port.ts';
import { startLocalRelay } from '../support/local-relay.ts';
import { launchRelay, type RelayProcess } from '../support/relay-process.ts';
import { runRelay } from '../support/run-relay.ts';
import { startSilentIssuer } from '../support/silent-issuer.ts';
import { startSession } from '../support/wire.ts';

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

describe('a provider that is known by its issuer', () => {
  const acme = (issuer: string) => ({
    PROVIDERS: 'acme',
    ACME_CLIENT_ID: 'acme-client',
    ACME_ISSUER: issuer,
  });

  test('the relay listens once its issuer has answered, so nobody is told that it is unknown', async () => {
    const issuer = startSilentIssuer();
    const port = await findFreePort();
    const baseUrl = `http://127.0.0.1:${port}`;
    const relay = launchRelay({
      OAUTH_BASE_URL: baseUrl,
      HOST: '127.0.0.1',
      PORT: String(port),
      ...acme(issuer.issuer),
    });
    try {
      await issuer.asked;
      const refused = fetch(`${baseUrl}/health`).catch((error: { code?: string }) => error.code);
      expect(await refused).toBe('ECONNREFUSED');
      issuer.answer();
      await relay.waitForEvent(({ event }) => event === 'listening');
      const { url } = await startSession(baseUrl, 'acme');
      expect((await fetch(url, { redirect: 'manual' })).status).toBe(302);
    } finally {
      await relay.stop();
      issuer.stop();
    }
  });

  test('one whose issuer says nothing does not keep the relay from listening', async () => {
    const issuer = startSilentIssuer();
    const relay = await start(acme(issuer.issuer));
    expect(relay.events().map(({ event }) => event)).toEqual([
      'provider_not_discovered',
      'listening',
    ]);
    const body = JSON.stringify({ service: 'acme' });
    const answer = await fetch(`${relay.baseUrl}/auth/start`, { method: 'POST', body });
    expect([answer.status, await answer.text()]).toEqual([503, 'Server busy\n']);
    issuer.stop();
  });
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

test('a relay at which nobody can sign in says so in its log', async () => {
  const relay = await start({ OAUTH_BASE_URL: '', BASE_URL: 'https://relay.example' });
  expect(relay.events()).toContainEqual(
    expect.objectContaining({
      level: 'warning',
      event: 'setting',
      setting: 'OAUTH_BASE_URL',
      problem: expect.stringContaining('BASE_URL is set, but is not a setting of the relay'),
    }),
  );
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
