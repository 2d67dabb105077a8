/** hazards.md §1c, TLS: only a provider that somebody vouches for is brought a code. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test';
import type { Socket } from 'node:net';
import { fetchUpstream } from '../../src/serve.ts';
import { startLocalRelay } from '../support/local-relay.ts';
import { plantSecret } from '../support/secrets.ts';
import { createSelfSigned } from '../support/self-signed.ts';
import { serveBytes, stopUpstreams } from '../support/upstream.ts';
import { poll, startSession } from '../support/wire.ts';

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

test.each([
  ['on', 1],
  ['off', 3],
])(
  'PROVIDER_KEEP_ALIVE=%s: three sign-ins take %d connections to the provider',
  async (keepAlive, expected) => {
    const sockets = new Set<Socket>();
    const body = '{"access_token":"a"}';
    const url = await serveBytes((socket) => {
      sockets.add(socket);
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    });
    const relay = await startLocalRelay({
      MAL_CLIENT_ID: 'm',
      MAL_TOKEN_URL: url,
      PROVIDER_KEEP_ALIVE: keepAlive,
    });
    for (let count = 0; count < 3; count += 1) {
      const { session, state } = await startSession(relay.baseUrl, 'mal');
      const code = plantSecret('code-for-a-connection');
      const page = await fetch(`${relay.baseUrl}/auth/mal/callback?state=${state}&code=${code}`);
      expect(page.status).toBe(200);
      expect((await poll(relay.baseUrl, session)).status).toBe(200);
    }
    expect(sockets.size).toBe(expected);
    await relay.stop();
    stopUpstreams();
  },
);
