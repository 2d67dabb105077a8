/** Connections to a provider are kept, and one that turns out to be closed costs no sign-in. */
import { afterEach, describe, expect, test } from 'bun:test';
import type { Socket } from 'node:net';
import { exchangeCode } from '../../src/providers/exchange.ts';
import { keepConnections } from '../../src/providers/kept-connections.ts';
import {
  createRequestTokens,
  type RequestTokensOptions,
} from '../../src/providers/token-endpoint.ts';
import { systemClock } from '../../src/relay/clock.ts';
import { fetchUpstream } from '../../src/serve.ts';
import { GRANT, providerAt, serveBytes, stopUpstreams } from '../support/upstream.ts';

afterEach(stopUpstreams);

const ANSWER = '{"access_token":"a"}';
const HEAD = `HTTP/1.1 200 OK\r\nContent-Length: ${ANSWER.length}\r\n\r\n`;

/** A provider in bytes, and exchanges with it over kept connections. */
async function meet(
  onRequest: (socket: Socket, nth: number) => void,
  options: RequestTokensOptions = {},
) {
  const sockets = new Set<Socket>();
  let requests = 0;
  const url = await serveBytes((socket, nth) => {
    sockets.add(socket);
    requests += 1;
    onRequest(socket, nth);
  });
  const fetch = keepConnections(fetchUpstream);
  const requestTokens = createRequestTokens(fetch, systemClock, { ...options, timeoutMs: 2_000 });
  return {
    exchange: () => exchangeCode(requestTokens, providerAt(url), GRANT),
    connections: () => sockets.size,
    requests: () => requests,
  };
}

const answer = (socket: Socket) => void socket.write(HEAD + ANSWER);

test('exchanges one after another share a connection', async () => {
  const { exchange, connections } = await meet(answer);
  for (let count = 0; count < 20; count += 1) expect(await exchange()).toMatchObject({ ok: true });
  expect(connections()).toBe(1);
});

describe('a provider that closes a kept connection just as it is used again', () => {
  test.each<[string, (socket: Socket) => void]>([
    ['with FIN', (socket) => void socket.end()],
    ['with RST', (socket) => void socket.resetAndDestroy()],
  ])('%s costs no sign-in, and hears each code once where it listens', async (_, close) => {
    let heard = 0;
    const { exchange } = await meet((socket, nth) => {
      if (nth > 1) return close(socket);
      heard += 1;
      answer(socket);
    });
    for (let count = 0; count < 100; count += 1) {
      expect(await exchange()).toMatchObject({ ok: true });
    }
    expect(heard).toBe(100);
  });

  test('many at once cost none either', async () => {
    const { exchange } = await meet((socket, nth) => {
      if (nth > 1) socket.end();
      else answer(socket);
    });
    for (let round = 0; round < 5; round += 1) {
      const outcomes = await Promise.all(Array.from({ length: 20 }, exchange));
      expect(outcomes.every(({ ok }) => ok)).toBe(true);
    }
  });
});

describe('a code is not sent a second time', () => {
  test('where no connection can have been kept', async () => {
    const { exchange, requests } = await meet((socket) => socket.resetAndDestroy());
    expect(await exchange()).toMatchObject({ ok: false, failure: { reason: 'unreachable' } });
    expect(requests()).toBe(1);
  });

  test('after an answer that breaks off', async () => {
    const { exchange, requests } = await meet((socket, nth) => {
      if (nth === 1) return answer(socket);
      socket.write(HEAD + ANSWER.slice(0, 5), () => socket.resetAndDestroy());
    });
    expect(await exchange()).toMatchObject({ ok: true });
    expect(await exchange()).toMatchObject({ ok: false });
    expect(requests()).toBe(2);
  });

  test('after a provider that says nothing', async () => {
    const { exchange, requests } = await meet((socket, nth) => {
      if (nth === 1) answer(socket);
    });
    expect(await exchange()).toMatchObject({ ok: true });
    expect(await exchange()).toMatchObject({ ok: false, failure: { reason: 'timeout' } });
    expect(requests()).toBe(2);
  });

  test('a third time, whatever happens', async () => {
    let isGood = true;
    const { exchange, requests } = await meet((socket) => {
      if (isGood) answer(socket);
      else socket.resetAndDestroy();
    });
    await exchange();
    isGood = false;
    expect(await exchange()).toMatchObject({ ok: false, failure: { reason: 'unreachable' } });
    expect(requests()).toBe(3);
  });
});

/** Answers each code with a token of its own, and then, `after` that, once more with a stranger's. */
async function meetTalkative(
  after: (send: () => void) => void,
  options: RequestTokensOptions = {},
) {
  const closed = new Map<Socket, Promise<void>>();
  const url = await serveBytes((socket, _nth, request) => {
    if (!closed.has(socket)) {
      closed.set(socket, new Promise((resolve) => socket.once('close', () => resolve())));
    }
    const code = new URLSearchParams(request.split('\r\n\r\n')[1]).get('code');
    socket.write(answerOf(`of ${code}`));
    after(() => void socket.write(answerOf('of a stranger')));
  });
  const requestTokens = createRequestTokens(keepConnections(fetchUpstream), systemClock, options);
  const provider = providerAt(url);
  return {
    async tokenFor(code: string): Promise<string> {
      const outcome = await exchangeCode(requestTokens, provider, { ...GRANT, code });
      return outcome.ok ? outcome.tokens.accessToken : outcome.failure.reason;
    },
    connections: () => closed.size,
    untilClosed: () => Promise.all(closed.values()),
  };
}

function answerOf(token: string): string {
  const body = JSON.stringify({ access_token: token });
  return `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

const EXCHANGES = 200;

async function countWrong(tokenFor: (code: string) => Promise<string>): Promise<number> {
  let wrong = 0;
  for (let nth = 1; nth <= EXCHANGES; nth += 1) {
    if ((await tokenFor(`code ${nth}`)) !== `of code ${nth}`) wrong += 1;
  }
  return wrong;
}

describe('a provider that sends an answer nobody asked for', () => {
  test.each<[string, (send: () => void) => void]>([
    ['with the one that was asked for', (send) => send()],
    ['soon after', (send) => setTimeout(send, 5)],
  ])('%s: its connection is closed, and nobody is given that answer', async (_, after) => {
    const { tokenFor, untilClosed, connections } = await meetTalkative(after);
    for (let nth = 1; nth <= 5; nth += 1) {
      expect(await tokenFor(`code ${nth}`)).toBe(`of code ${nth}`);
      await untilClosed();
      expect(connections()).toBe(nth);
    }
  });

  test('just as the next request goes out: with a connection for each nobody is given it either', async () => {
    const asNext = (send: () => void) => void setImmediate(send);
    const own = await meetTalkative(asNext, { keepAlive: false });
    expect(await countWrong(own.tokenFor)).toBe(0);
    expect(own.connections()).toBe(EXCHANGES);
    // Shows that this provider can do it. How often it comes in time is chance.
    const kept = await meetTalkative(asNext);
    const wrong = await countWrong(kept.tokenFor);
    console.log(`over kept connections ${wrong} of ${EXCHANGES} were given another answer`);
  });

  test('a connection for each that breaks is no kept one: the code is not sent again', async () => {
    let isGood = true;
    const { exchange, requests } = await meet(
      (socket) => (isGood ? answer(socket) : void socket.resetAndDestroy()),
      { keepAlive: false },
    );
    expect(await exchange()).toMatchObject({ ok: true });
    isGood = false;
    expect(await exchange()).toMatchObject({ ok: false, failure: { reason: 'unreachable' } });
    expect(requests()).toBe(2);
  });
});
