/** Connections to a provider are kept, and one that turns out to be closed costs no sign-in. */
import { afterEach, describe, expect, test } from 'bun:test';
import type { Socket } from 'node:net';
import { exchangeCode } from '../../src/providers/exchange.ts';
import { keepConnections } from '../../src/providers/kept-connections.ts';
import { createRequestTokens } from '../../src/providers/token-endpoint.ts';
import { systemClock } from '../../src/relay/clock.ts';
import { fetchUpstream } from '../../src/serve.ts';
import { GRANT, providerAt, serveBytes, stopUpstreams } from '../support/upstream.ts';

afterEach(stopUpstreams);

const ANSWER = '{"access_token":"a"}';
const HEAD = `HTTP/1.1 200 OK\r\nContent-Length: ${ANSWER.length}\r\n\r\n`;

/** A provider in bytes, and exchanges with it over kept connections. */
async function meet(onRequest: (socket: Socket, nth: number) => void) {
  const sockets = new Set<Socket>();
  let requests = 0;
  const url = await serveBytes((socket, nth) => {
    sockets.add(socket);
    requests += 1;
    onRequest(socket, nth);
  });
  const fetch = keepConnections(fetchUpstream);
  const requestTokens = createRequestTokens(fetch, systemClock, 2_000);
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
