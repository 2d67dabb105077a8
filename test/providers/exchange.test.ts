/**
 * What is read of a token response, and how many connections a provider sees. What providers
 * break, byte by byte and on each runtime, is in test/serve/provider-connections.test.ts.
 */
import { expect, setDefaultTimeout, test } from 'bun:test';
import type { ProviderQuirks } from '../../src/providers/config.ts';
import { discoverProvider } from '../../src/providers/discovery.ts';
import { poll, refresh, start } from '../kit/device.ts';
import { TOKEN_RESPONSE_BYTES } from '../kit/limits.ts';
import { has } from '../kit/needs.ts';
import { discoveryDocumentOf, serveBytes } from '../kit/provider.ts';
import { buildForNode, RUNTIMES, startRelay } from '../kit/relay.ts';
import { createTestService, type Fetch, SETTINGS } from '../kit/service.ts';
import { bringCode, callback, makeCode } from '../kit/user.ts';

setDefaultTimeout(60_000);
await buildForNode();

// The fake clock begins 1,000 s after the epoch.
test.each<[string, string, object, ProviderQuirks?]>([
  [
    'values of another type are left out',
    '{"access_token":"a","expires_in":true,"refresh_token":5,"scope":""}',
    { accessToken: 'a' },
  ],
  [
    'the fields of the device grant are kept, others are not',
    '{"access_token":"a","token_type":"mac","scope":"s","id_token":"i","x":1,"__proto__":{"x":1}}',
    { accessToken: 'a', tokenType: 'mac', scope: 's', idToken: 'i' },
  ],
  [
    'a lifetime may be text, as at GitHub, and scopes a list, as at Twitch',
    '{"access_token":"a","expires_in":"28800","scope":["user:read","chat:read"]}',
    { accessToken: 'a', expiresIn: 28_800, scope: 'user:read chat:read' },
  ],
  [
    'a fraction of a second is left out',
    '{"access_token":"a","expires_in":3599.987}',
    { accessToken: 'a', expiresIn: 3_599 },
  ],
  [
    'also if it is text',
    '{"access_token":"a","expires_in":"3600.5"}',
    { accessToken: 'a', expiresIn: 3_600 },
  ],
  [
    'less than a second, or no number, is left out',
    '{"access_token":"a","expires_in":0.9}',
    { accessToken: 'a' },
  ],
  [
    'expires_at does not count',
    '{"access_token":"a","expires_at":9999999999}',
    { accessToken: 'a' },
  ],
  [
    'expires_at counts where the profile says so',
    '{"access_token":"a","expires_at":4600}',
    { accessToken: 'a', expiresIn: 3_600 },
    { expiresAt: true },
  ],
  [
    'not if it has passed',
    '{"access_token":"a","expires_at":999}',
    { accessToken: 'a' },
    { expiresAt: true },
  ],
  [
    'nor if there is expires_in',
    '{"access_token":"a","expires_in":60,"expires_at":9999999999}',
    { accessToken: 'a', expiresIn: 60 },
    { expiresAt: true },
  ],
  [
    'a comma may be part of a scope',
    '{"access_token":"a","scope":"repo,gist"}',
    { accessToken: 'a', scope: 'repo,gist' },
  ],
  [
    'commas separate scopes where the profile says so, as for GitHub',
    '{"access_token":"a","scope":"repo,gist"}',
    { accessToken: 'a', scope: 'repo gist' },
    { commaInScope: true },
  ],
  ['a byte order mark does not matter', '\uFEFF{"access_token":"a"}', { accessToken: 'a' }],
])('of a token response: %s', async (_, body, result, quirks = {}) => {
  const [mal] = SETTINGS.providers;
  const providers = [{ ...mal, quirks }];
  const service = createTestService({ providers }, { fetch: async () => new Response(body) });
  const { session, state } = await start(service, 'mal', { details: true });
  await callback(service, state);
  expect(await (await poll(service, session)).json()).toEqual(result);
});

test('every request says who asks, as workerd adds no User-Agent of its own', async () => {
  const asked: unknown[] = [];
  const fetch: Fetch = async (url, { headers }) => {
    asked.push(headers?.['User-Agent']);
    const { origin } = new URL(url);
    return Response.json({ ...discoveryDocumentOf(origin), access_token: 'a' });
  };
  const service = createTestService({}, { fetch });
  await callback(service, (await start(service)).state);
  await refresh(service, 'old');
  const issuer = { name: 'acme', displayName: 'Acme', issuer: 'https://acme.test' };
  await discoverProvider({ ...issuer, clientId: 'id', authorizeParams: {} }, fetch);
  expect(asked).toEqual(['sign-in-relay', 'sign-in-relay', 'sign-in-relay']);
});

test('three sign-ins use one connection to the provider', async () => {
  using provider = await serveBytes((socket) => {
    const body = '{"access_token":"granted"}';
    socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
  });
  const relay = await startRelay({ MAL_TOKEN_URL: provider.url });
  for (let count = 0; count < 3; count += 1) {
    const { session, state } = await start(relay);
    expect((await bringCode(relay, state, makeCode())).status).toBe(200);
    expect((await poll(relay, session)).status).toBe(200);
  }
  expect(provider.connections()).toBe(1);
  await relay.stop();
});

test.each(RUNTIMES)(
  'on %s: a provider that switches protocols has given no tokens',
  async (_, command) => {
    using provider = await serveBytes((socket) => {
      const head = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n';
      socket.end(head);
    });
    const relay = await startRelay({ MAL_TOKEN_URL: provider.url }, { command });
    try {
      const { session, state } = await start(relay);
      // Sooner than the relay gives up with a provider that is silent (15 s).
      const signal = AbortSignal.timeout(14_000);
      const page = await relay.ask(`/auth/mal/callback?state=${state}&code=c`, { signal });
      expect(page.status).toBe(502);
      expect(await (await poll(relay, session)).json()).toEqual({ error: 'exchange_failed' });
    } finally {
      // An exchange that never ends would hold a SIGTERM.
      await relay.stop('SIGKILL');
    }
  },
);

const WARM_UP = 400;
const SIGN_INS = 1_600;

const onLinux = test.if(has('Linux', 'endless responses of a provider take no memory'));

onLinux(
  `${SIGN_INS} answers that were not read to the end leave nothing in memory, and no connection`,
  async () => {
    const part = Buffer.alloc(4 * TOKEN_RESPONSE_BYTES, 32);
    let [open, mostOpen] = [0, 0];
    using upstream = await serveBytes(
      (socket) => {
        socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${10 * part.byteLength}\r\n\r\n`);
        socket.write(part);
      },
      (socket) => {
        open += 1;
        mostOpen = Math.max(mostOpen, open);
        socket.on('close', () => {
          open -= 1;
        });
      },
    );
    const relay = await startRelay({
      MAL_TOKEN_URL: upstream.url,
      START_BURST: '10000',
      LOG_LEVEL: 'info',
    });
    async function signIn(times: number): Promise<number> {
      for (let count = 0; count < times; count += 1) {
        const { state } = await start(relay);
        expect((await bringCode(relay, state, makeCode())).status).toBe(502);
      }
      return relay.residentBytes();
    }
    const settledBytes = await signIn(WARM_UP);
    const grownBytes = (await signIn(SIGN_INS)) - settledBytes;
    // What was read of the bodies would be three times as much; what was sent, twelve times.
    expect(grownBytes).toBeLessThan((SIGN_INS * TOKEN_RESPONSE_BYTES) / 3);
    // One, and some before it whose end may not have been noticed yet.
    expect(mostOpen).toBeLessThan(10);
    await relay.stop();
  },
);
