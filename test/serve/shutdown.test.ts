/** SIGTERM and Ctrl-C. hazards.md §1b, Stop. */
import { afterAll, describe, expect, test } from 'bun:test';
import { SIGNAL_ECHO_MS } from '../../src/limits.ts';
import { startHeldProvider } from '../support/held-provider.ts';
import { startLocalRelay } from '../support/local-relay.ts';
import { openRaw } from '../support/raw-connection.ts';
import { type LaunchedRelay, launchRelay, type RelayProcess } from '../support/relay-process.ts';
import { plantSecret } from '../support/secrets.ts';
import { startSilentIssuer } from '../support/silent-issuer.ts';
import { untilWaiting } from '../support/until-waiting.ts';
import { poll, startSession } from '../support/wire.ts';

const relays: LaunchedRelay[] = [];
afterAll(async () => {
  for (const relay of relays) await relay.stop('SIGKILL');
});

async function start(env: Record<string, string> = {}): Promise<RelayProcess> {
  const relay = await startLocalRelay({ MAL_CLIENT_ID: 'mal-client', ...env });
  relays.push(relay);
  return relay;
}

describe('SIGTERM', () => {
  test.concurrent('every parked poll is answered 204, and the process exits 0', async () => {
    const relay = await start();
    const { session } = await startSession(relay.baseUrl, 'mal');
    const polls = Array.from({ length: 10 }, () => poll(relay.baseUrl, session));
    await untilWaiting(relay, 10);
    const exited = relay.stop('SIGTERM');
    expect((await Promise.all(polls)).map(({ status }) => status)).toEqual(Array(10).fill(204));
    expect(await exited).toBe(0);
    expect(relay.events().map(({ event }) => event)).toContain('stopped');
  });

  test.concurrent('an exchange under way is finished, and its device is handed the tokens', async () => {
    const provider = await startHeldProvider();
    const relay = await start({ MAL_TOKEN_URL: provider.tokenUrl });
    const { session, state } = await startSession(relay.baseUrl, 'mal');
    const page = fetch(
      `${relay.baseUrl}/auth/mal/callback?state=${state}&code=${plantSecret('held-authorization-code')}`,
    );
    await provider.asked;
    const parked = poll(relay.baseUrl, session);
    await untilWaiting(relay, 1);
    const exited = relay.stop('SIGTERM');
    expect((await parked).status).toBe(204);
    const again = poll(relay.baseUrl, session);
    await untilWaiting(relay, 2);
    provider.grant({ access_token: plantSecret('held-access-token') });
    expect((await page).status).toBe(200);
    expect(await (await again).json()).toEqual({ accessToken: 'held-access-token' });
    expect(await exited).toBe(0);
    provider.stop();
  }, 30_000);

  test.concurrent('tokens that came just before it are fetched by a device that polls at intervals', async () => {
    const provider = await startHeldProvider();
    provider.grant({ access_token: plantSecret('early-access-token') });
    const relay = await start({ MAL_TOKEN_URL: provider.tokenUrl });
    const { session, state } = await startSession(relay.baseUrl, 'mal');
    const code = plantSecret('early-authorization-code');
    await fetch(`${relay.baseUrl}/auth/mal/callback?state=${state}&code=${code}`);
    const exited = relay.stop('SIGTERM');
    await relay.waitForEvent(({ event }) => event === 'draining');
    expect(await (await poll(relay.baseUrl, session)).json()).toEqual({
      accessToken: 'early-access-token',
    });
    expect(await exited).toBe(0);
    provider.stop();
  });

  test.concurrent('a second one ends the process at once, whatever is under way', async () => {
    const provider = await startHeldProvider();
    const relay = await start({ MAL_TOKEN_URL: provider.tokenUrl });
    const { state } = await startSession(relay.baseUrl, 'mal');
    const page = fetch(
      `${relay.baseUrl}/auth/mal/callback?state=${state}&code=${plantSecret('held-authorization-code')}`,
    ).catch(() => 'cut');
    await provider.asked;
    process.kill(relay.pid, 'SIGTERM');
    await relay.waitForEvent(({ event }) => event === 'draining');
    // Later than an echo of the first, which npm makes of one Ctrl-C.
    await Bun.sleep(SIGNAL_ECHO_MS);
    process.kill(relay.pid, 'SIGTERM');
    expect(await relay.exited).not.toBe(0);
    expect(await page).toBe('cut');
    provider.stop();
  });

  test.concurrent('while an issuer is being asked, the process exits 0 all the same', async () => {
    const issuer = startSilentIssuer();
    const relay = launchRelay({
      OAUTH_BASE_URL: 'http://127.0.0.1:3000',
      HOST: '127.0.0.1',
      PORT: '0',
      PROVIDERS: 'acme',
      ACME_CLIENT_ID: 'acme-client',
      ACME_ISSUER: issuer.issuer,
    });
    relays.push(relay);
    await issuer.asked;
    expect(await relay.stop('SIGTERM')).toBe(0);
    issuer.stop();
  });

  test.concurrent('a request that does not end keeps the process no longer than answers may take to leave', async () => {
    const relay = await start();
    const connection = openRaw(relay.baseUrl);
    await connection.send(
      'POST /auth/start HTTP/1.1\r\nHost: a\r\nContent-Length: 400\r\n\r\n{"service":',
    );
    // Read after what came before it, so the relay has the start in hand.
    await fetch(`${relay.baseUrl}/health`);
    expect(await relay.stop('SIGTERM')).toBe(0);
    // Cut, where its own deadline would have answered it.
    expect(await connection.closed).toBe('');
  });
});

test.concurrent('one Ctrl-C under npm arrives twice, and drains all the same', async () => {
  const provider = await startHeldProvider();
  const relay = await start({ MAL_TOKEN_URL: provider.tokenUrl });
  const { state } = await startSession(relay.baseUrl, 'mal');
  const page = fetch(
    `${relay.baseUrl}/auth/mal/callback?state=${state}&code=${plantSecret('held-authorization-code')}`,
  );
  await provider.asked;
  process.kill(relay.pid, 'SIGINT');
  process.kill(relay.pid, 'SIGINT');
  await relay.waitForEvent(({ event }) => event === 'draining');
  provider.grant({ access_token: plantSecret('held-access-token') });
  expect((await page).status).toBe(200);
  expect(await relay.exited).toBe(0);
  provider.stop();
}, 30_000);
