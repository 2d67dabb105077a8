/** What a socket may send to the process: strange paths, sizes and headers, and requests that a proxy might read in another way. */
import { afterAll, describe, expect, test } from 'bun:test';
import { start } from '../kit/device.ts';
import { startRelay } from '../kit/relay.ts';
import { sendRaw, statusOf } from '../kit/sockets.ts';

const relay = await startRelay({ START_BURST: '1000' });
afterAll(() => relay.stop());

const send = (head: string) => sendRaw(relay.baseUrl, `${head}\r\nConnection: close\r\n\r\n`);

describe('Host', () => {
  test.each([
    ['none in HTTP/1.1 is refused', 'GET /auth/done HTTP/1.1', 400],
    ['none in HTTP/1.0 is a health check, and served', 'GET /auth/done HTTP/1.0', 200],
    ['none hides no part of the path', 'GET /aa/auth/done HTTP/1.0', 404],
    ['an empty one does not matter', 'GET /auth/done HTTP/1.1\r\nHost:', 200],
    ['an empty one hides no part of the path', 'GET /aa/auth/done HTTP/1.1\r\nHost:', 404],
    ['a malformed one does not matter', 'GET /auth/done HTTP/1.1\r\nHost: a b/c?d', 200],
    ['RFC 9112 §3.2: two are refused', 'GET /auth/done HTTP/1.1\r\nHost: a\r\nHost: b', 400],
    ['absolute form is served by its path', 'GET http://x.test/auth/done HTTP/1.1\r\nHost: a', 200],
    ['two slashes are not a host', 'GET //x.test/auth/done HTTP/1.1\r\nHost: a', 404],
  ])('%s', async (_, head, status) => {
    expect(statusOf(await send(head))).toBe(status);
  });

  test('is in no address that the relay makes', async () => {
    const body = JSON.stringify({ service: 'mal' });
    const answer = await sendRaw(
      relay.baseUrl,
      `POST http://evil.test/auth/start HTTP/1.1\r\nHost: evil.test\r\nX-Forwarded-Host: evil.test\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
    );
    expect(answer).toContain(`"url":"${relay.baseUrl}/auth/mal?state=`);
    expect(answer).not.toContain('evil');
  });
});

test.each(['start', 'result', 'done', 'mal', 'mal/callback'])(
  '/auth/%s: an unknown method is not answered, and CONNECT reaches no handler',
  async (path) => {
    for (const method of ['FOO', 'get']) {
      expect(await send(`${method} /auth/${path} HTTP/1.1\r\nHost: a`)).toBe('');
    }
    expect(statusOf(await send(`CONNECT /auth/${path} HTTP/1.1\r\nHost: a`))).toBe(405);
  },
);

test('the relay is no proxy: CONNECT to another host is 404', async () => {
  const answer = await send('CONNECT provider.test:443 HTTP/1.1\r\nHost: provider.test:443');
  expect(statusOf(answer)).toBe(404);
});

describe('sizes', () => {
  test('a path or a header of 20 kB is 431, and the relay goes on', async () => {
    const long = 'x'.repeat(20_000);
    expect(statusOf(await send(`GET /auth/mal?state=${long} HTTP/1.1\r\nHost: a`))).toBe(431);
    expect(statusOf(await send(`GET /health HTTP/1.1\r\nHost: a\r\nX: ${long}`))).toBe(431);
    expect(statusOf(await send('GET /health HTTP/1.1\r\nHost: a'))).toBe(200);
  });

  test('198 header fields are read, one more is 431', async () => {
    const fields = (count: number) =>
      Array.from({ length: count }, (_, index) => `\r\nX-${index}: a`).join('');
    // Host and Connection are two of them.
    const sendWith = (count: number) => send(`GET /health HTTP/1.1\r\nHost: a${fields(count - 2)}`);
    expect(statusOf(await sendWith(198))).toBe(200);
    expect(statusOf(await sendWith(199))).toBe(431);
  });

  test('a body of 2 MB is 413', async () => {
    const body = ' '.repeat(2_000_000);
    expect((await relay.ask('/auth/start', { method: 'POST', body })).status).toBe(413);
  });
});

describe('of a path only \\ and .. are resolved, and nothing is decoded', () => {
  test.each([
    ['/auth\\done', 200],
    ['/auth/.\\done', 200],
    ['/x/../auth/done', 200],
    ['/x/%2e%2e/auth/done', 200],
    ['/auth/done/.%2E/../auth/done', 200],
    ['/auth/mal/..%2fdone', 404],
    ['/auth/mal/..%5cdone', 404],
    ['/auth/mal%2Fcallback', 404],
    ['/auth%5cdone', 404],
    ['/auth/done/%2e', 404],
    ['/auth/done%00', 404],
    ['/auth/done;a', 404],
    ['/auth//done', 404],
    ['/auth/done/', 404],
    ['/auth/%73tart', 404],
    ['/Auth/done', 404],
  ])('%s', async (path, status) => {
    expect(statusOf(await send(`GET ${path} HTTP/1.1\r\nHost: a`))).toBe(status);
  });

  test('/auth/%6dal is not the link of mal, even with a good state', async () => {
    const { state } = await start(relay);
    expect((await relay.ask(`/auth/%6dal?state=${state}`)).status).toBe(404);
  });
});

/** RFC 9112 §11.2. Where a proxy might read another request than the relay, neither is served. */
describe('request smuggling', () => {
  const CHUNKED = 'Transfer-Encoding: chunked';
  const SMUGGLED = 'GET /auth/done HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n';

  /** A start with that header and body, and another request that some would take for a part of it. */
  function smuggle(header: string, body = '0\r\n\r\n'): Promise<string> {
    const head = `POST /auth/start HTTP/1.1\r\nHost: a\r\n${header}`;
    return sendRaw(relay.baseUrl, `${head}\r\n\r\n${body}${SMUGGLED}`);
  }

  /** The connection is closed after one response, which no handler of ours has made. */
  function expectRefused(answer: string, status = 400): void {
    expect(statusOf(answer)).toBe(status);
    expect(answer.match(/HTTP\/1\.1 /g)).toHaveLength(1);
    // Every response of ours has it.
    expect(answer).not.toContain('Cache-Control');
  }

  test.each([
    ['a length and chunks', `Content-Length: 4\r\n${CHUNKED}`],
    ['chunks and a length', `${CHUNKED}\r\nContent-Length: 4`],
    ['two lengths', 'Content-Length: 4\r\nContent-Length: 5'],
    ['two lengths in one', 'Content-Length: 4, 4'],
    ['a length with a plus', 'Content-Length: +4'],
    ['a negative length', 'Content-Length: -1'],
    ['a length in hexadecimal', 'Content-Length: 0x4'],
    ['a length beyond 64 bits', 'Content-Length: 18446744073709551620'],
    ['an empty length', 'Content-Length:'],
    ['a blank before the colon of a length', 'Content-Length : 4'],
    ['gzip', 'Transfer-Encoding: gzip'],
    ['gzip, then chunks', 'Transfer-Encoding: gzip, chunked'],
    ['an unknown coding', 'Transfer-Encoding: xchunked'],
    ['chunks twice', `${CHUNKED}\r\n${CHUNKED}`],
    ['chunks twice in one', `${CHUNKED}, chunked`],
    ['a blank before the colon of chunks', 'Transfer-Encoding : chunked'],
    ['a folded line', 'X: a\r\n b'],
    ['a bare LF in a header', 'X: a\nY: b'],
    ['a bare CR in a header', 'X: a\rY: b'],
    ['a NUL in a header', 'X: a\0b'],
    ['a blank in a name', 'X Y: a'],
  ])('by %s is refused', async (_, header) => {
    expectRefused(await smuggle(header));
  });

  test.each([
    ['an LF in an extension', '1;a\nb\r\nx\r\n0\r\n\r\n'],
    ['a line that ends in LF', '1\nx\r\n0\r\n\r\n'],
    ['a size in another notation', '0x1\r\nx\r\n0\r\n\r\n'],
    ['a negative size', '-1\r\nx\r\n0\r\n\r\n'],
    ['a size beyond 64 bits', '10000000000000001\r\nx\r\n0\r\n\r\n'],
    ['more than its size', '1\r\nxy\r\n0\r\n\r\n'],
  ])('by a chunk with %s is refused', async (_, body) => {
    expectRefused(await smuggle(CHUNKED, body));
  });

  test.each([
    ['no Host', 'GET /auth/done HTTP/1.1\r\n\r\n', 400],
    ['lines that end in LF', 'GET /auth/done HTTP/1.1\nHost: a\n\n', 505],
    ['HTTP/2.0', 'GET /auth/done HTTP/2.0\r\nHost: a\r\n\r\n', 505],
    ['HTTP/1.2', 'GET /auth/done HTTP/1.2\r\nHost: a\r\n\r\n', 505],
    ['no version', 'GET /auth/done\r\n\r\n', 505],
  ])('after a request with %s is refused', async (_, head, status) => {
    expectRefused(await sendRaw(relay.baseUrl, head + SMUGGLED), status);
  });

  test('a length that is given twice is one length, and what follows it is another request', async () => {
    const answer = await smuggle('Content-Length: 5\r\nContent-Length: 5');
    expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 400', 'HTTP/1.1 200']);
    expect(answer).toContain('Unknown service');
  });
});
