/** hazards.md §1b, Smuggling: where a proxy might read another request than the relay, neither is served. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { startLocalRelay } from '../support/local-relay.ts';
import { sendRaw, statusOf } from '../support/raw-http.ts';
import type { RelayProcess } from '../support/relay-process.ts';

const CHUNKED = 'Transfer-Encoding: chunked';
const SMUGGLED = 'GET /auth/done HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n';

let relay: RelayProcess;
beforeAll(async () => {
  relay = await startLocalRelay({ MAL_CLIENT_ID: 'mal-client', START_BURST: '1000' });
});
afterAll(() => relay.stop());

/** A start with that header and body, and another request that some would take for a part of it. */
function send(header: string, body = '0\r\n\r\n'): Promise<string> {
  const head = `POST /auth/start HTTP/1.1\r\nHost: a\r\n${header}`;
  return sendRaw(relay.baseUrl, `${head}\r\n\r\n${body}${SMUGGLED}`);
}

/** The connection is closed after one answer, and no handler gave it. */
function expectRefused(answer: string, status = 400): void {
  expect(statusOf(answer)).toBe(status);
  expect(answer.match(/HTTP\/1\.1 /g)).toHaveLength(1);
  // Every answer of ours has one.
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
  ['a length with a blank before its colon', 'Content-Length : 4'],
  ['gzip', 'Transfer-Encoding: gzip'],
  ['gzip, then chunks', 'Transfer-Encoding: gzip, chunked'],
  ['a coding that is none', 'Transfer-Encoding: xchunked'],
  ['chunks twice over', `${CHUNKED}\r\n${CHUNKED}`],
  ['chunks twice over in one', `${CHUNKED}, chunked`],
  ['chunks with a blank before their colon', 'Transfer-Encoding : chunked'],
  ['a folded line', 'X: a\r\n b'],
  ['a bare LF in a header', 'X: a\nY: b'],
  ['a bare CR in a header', 'X: a\rY: b'],
  ['a NUL in a header', 'X: a\0b'],
  ['a blank in a name', 'X Y: a'],
])('%s: refused', async (_, header) => {
  expectRefused(await send(header));
});

test.each([
  ['an LF in an extension', '1;a\nb\r\nx\r\n0\r\n\r\n'],
  ['an LF for its end of line', '1\nx\r\n0\r\n\r\n'],
  ['a size in another notation', '0x1\r\nx\r\n0\r\n\r\n'],
  ['a negative size', '-1\r\nx\r\n0\r\n\r\n'],
  ['a size beyond 64 bits', '10000000000000001\r\nx\r\n0\r\n\r\n'],
  ['more in it than its size says', '1\r\nxy\r\n0\r\n\r\n'],
])('a chunk with %s: refused', async (_, body) => {
  expectRefused(await send(CHUNKED, body));
});

test.each([
  ['no Host', 'GET /auth/done HTTP/1.1\r\n\r\n', 400],
  ['lines that end in LF alone', 'GET /auth/done HTTP/1.1\nHost: a\n\n', 505],
  ['HTTP/2.0', 'GET /auth/done HTTP/2.0\r\nHost: a\r\n\r\n', 505],
  ['HTTP/1.2', 'GET /auth/done HTTP/1.2\r\nHost: a\r\n\r\n', 505],
  ['no version', 'GET /auth/done\r\n\r\n', 505],
])('%s: refused', async (_, head, status) => {
  expectRefused(await sendRaw(relay.baseUrl, head + SMUGGLED), status);
});

test('one length said twice is one length, and what comes after it is another request', async () => {
  const answer = await send('Content-Length: 5\r\nContent-Length: 5');
  expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 400', 'HTTP/1.1 200']);
  expect(answer).toContain('Unknown service');
});
