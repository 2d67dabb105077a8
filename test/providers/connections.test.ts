/** Connections to a provider are kept alive. One that turns out to be closed costs no sign-in, and no answer reaches another user. */
import { describe, expect, test } from 'bun:test';
import type { Socket } from 'node:net';
import { poll, start } from '../kit/device.ts';
import { createExchange, outcomeOf } from '../kit/exchange.ts';
import { serveBytes } from '../kit/provider.ts';
import { startRelay } from '../kit/relay.ts';
import { bringCode, makeCode } from '../kit/user.ts';

const BODY = '{"access_token":"tokens"}';
const HEAD = `HTTP/1.1 200 OK\r\nContent-Length: ${BODY.length}\r\n\r\n`;

const answer = (socket: Socket) => void socket.write(HEAD + BODY);

/** Exchanges with a provider that speaks in bytes. */
async function serveProvider(onRequest: (socket: Socket, nth: number) => void) {
  const server = await serveBytes(onRequest);
  const exchange = createExchange();
  return { ...server, exchange: () => outcomeOf(exchange(server.url)) };
}

test('three sign-ins use one connection to the provider', async () => {
  using provider = await serveBytes(answer);
  const relay = await startRelay({ MAL_TOKEN_URL: provider.url });
  for (let count = 0; count < 3; count += 1) {
    const { session, state } = await start(relay);
    expect((await bringCode(relay, state, makeCode())).status).toBe(200);
    expect((await poll(relay, session)).status).toBe(200);
  }
  expect(provider.connections()).toBe(1);
  await relay.stop();
});

describe('a provider that closes a connection', () => {
  const WAYS: [string, (socket: Socket) => void][] = [
    ['with FIN', (socket) => void socket.end()],
    ['with RST', (socket) => void socket.resetAndDestroy()],
  ];

  test.each(WAYS)(
    '%s just as it is used again costs no sign-in, and receives each code once',
    async (_, close) => {
      let received = 0;
      using provider = await serveProvider((socket, nth) => {
        if (nth > 1) return close(socket);
        received += 1;
        answer(socket);
      });
      for (let count = 0; count < 100; count += 1) expect(await provider.exchange()).toBe('tokens');
      expect(received).toBe(100);
    },
  );

  test.each(WAYS)('%s right before the next request costs none either', async (_, close) => {
    let last: Socket | undefined;
    using provider = await serveProvider((socket) => {
      last = socket;
      answer(socket);
    });
    for (let count = 0; count < 20; count += 1) {
      expect(await provider.exchange()).toBe('tokens');
      if (last !== undefined) close(last);
    }
  });
});

describe('a code is not sent a second time', () => {
  const reset = (socket: Socket) => void socket.resetAndDestroy();
  const breakOff = (socket: Socket) =>
    void socket.write(HEAD + BODY.slice(0, 5), () => socket.resetAndDestroy());

  test.each<[string, (socket: Socket) => void, number]>([
    ['after an answer that breaks off', breakOff, 1],
    // The first failure may have been that of the kept connection.
    ['after two connections have failed', reset, 2],
  ])('%s', async (_, fail, times) => {
    let isGood = true;
    using provider = await serveProvider((socket) => (isGood ? answer(socket) : fail(socket)));
    expect(await provider.exchange()).toBe('tokens');
    isGood = false;
    expect(await provider.exchange()).toBe('unreachable');
    expect(provider.requests()).toBe(1 + times);
  });
});

describe('a provider that sends an answer without a request', () => {
  /** Answers each code with a token of its own, and then, when `after` says so, with another user's. */
  async function serveTalkative(after: (send: () => void) => void) {
    const closed = new Map<Socket, Promise<void>>();
    const server = await serveBytes((socket, _nth, request) => {
      if (!closed.has(socket)) {
        closed.set(socket, new Promise((resolve) => socket.once('close', () => resolve())));
      }
      const code = new URLSearchParams(request.split('\r\n\r\n')[1]).get('code');
      socket.write(answerOf(`of ${code}`));
      after(() => void socket.write(answerOf('of another user')));
    });
    const exchange = createExchange();
    return {
      ...server,
      tokenFor: (code: string) => outcomeOf(exchange(server.url, {}, code)),
      untilClosed: () => Promise.all(closed.values()),
    };
  }

  function answerOf(token: string): string {
    const body = JSON.stringify({ access_token: token });
    return `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  }

  test.each<[string, (send: () => void) => void]>([
    ['with the one that was asked for', (send) => send()],
    ['soon after', (send) => setTimeout(send, 5)],
  ])('%s: its connection is closed, and no user receives that answer', async (_, after) => {
    using provider = await serveTalkative(after);
    for (let nth = 1; nth <= 5; nth += 1) {
      expect(await provider.tokenFor(`code ${nth}`)).toBe(`of code ${nth}`);
      await provider.untilClosed();
      expect(provider.connections()).toBe(nth);
    }
  });
});
