/**
 * Request smuggling (RFC 9112 §11.2): bytes that one server reads as a part of a request, and another
 * as the next request. Each case has its statuses on Bun, on Node, and through nginx with deploy/nginx.conf
 * in front of the relay on Bun, so that a new version of one of them which reads it in another way is seen.
 */
import { expect, test } from 'bun:test';
import { startProxy } from '../kit/proxies.ts';
import { RUNTIMES, startRelay } from '../kit/relay.ts';
import { sendRaw, statusesOf } from '../kit/sockets.ts';

const [, [, command]] = RUNTIMES;
const onBun = await startRelay({ START_BURST: '1000' });
const onNode = await startRelay({ START_BURST: '1000' }, { command });
const nginx = await startProxy('nginx', [onBun.port]);

const START = 'POST /auth/start HTTP/1.1\r\nHost: a\r\n';
const CHUNKED = 'Transfer-Encoding: chunked';
const HIDDEN = 'GET /auth/done HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n';

/** A start with these header fields and this body. */
const begin = (fields: string, body = '0\r\n\r\n') => `${START}${fields}\r\n\r\n${body}`;

type Statuses = readonly number[];
const REFUSED: Statuses = [400];
/**
 * On Bun, on Node and through nginx each is refused, unless its row says otherwise. A second status is
 * that of the hidden request, which its sender alone gets. nginx answers a request that names no version
 * as HTTP/0.9, which has no status.
 */
const CASES: readonly (readonly [
  name: string,
  bytes: string,
  bun?: Statuses,
  node?: Statuses,
  nginx?: Statuses,
])[] = [
  ['a length and chunks', begin(`Content-Length: 4\r\n${CHUNKED}`)],
  ['two lengths', begin('Content-Length: 4\r\nContent-Length: 5')],
  ['one length twice', begin('Content-Length: 5\r\nContent-Length: 5'), [400, 200]],
  ['two lengths in one', begin('Content-Length: 4, 4')],
  ['a length with a plus', begin('Content-Length: +4')],
  ['a length beyond 64 bits', begin('Content-Length: 18446744073709551620')],
  ['a blank before the colon of a length', begin('Content-Length : 4')],
  ['an unknown coding', begin('Transfer-Encoding: xchunked'), [400], [400], [501]],
  ['a coding before chunks', begin('Transfer-Encoding: gzip, chunked'), [400], [400, 200], [501]],
  ['chunks twice', begin(`${CHUNKED}\r\n${CHUNKED}`)],
  ['a blank before the colon of chunks', begin('Transfer-Encoding : chunked')],
  ['a folded line', begin(`X: a\r\n ${CHUNKED}`)],
  ['a bare LF in a header', begin(`X: a\n${CHUNKED}`), [400], [400], [400, 200]],
  ['a bare CR in a header', begin(`X: a\r${CHUNKED}`)],
  ['a NUL in a header', begin(`X: a\0b\r\n${CHUNKED}`)],
  ['an LF in a chunk extension', begin(CHUNKED, '1;a\nb\r\nx\r\n0\r\n\r\n')],
  ['a chunk line that ends in LF', begin(CHUNKED, '1\nx\r\n0\r\n\r\n'), [400], [400], [400, 200]],
  ['a chunk size in another notation', begin(CHUNKED, '0x1\r\nx\r\n0\r\n\r\n')],
  ['a chunk longer than its size', begin(CHUNKED, '1\r\nxy\r\n0\r\n\r\n')],
  [
    'a trailer that is a request',
    begin(CHUNKED, '0\r\nGET /auth/done HTTP/1.1\r\nHost: a\r\n\r\n'),
    [400, 400],
    [400],
    [400, 200],
  ],
  ['lines that end in LF', 'GET /auth/done HTTP/1.1\nHost: a\n\n', [505], [400], [200, 200]],
  ['no version', 'GET /auth/done\r\n\r\n', [505], [400], []],
];

test.each(CASES)('%s', async (_, bytes, bun = REFUSED, node = REFUSED, throughNginx = REFUSED) => {
  const answers = await Promise.all([
    sendRaw(onBun.baseUrl, bytes + HIDDEN),
    sendRaw(onNode.baseUrl, bytes + HIDDEN),
    sendRaw(nginx.baseUrl, bytes + HIDDEN, nginx.ca),
  ]);
  expect(answers.map(statusesOf)).toEqual([[...bun], [...node], [...throughNginx]]);
  // The next user gets an answer to their own request.
  expect(await (await nginx.ask('/health')).text()).toBe('ok');
});
