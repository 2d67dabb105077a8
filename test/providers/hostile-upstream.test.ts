/** hazards.md §1c: a provider that is slow, huge, broken or hostile. */
import { afterEach, describe, expect, test } from 'bun:test';
import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { TOKEN_RESPONSE_BYTES } from '../../src/limits.ts';
import { outcomeAt, serveBytes, serveUpstream, stopUpstreams } from '../support/upstream.ts';

afterEach(stopUpstreams);

const TOKENS = '{"access_token":"a"}';
const HEAD = `HTTP/1.1 200 OK\r\nContent-Length: ${TOKENS.length}\r\n`;

test.each([301, 302, 303, 307, 308])(
  'a %d is not followed: the code goes nowhere else',
  async (status) => {
    const elsewhere = serveUpstream(() => new Response(TOKENS));
    const { url } = serveUpstream(
      () => new Response(null, { status, headers: { Location: elsewhere.url } }),
    );
    expect(await outcomeAt(url)).toBe('status');
    expect(elsewhere.requests).toEqual([]);
  },
);

test('headers that do not come, and a body that trickles, end with the timeout', async () => {
  const silent = await serveBytes(() => {});
  expect(await outcomeAt(silent, 300)).toBe('timeout');
  const trickling = await serveBytes((socket) => {
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{');
    const timer = setInterval(() => socket.write(' '), 20);
    socket.on('close', () => clearInterval(timer));
  });
  expect(await outcomeAt(trickling, 300)).toBe('timeout');
});

describe('too much', () => {
  test('a body without end is left after 64 KiB', async () => {
    let sent = 0;
    const { url } = serveUpstream(
      () =>
        new Response(
          new ReadableStream({
            pull(controller) {
              sent += 16_384;
              if (sent > 200_000_000) controller.close();
              else controller.enqueue(new Uint8Array(16_384).fill(32));
            },
          }),
        ),
    );
    expect(await outcomeAt(url)).toBe('too_large');
    expect(sent).toBeLessThan(20_000_000);
  });

  test('a length beside chunks counts for nothing: the chunks are left after 64 KiB', async () => {
    let sent = 0;
    const chunk = `4000\r\n${' '.repeat(0x4000)}\r\n`;
    const url = await serveBytes((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n');
      function send(): void {
        while (sent < 50_000_000 && !socket.destroyed) {
          sent += chunk.length;
          if (!socket.write(chunk)) return;
        }
        socket.end('0\r\n\r\n');
      }
      socket.on('drain', send);
      send();
    });
    expect(await outcomeAt(url)).toBe('too_large');
    expect(sent).toBeLessThan(20_000_000);
  });

  test.each([
    ['a small one', TOKENS],
    ['a bomb', Buffer.alloc(60_000_000, 32)],
  ])('an answer compressed unasked is taken as it is, not unpacked: %s', async (_, content) => {
    const packed = gzipSync(content);
    // As it is within the limit; unpacked it would be tokens, or too large.
    expect(packed.byteLength).toBeLessThan(TOKEN_RESPONSE_BYTES);
    const { url } = serveUpstream(
      () => new Response(packed, { headers: { 'Content-Encoding': 'gzip' } }),
    );
    expect(await outcomeAt(url)).toBe('not_json');
  });

  test('5 MB of headers are a failed exchange, whatever comes after them', async () => {
    const answering = (lines: number) =>
      serveBytes((socket) => {
        socket.write(HEAD);
        for (let line = 0; line < lines; line += 1) {
          socket.write(`X-${line}: ${'x'.repeat(10_000)}\r\n`);
        }
        socket.end(`\r\n${TOKENS}`);
      });
    expect(await outcomeAt(await answering(1))).toBe('tokens');
    expect(await outcomeAt(await answering(500))).toBe('unreachable');
  });
});

describe('a connection', () => {
  test('that breaks is a failed exchange, and the code is not sent again', async () => {
    let requests = 0;
    const url = await serveBytes((socket) => {
      requests += 1;
      socket.destroy();
    });
    expect(await outcomeAt(url)).toBe('unreachable');
    expect(requests).toBe(1);
  });

  test('that nobody answers, at a port or under a name', async () => {
    expect(await outcomeAt('http://127.0.0.1:1/token')).toBe('unreachable');
    expect(await outcomeAt('http://provider.invalid/token')).toBe('unreachable');
  });

  test('kept open that breaks when it is used again spoils no exchange', async () => {
    let connections = 0;
    const url = await serveBytes((socket, nth) => {
      if (nth === 1) connections += 1;
      if (nth === 1) socket.write(`${HEAD}Connection: keep-alive\r\n\r\n${TOKENS}`);
      else socket.resetAndDestroy();
    });
    for (let round = 1; round <= 20; round += 1) {
      expect(await outcomeAt(url)).toBe('tokens');
      expect(connections).toBe(round);
    }
  });

  test.each<[string, (socket: Socket) => unknown]>([
    ['closed', (socket) => socket.end()],
    ['reset', (socket) => socket.resetAndDestroy()],
  ])('%s right before the next exchange spoils it neither', async (_, breakOff) => {
    let last: Socket | undefined;
    const url = await serveBytes((socket) => {
      last = socket;
      socket.write(`${HEAD}Connection: keep-alive\r\n\r\n${TOKENS}`);
    });
    for (let round = 0; round < 20; round += 1) {
      expect(await outcomeAt(url)).toBe('tokens');
      if (last !== undefined) breakOff(last);
    }
  });
});
