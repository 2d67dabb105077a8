/** The code exchange: what is read of a provider's answer, however large, broken or hostile. */
import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { gzipSync } from 'node:zlib';
import { start } from '../kit/device.ts';
import { createExchange, fetchUpstream, outcomeOf } from '../kit/exchange.ts';
import { TOKEN_RESPONSE_BYTES } from '../kit/limits.ts';
import { serveBytes, serveUpstream } from '../kit/provider.ts';
import { startRelay } from '../kit/relay.ts';
import { makeSelfSigned } from '../kit/tls.ts';
import { bringCode, makeCode } from '../kit/user.ts';

setDefaultTimeout(30_000);

const TOKENS = '{"access_token":"tokens"}';
const exchange = createExchange();

/** The outcome of an exchange with a provider that answers with this body. */
async function exchangeWith(body: string) {
  using upstream = serveUpstream(() => new Response(body));
  return await exchange(upstream.url);
}

describe('the answer', () => {
  test.each<[string, string, object]>([
    [
      'values of another type are left out',
      '{"access_token":"a","expires_in":true,"refresh_token":5}',
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
    ['a byte order mark does not matter', '\uFEFF{"access_token":"a"}', { accessToken: 'a' }],
  ])('%s', async (_, body, tokens) => {
    expect(await exchangeWith(body)).toEqual({ ok: true, tokens } as never);
  });
});

describe('too much', () => {
  test('of an endless body no more than 64 KiB are read', async () => {
    let sentBytes = 0;
    const endless = () =>
      new ReadableStream({
        pull(controller) {
          sentBytes += 16_384;
          if (sentBytes > 200_000_000) controller.close();
          else controller.enqueue(new Uint8Array(16_384).fill(32));
        },
      });
    using upstream = serveUpstream(() => new Response(endless()));
    expect(await outcomeOf(exchange(upstream.url))).toBe('too_large');
    expect(sentBytes).toBeLessThan(20_000_000);
  });

  test('a Content-Length beside chunks does not count: no more than 64 KiB of the chunks are read', async () => {
    let sentBytes = 0;
    const chunk = `4000\r\n${' '.repeat(0x4000)}\r\n`;
    using upstream = await serveBytes((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n');
      function send(): void {
        while (sentBytes < 50_000_000 && !socket.destroyed) {
          sentBytes += chunk.length;
          if (!socket.write(chunk)) return;
        }
        socket.end('0\r\n\r\n');
      }
      socket.on('drain', send);
      send();
    });
    expect(await outcomeOf(exchange(upstream.url))).toBe('too_large');
    expect(sentBytes).toBeLessThan(20_000_000);
  });

  test.each([
    ['a small one', TOKENS, 'tokens'],
    ['a bomb', Buffer.alloc(60_000_000, 32), 'too_large'],
  ])(
    'an answer that is compressed although the relay asks for none is decoded up to the limit: %s',
    async (_, content, outcome) => {
      const packed = gzipSync(content);
      // Within the limit as it is.
      expect(packed.byteLength).toBeLessThan(TOKEN_RESPONSE_BYTES);
      const headers = { 'Content-Encoding': 'gzip' };
      using upstream = serveUpstream(() => new Response(packed, { headers }));
      expect(await outcomeOf(exchange(upstream.url))).toBe(outcome);
    },
  );

  const WARM_UP = 400;
  const SIGN_INS = 1_600;

  test(`${SIGN_INS} answers that were not read to the end leave nothing in memory, and no connection`, async () => {
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
  }, 60_000);
});

test('a provider whose name is unknown is unreachable', async () => {
  expect(await outcomeOf(exchange('http://provider.invalid/token'))).toBe('unreachable');
});

describe('RFC 9700 §4.2: only a provider whose certificate is trusted receives a code', async () => {
  let asked = 0;
  const tls = await makeSelfSigned();
  const startProvider = () =>
    Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      tls,
      fetch() {
        asked += 1;
        return Response.json({ access_token: 'a' });
      },
    });

  test('one with a self-signed certificate receives none', async () => {
    using provider = startProvider();
    const relay = await startRelay({ MAL_TOKEN_URL: `https://localhost:${provider.port}/token` });
    const { state } = await start(relay);
    expect((await bringCode(relay, state, makeCode())).status).toBe(502);
    expect(asked).toBe(0);
    expect(await relay.waitForEvent('exchange_failed')).toMatchObject({ reason: 'unreachable' });
    await relay.stop();
  });

  test('nor with NODE_TLS_REJECT_UNAUTHORIZED=0 in the environment', async () => {
    using provider = startProvider();
    const url = `https://localhost:${provider.port}/token`;
    const before = process.env.NODE_TLS_REJECT_UNAUTHORIZED;
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
    try {
      // The runtime obeys it by default.
      expect((await fetch(url)).status).toBe(200);
      const { signal } = new AbortController();
      const asking = fetchUpstream(url, { method: 'POST', redirect: 'manual', signal });
      const refusal = await asking.catch((error) => error.code);
      expect(refusal).toBe('DEPTH_ZERO_SELF_SIGNED_CERT');
    } finally {
      if (before === undefined) delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
      else process.env.NODE_TLS_REJECT_UNAUTHORIZED = before;
    }
    expect(asked).toBe(1);
  });
});
