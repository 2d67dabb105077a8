/** One provider hangs: how many wait for it, and what the users of the others feel. */
import { afterAll, expect, test } from 'bun:test';
import { randomUUID } from 'node:crypto';
import { UPSTREAM_REQUESTS, UPSTREAM_RESERVE, UPSTREAM_SHARES } from '../../src/limits.ts';
import { startTokenEndpoint, tokenOf } from '../redis/support/token-endpoint.ts';
import { startLocalRelay } from '../support/local-relay.ts';
import { openRaw } from '../support/raw-connection.ts';
import { statusOf } from '../support/raw-http.ts';
import { plantSecret } from '../support/secrets.ts';
import { poll, startSession } from '../support/wire.ts';

const [hanging, healthy] = [startTokenEndpoint(), startTokenEndpoint()];
afterAll(() => {
  hanging.stop();
  healthy.stop();
});

const REFUSED = 30;

const createCode = () => plantSecret(`code-${randomUUID()}`);

async function fillUp(env: Record<string, string>, most: number): Promise<void> {
  const relay = await startLocalRelay({
    ...env,
    MAL_CLIENT_ID: 'mal-client',
    MAL_TOKEN_URL: hanging.tokenUrl,
    ANILIST_CLIENT_ID: 'anilist-client',
    ANILIST_TOKEN_URL: healthy.tokenUrl,
    START_BURST: '1000000',
  });
  const { baseUrl } = relay;
  const held = hanging.gate.close();
  const signIns = await Promise.all(
    Array.from({ length: most + REFUSED }, async () => {
      const { session, state, url } = await startSession(baseUrl, 'mal');
      return { session, state, url, code: createCode() };
    }),
  );
  const answered: unknown[] = [];
  const refused = Promise.withResolvers<void>();
  const pages = signIns.map(async ({ state, code }) => {
    const connection = openRaw(baseUrl);
    const query = new URLSearchParams({ state, code });
    await connection.send(
      `GET /auth/mal/callback?${query} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`,
    );
    const status = statusOf(await connection.closed);
    // Those at the provider are not answered yet, so these are all the others.
    if (answered.push(status) === REFUSED) refused.resolve();
    return status;
  });
  await refused.promise;
  expect(answered).toEqual(Array(REFUSED).fill(503));

  // Somebody signs in at the other provider meanwhile.
  const other = await startSession(baseUrl, 'anilist');
  const otherCode = createCode();
  const query = new URLSearchParams({ state: other.state, code: otherCode });
  expect((await fetch(`${baseUrl}/auth/anilist/callback?${query}`)).status).toBe(200);
  expect(await (await poll(baseUrl, other.session)).json()).toEqual({
    accessToken: tokenOf(otherCode),
  });
  expect(relay.events().filter(({ event }) => event === 'providers_full')).toHaveLength(1);

  held.release();
  const statuses = await Promise.all(pages);
  for (const [nth, { session, state, url, code }] of signIns.entries()) {
    const isRefused = statuses[nth] === 503;
    expect(hanging.exchangesOf(code)).toBe(isRefused ? 0 : 1);
    if (!isRefused) continue;
    // As good as before: the link, and the code.
    expect((await fetch(url, { redirect: 'manual' })).status).toBe(302);
    const again = new URLSearchParams({ state, code });
    expect((await fetch(`${baseUrl}/auth/mal/callback?${again}`)).status).toBe(200);
    expect(await (await poll(baseUrl, session)).json()).toEqual({ accessToken: tokenOf(code) });
  }
  expect(statuses.filter((status) => status === 200)).toHaveLength(most);
  await relay.stop('SIGKILL');
}

test('without BUN_CONFIG_MAX_HTTP_REQUESTS it has a quarter of what the runtime makes at once; the others go on', async () => {
  await fillUp({}, (256 - UPSTREAM_RESERVE) / UPSTREAM_SHARES);
}, 60_000);

test('as npm start has it, a quarter of the limit', async () => {
  await fillUp({ BUN_CONFIG_MAX_HTTP_REQUESTS: '5000' }, UPSTREAM_REQUESTS / UPSTREAM_SHARES);
}, 60_000);
