/** Requests to a provider, as they leave each runtime; and when it closes connections, sends too much or the wrong bytes. */
import { describe, expect, test } from 'bun:test';
import type { Socket } from 'node:net';
import { signInIdOf } from '../../src/sign-ins/secrets.ts';
import { pollOnce, start } from '../kit/device.ts';
import { has } from '../kit/needs.ts';
import { discoveryDocumentOf, serveBytes, serveUpstream } from '../kit/provider.ts';
import { type LogEvent, RUNTIMES, startRelay } from '../kit/relay.ts';
import { plantSecret } from '../kit/secrets.ts';
import { makeSelfSigned } from '../kit/tls.ts';
import { bringCode, callback, makeCode } from '../kit/user.ts';

const tokenOf = (code: string) => plantSecret(`token-of-${code}`);
const bodyFor = (code: string) => JSON.stringify({ access_token: tokenOf(code) });

function responseTo(code: string, head = 'HTTP/1.1 200 OK'): string {
  const body = bodyFor(code);
  return `${head}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

const codeIn = (request: string) =>
  new URLSearchParams(request.split('\r\n\r\n')[1]).get('code') ?? '';

type OnRequest = (socket: Socket, nth: number, request: string) => void;
const grant: OnRequest = (socket, _, request) => void socket.write(responseTo(codeIn(request)));

const withOpenSsl = test.if(
  has('OpenSSL', 'a provider whose certificate nobody vouches for receives no code'),
);

describe.each(RUNTIMES)('on %s', async (_, command) => {
  let onRequest = grant;
  const provider = await serveBytes((...request) => onRequest(...request));
  const relay = await startRelay({ START_BURST: '1000', MAL_TOKEN_URL: provider.url }, { command });

  /** A sign-in at a provider that responds so. */
  async function signIn(respond: OnRequest) {
    onRequest = respond;
    const { session, state } = await start(relay);
    const code = makeCode();
    const before = provider.requests();
    await bringCode(relay, state, code);
    const result = (await (await pollOnce(relay, session)).json()) as object;
    const isFailure = ({ event, signIn }: LogEvent) =>
      event === 'exchange_failed' && signIn === signInIdOf(state);
    return { code, result, failure: () => relay.waitForEvent(isFailure), before };
  }

  async function expectTokens(respond: OnRequest): Promise<void> {
    const { code, result } = await signIn(respond);
    expect(result).toEqual({ accessToken: tokenOf(code) });
  }

  test.each<[string, (socket: Socket) => void]>([
    ['FIN', (socket) => void socket.end()],
    ['RST', (socket) => void socket.resetAndDestroy()],
  ])('a kept connection closed with %s as it is used again costs no sign-in', async (_, close) => {
    // Several of them, so that the repeated request could take another one.
    await Promise.all(Array.from({ length: 5 }, () => expectTokens(grant)));
    let reused = 0;
    for (let count = 0; count < 20; count += 1) {
      await expectTokens((socket, nth, request) => {
        if (nth === 1) return grant(socket, nth, request);
        reused += 1;
        close(socket);
      });
    }
    expect(reused).toBeGreaterThan(0);
  });

  test('so does one that discovery or another endpoint used before', async () => {
    using provider = await serveBytes((socket, nth, request) => {
      if (nth > 1) return socket.end();
      if (request.startsWith('POST')) return grant(socket, nth, request);
      const document = JSON.stringify(discoveryDocumentOf(issuer));
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${document.length}\r\n\r\n${document}`);
    });
    const issuer = provider.origin;
    await using relay = await startRelay(
      {
        PROVIDERS: 'demo,mal',
        DEMO_ISSUER: issuer,
        DEMO_CLIENT_ID: 'a',
        MAL_TOKEN_URL: `${issuer}/other`,
      },
      { command },
    );
    for (const service of ['demo', 'mal']) {
      const { session, state } = await start(relay, service);
      const code = makeCode();
      await callback(relay, state, `code=${code}`, service);
      const result = await (await pollOnce(relay, session)).json();
      expect(result).toEqual({ accessToken: tokenOf(code) });
    }
  });

  test('docs/protocol.md §9: bytes on an idle connection close it: nobody’s tokens', async () => {
    for (let count = 0; count < 5; count += 1) {
      const { promise: closed, resolve } = Promise.withResolvers<void>();
      await expectTokens((socket, nth, request) => {
        socket.once('close', () => resolve());
        grant(socket, nth, request);
        setTimeout(() => socket.write(responseTo('another-user')), 20);
      });
      await closed;
    }
  });

  test.each<[string, OnRequest, object]>([
    [
      'a body that breaks off',
      (socket) => void socket.end('HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{"access'),
      { reason: 'unreachable', cause: 'closed' },
    ],
    [
      'what is not HTTP',
      (socket) => void socket.end('SSH-2.0-OpenSSH_9.6\r\n'),
      { reason: 'unreachable', cause: 'malformed' },
    ],
    [
      'headers without end',
      (socket) => {
        socket.write('HTTP/1.1 200 OK\r\n');
        for (let line = 0; line < 500; line += 1) {
          socket.write(`X-${line}: ${'x'.repeat(10_000)}\r\n`);
        }
      },
      { reason: 'unreachable', cause: 'malformed' },
    ],
    [
      'a switch of protocols',
      (socket) =>
        void socket.end(
          'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n',
        ),
      {},
    ],
  ])('%s fails the exchange, and the code was sent once', async (_, respond, expected) => {
    const { result, failure, before } = await signIn((socket, nth, request) => {
      respond(socket, nth, request);
    });
    expect(result).toEqual({ error: 'exchange_failed' });
    expect(await failure()).toMatchObject(expected);
    expect(provider.requests()).toBe(before + 1);
  });

  test('the log says that a provider closes, and not that it refuses a spent code', async () => {
    await expectTokens(grant);
    let sent = 0;
    const { result, failure } = await signIn((socket) => {
      sent += 1;
      const body = '{"error":"invalid_grant"}';
      if (sent === 1) socket.end();
      else
        socket.write(`HTTP/1.1 400 Bad Request\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    });
    expect(result).toEqual({ error: 'exchange_failed' });
    expect(await failure()).toMatchObject({ reason: 'unreachable', cause: 'closed' });
  });

  test('a body without end is left after 64 KiB, with its connection', async () => {
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    const chunk = `4000\r\n${' '.repeat(0x4000)}\r\n`;
    const { failure } = await signIn((socket) => {
      socket.once('close', () => resolve());
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
      function send(): void {
        while (!socket.destroyed && socket.write(chunk));
      }
      socket.on('drain', send);
      send();
    });
    expect(await failure()).toMatchObject({ reason: 'too_large' });
    await closed;
  });

  test('the request says who asks, and how long its body is', async () => {
    let received = '';
    await expectTokens((socket, nth, request) => {
      received = request;
      grant(socket, nth, request);
    });
    const [head = '', body = ''] = received.split('\r\n\r\n');
    expect(head).toMatch(/^POST \/token HTTP\/1\.1\r\n/);
    expect(head).toMatch(/\r\nUser-Agent: \S/i);
    expect(head).toMatch(new RegExp(`\\r\\nContent-Length: ${body.length}(\\r|$)`, 'i'));
  });

  test('a revocation may be a DELETE with a body, or a POST without one', async () => {
    const upstream = serveUpstream(() => new Response(null, { status: 204 }));
    const unused = 'http://127.0.0.1:9/token';
    const relay = await startRelay(
      {
        PROVIDERS: 'github,dropbox',
        GITHUB_CLIENT_ID: 'id',
        GITHUB_CLIENT_SECRET: 'secret',
        GITHUB_TOKEN_URL: unused,
        GITHUB_REVOKE_URL: upstream.url,
        DROPBOX_CLIENT_ID: 'id',
        DROPBOX_TOKEN_URL: unused,
        DROPBOX_REVOKE_URL: upstream.url,
      },
      { command },
    );
    // The second one finds what a body without a length would leave on the connection.
    for (const service of ['github', 'github', 'dropbox', 'github']) {
      const body = JSON.stringify({ service, accessToken: 'token-to-revoke' });
      const response = await relay.ask('/revoke', { method: 'POST', body });
      expect([response.status, await response.text()]).toEqual([200, '{}']);
    }
    const github = { method: 'DELETE', body: '{"access_token":"token-to-revoke"}' };
    const dropbox = { method: 'POST', body: '' };
    expect(upstream.requests.map(({ method, body }) => ({ method, body }))).toEqual([
      github,
      github,
      dropbox,
      github,
    ]);
    expect(upstream.requests[2]?.headers.get('authorization')).toBe('Bearer token-to-revoke');
  });

  withOpenSsl('RFC 9700 §4.2: a provider with an untrusted certificate gets no code', async () => {
    const answer = () => Response.json({ access_token: 'a' });
    using provider = serveUpstream(answer, await makeSelfSigned());
    const env = { MAL_TOKEN_URL: `https://localhost:${provider.port}/token` };
    await using relay = await startRelay(env, { command });
    const { state } = await start(relay);
    expect((await bringCode(relay, state, makeCode())).status).toBe(502);
    expect(provider.requests).toEqual([]);
    expect(await relay.waitForEvent('exchange_failed')).toMatchObject({
      reason: 'unreachable',
      cause: 'tls',
    });
  });
});

test('a provider that does not respond is left after 15 s', async () => {
  using provider = await serveBytes(() => {});
  const failures = RUNTIMES.map(async ([, command]) => {
    const relay = await startRelay({ MAL_TOKEN_URL: provider.url }, { command });
    const { state } = await start(relay);
    expect((await bringCode(relay, state, makeCode())).status).toBe(502);
    await relay.stop();
    return relay.events('exchange_failed');
  });
  const timedOut = [expect.objectContaining({ reason: 'timeout' })];
  expect(await Promise.all(failures)).toEqual([timedOut, timedOut] as never);
});
