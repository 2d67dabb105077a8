/** hazards.md §1c, TLS: only a provider that somebody vouches for is brought a code. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test';
import { fetchUpstream } from '../../src/serve.ts';
import { startLocalRelay } from '../support/local-relay.ts';
import { plantSecret } from '../support/secrets.ts';
import { createSelfSigned } from '../support/self-signed.ts';
import { startSession } from '../support/wire.ts';

let provider: Bun.Server<undefined>;
let tokenUrl: string;
let asked: number;
beforeAll(async () => {
  provider = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    tls: await createSelfSigned(),
    fetch() {
      asked += 1;
      return Response.json({ access_token: 'a' });
    },
  });
  tokenUrl = `https://localhost:${provider.port}/token`;
});
beforeEach(() => {
  asked = 0;
});
afterAll(() => provider.stop(true));

test('a certificate that nobody vouches for gets no code', async () => {
  const relay = await startLocalRelay({ MAL_CLIENT_ID: 'm', MAL_TOKEN_URL: tokenUrl });
  const { state } = await startSession(relay.baseUrl, 'mal');
  const code = plantSecret('code-for-no-stranger');
  const page = await fetch(`${relay.baseUrl}/auth/mal/callback?state=${state}&code=${code}`);
  expect(page.status).toBe(502);
  expect(asked).toBe(0);
  expect(relay.events().find(({ event }) => event === 'exchange_failed')).toMatchObject({
    reason: 'unreachable',
  });
  await relay.stop();
});

test('not even where NODE_TLS_REJECT_UNAUTHORIZED=0 is set behind our back', async () => {
  const before = process.env.NODE_TLS_REJECT_UNAUTHORIZED;
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
  try {
    // So much for the environment: it is believed where nothing else is said.
    expect((await fetch(tokenUrl)).status).toBe(200);
    const refusal = await fetchUpstream(tokenUrl, { method: 'POST' }).catch((error) => error.code);
    expect(refusal).toBe('DEPTH_ZERO_SELF_SIGNED_CERT');
  } finally {
    if (before === undefined) delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
    else process.env.NODE_TLS_REJECT_UNAUTHORIZED = before;
  }
  expect(asked).toBe(1);
});
