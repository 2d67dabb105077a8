/** One provider does not answer: how many requests it may have under way, and that users of other providers are not affected. */
import { expect, test } from 'bun:test';
import { PROVIDER_SHARES, RESERVED_FOR_DISCOVERY } from '../../src/providers/token-endpoint.ts';
import { poll, start } from '../kit/device.ts';
import { UPSTREAM_REQUESTS } from '../kit/limits.ts';
import { startTokenEndpoint, tokensFor } from '../kit/provider.ts';
import { startRelay } from '../kit/relay.ts';
import { openRaw, statusOf } from '../kit/sockets.ts';
import { bringCode, callback, makeCode } from '../kit/user.ts';

const [hanging, healthy] = [startTokenEndpoint(), startTokenEndpoint()];

const REFUSED = 30;

test.each([
  ['without BUN_CONFIG_MAX_HTTP_REQUESTS', {}, (256 - RESERVED_FOR_DISCOVERY) / PROVIDER_SHARES],
  [
    'as npm start has it',
    { BUN_CONFIG_MAX_HTTP_REQUESTS: '5000' },
    UPSTREAM_REQUESTS / PROVIDER_SHARES,
  ],
])('%s a provider has a quarter of the requests at once; more get a 503', async (_, env, most) => {
  await using relay = await startRelay({
    ...env,
    MAL_TOKEN_URL: hanging.tokenUrl,
    ANILIST_CLIENT_ID: 'anilist-client',
    ANILIST_TOKEN_URL: healthy.tokenUrl,
    START_BURST: '1000000',
  });
  const held = hanging.gate.close();
  const signIns = await Promise.all(
    Array.from({ length: most + REFUSED }, async () => ({
      ...(await start(relay)),
      code: makeCode(),
    })),
  );
  const answered: unknown[] = [];
  const refused = Promise.withResolvers<void>();
  const pages = signIns.map(async ({ state, code }) => {
    const connection = openRaw(relay.baseUrl);
    const query = new URLSearchParams({ state, code });
    const path = `/auth/mal/callback?${query}`;
    await connection.send(`GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
    const status = statusOf(await connection.closed);
    // Those at the provider are not answered yet, so these are all the others.
    if (answered.push(status) === REFUSED) refused.resolve();
    return status;
  });
  await refused.promise;
  expect(answered).toEqual(Array(REFUSED).fill(503));

  const other = await start(relay, 'anilist');
  const code = makeCode();
  expect((await callback(relay, other.state, `code=${code}`, 'anilist')).status).toBe(200);
  expect(await (await poll(relay, other.session)).json()).toEqual(tokensFor(code));
  expect(await relay.waitForEvents('providers_full', 1)).toHaveLength(1);

  held.release();
  const statuses = await Promise.all(pages);
  expect(statuses.filter((status) => status === 200)).toHaveLength(most);
  // The codes of the others are not spent, and still work.
  for (const [nth, { code }] of signIns.entries()) {
    expect(hanging.requestsFor(code)).toBe(statuses[nth] === 503 ? 0 : 1);
  }
  const refusedOne = signIns.find((_, nth) => statuses[nth] === 503) ?? expect.unreachable();
  expect((await bringCode(relay, refusedOne.state, refusedOne.code)).status).toBe(200);
});
