/**
 * What stands between the socket and the handlers, on Bun and on Node: strange paths, hosts,
 * sizes and bodies. Where the runtimes differ, both are stated; docs/reference.md "What the
 * runtime answers by itself" says so too.
 */
import { describe, expect, test } from 'bun:test';
import { start } from '../kit/device.ts';
import { findFreePort } from '../kit/process.ts';
import { RUNTIMES, startRelay } from '../kit/relay.ts';
import { openRaw, sendRaw, statusesOf, statusOf } from '../kit/sockets.ts';

const ports = await Promise.all(RUNTIMES.map(findFreePort));
const relays = await Promise.all(
  RUNTIMES.map(([, command], index) =>
    startRelay(
      {
        START_BURST: '1000',
        TRUSTED_PROXY_CIDRS: '127.0.0.1',
        ADMIN_PORT: String(ports[index]),
      },
      { command },
    ),
  ),
);

/** Their deadline passes while other tests run. */
const halfHeaders = relays.map(({ baseUrl }) =>
  sendRaw(baseUrl, 'GET /auth/done HTTP/1.1\r\nHost:'),
);

type Status = number | 'closed';
/** The status on every runtime, or those on Bun and on Node. */
type Expected = Status | readonly [bun: Status, node: Status];

describe.each(RUNTIMES.map(([name], index) => [name, index] as const))('on %s', (_, index) => {
  const relay = relays[index] as (typeof relays)[number];
  const adminUrl = `http://127.0.0.1:${ports[index]}`;
  const here = (expected: Expected): Status =>
    typeof expected === 'object' ? (expected[index] ?? 'closed') : expected;
  const send = (head: string, url = relay.baseUrl) =>
    sendRaw(url, `${head}\r\nConnection: close\r\n\r\n`);

  describe('Host', () => {
    const hosts: readonly [name: string, head: string, status: Expected][] = [
      ['none in HTTP/1.1 is refused', 'GET /auth/done HTTP/1.1', 400],
      ['none in HTTP/1.0 is a health check, and served', 'GET /auth/done HTTP/1.0', 200],
      ['none hides no part of the path', 'GET /aa/auth/done HTTP/1.0', 404],
      ['none leaves the path as with one', 'GET /x/../auth/done HTTP/1.0', 200],
      ['an empty one does not matter', 'GET /auth/done HTTP/1.1\r\nHost:', 200],
      ['an empty one hides no part of the path', 'GET /aa/auth/done HTTP/1.1\r\nHost:', 404],
      ...['a b/c?d', 'a b', 'a/b', 'a?b', 'a#b', 'a\\b', '[::1', 'u:p@a', 'a:99999', '\xe4'].map(
        (host): [string, string, Expected] => [
          `an invalid one, ${host}, hides no part of the path`,
          `GET /auth/done HTTP/1.1\r\nHost: ${host}`,
          [200, 400],
        ],
      ),
      ['RFC 9112 §3.2: two are refused', 'GET /auth/done HTTP/1.1\r\nHost: a\r\nHost: b', 400],
      ['the same one twice too', 'GET /auth/done HTTP/1.1\r\nHost: a\r\nHost: a', 400],
      ['and one with an empty one', 'GET /auth/done HTTP/1.1\r\nHost: a\r\nHost:', 400],
      [
        'absolute form is served by its path',
        'GET http://x.test/auth/done HTTP/1.1\r\nHost: a',
        200,
      ],
      ['with HTTP in capitals', 'GET HTTP://x.test/auth/done HTTP/1.1\r\nHost: a', [200, 400]],
      ['with an invalid host', 'GET http://u@127.%x:9e9/auth/done HTTP/1.1\r\nHost: a', [200, 400]],
      ['also without Host', 'GET http://x.test/auth/done HTTP/1.0', 200],
      ['its query is no path', 'GET http://x.test?a=/auth/result HTTP/1.1\r\nHost: a', 200],
      ['another scheme is refused', 'GET ftp://x.test/auth/done HTTP/1.1\r\nHost: a', 400],
      ['two slashes are not a host', 'GET //x.test/auth/done HTTP/1.1\r\nHost: a', 404],
      ['nor without Host', 'GET //x.test/auth/done HTTP/1.0', 404],
      ['a target without a path is refused', 'GET auth/done HTTP/1.1\r\nHost: a', 400],
      ['OPTIONS * is refused', 'OPTIONS * HTTP/1.1\r\nHost: a', 400],
      ['OPTIONS * without Host too', 'OPTIONS * HTTP/1.0', 400],
      ['GET * is refused', 'GET * HTTP/1.1\r\nHost: a', 400],
    ];

    test.each(hosts)('%s, also at the admin port', async (_, head, status) => {
      const toAdmin = send(head.replace('/auth/done', '/metrics'), adminUrl);
      expect([statusOf(await send(head)), statusOf(await toAdmin)]).toEqual([
        here(status),
        here(status),
      ]);
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

  test.each<[method: string, Expected]>([
    ['FOO', ['closed', 400]],
    ['get', ['closed', 400]],
    // It reaches no handler.
    ['CONNECT', [405, 'closed']],
    ['TRACE', 405],
    ['PROPFIND', 405],
    ['PATCH', 405],
    ['QUERY', 405],
  ])('the method %s is served at no path', async (method, expected) => {
    for (const path of ['start', 'result', 'done', 'mal', 'mal/callback']) {
      const answer = await send(`${method} /auth/${path} HTTP/1.1\r\nHost: a`);
      expect(statusOf(answer)).toBe(here(expected));
    }
  });

  test.each<[target: string, Expected]>([
    ['provider.test:443', [404, 'closed']],
    ['provider:99999', [404, 'closed']],
    ['provider', [405, 'closed']],
    ['[::1', [405, 'closed']],
    ['%', [405, 'closed']],
  ])('the relay is no proxy: CONNECT to %s is refused', async (target, expected) => {
    const answer = await send(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}`);
    expect(statusOf(answer)).toBe(here(expected));
  });

  test.each<[name: string, header: string, Expected]>([
    ['a WebSocket is not opened', 'Upgrade: websocket\r\nSec-WebSocket-Version: 13', 200],
    ['HTTP/2 is not spoken', 'Upgrade: h2c\r\nHTTP2-Settings: AAMAAABk', 200],
    ['an unknown expectation: RFC 9110 §10.1.1 allows 417', 'Expect: something', [200, 417]],
  ])('%s', async (_, header, expected) => {
    const head = `GET /health HTTP/1.1\r\nHost: a\r\nConnection: close, Upgrade\r\n${header}`;
    expect(statusOf(await sendRaw(relay.baseUrl, `${head}\r\n\r\n`))).toBe(here(expected));
  });

  test('a redirect has Content-Length: 0, and no chunk to say that it is empty', async () => {
    const answer = await send('GET /link?code=WDJB-MJHT HTTP/1.1\r\nHost: a');
    expect(statusOf(answer)).toBe(302);
    expect(answer).toMatch(/\r\nContent-Length: 0\r\n/i);
    expect(answer).not.toMatch(/transfer-encoding/i);
    expect(answer).toEndWith('\r\n\r\n');
  });

  describe('a connection', () => {
    const GET = 'GET /health HTTP/1.1\r\nHost: a\r\n\r\n';
    const body = JSON.stringify({ service: 'mal' });
    const post = (path: string) =>
      `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

    test.each<[name: string, bytes: string, statuses: readonly Status[]]>([
      ['two requests at once', GET, [200, 200]],
      ['after a body that was read', post('/auth/start'), [200, 200]],
      ['after a body that was not read', post('/auth/done'), [405, 200]],
      ['after a GET with a body', post('/auth/done').replace('POST', 'GET'), [200, 200]],
      ['after HEAD, which has no body', GET.replace('GET', 'HEAD'), [200, 200]],
    ])('%s: the second is answered too', async (_, first, statuses) => {
      const answer = await sendRaw(
        relay.baseUrl,
        first + GET.replace('a\r\n', 'a\r\nConnection: close\r\n'),
      );
      expect(statusesOf(answer)).toEqual([...statuses]);
    });

    test('Expect: 100-continue is answered before the body, unless that is too large', async () => {
      const head = (bytes: number) =>
        `POST /auth/start HTTP/1.1\r\nHost: a\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: ${bytes}\r\n\r\n`;
      const connection = openRaw(relay.baseUrl);
      await connection.send(head(body.length));
      await connection.until('100 Continue');
      await connection.send(body);
      expect(statusesOf(await connection.closed)).toEqual([100, 200]);
      expect(statusesOf(await sendRaw(relay.baseUrl, head(2_000_000)))).toEqual([100, 413]);
      // As Apache writes it (RFC 9110 §10.1.1). Bun 1.4.5 does not know it: docs/proxies.md.
      const ofApache = head(body.length).replace('100-c', '100-C') + body;
      const [first] = statusesOf(await sendRaw(relay.baseUrl, ofApache));
      expect(first).toBe(here([200, 100]));
    });

    test('that is half-closed after a request gets its answer', async () => {
      const connection = openRaw(relay.baseUrl);
      await connection.send(GET.replace('1.1', '1.0'));
      connection.sendEnd();
      expect(statusOf(await connection.closed)).toBe(200);
    });

    test('with half a header is closed at its deadline', async () => {
      expect(statusOf((await halfHeaders[index]) ?? '')).toBe(here(['closed', 408]));
    });
  });

  describe('sizes', () => {
    test('a path or a header of 20 kB is 431, and the relay keeps running', async () => {
      const long = 'x'.repeat(20_000);
      expect(statusOf(await send(`GET /auth/mal?state=${long} HTTP/1.1\r\nHost: a`))).toBe(431);
      expect(statusOf(await send(`GET /health HTTP/1.1\r\nHost: a\r\nX: ${long}`))).toBe(431);
      expect(statusOf(await send('GET /health HTTP/1.1\r\nHost: a'))).toBe(200);
    });

    test('198 header fields are read; Bun alone refuses more', async () => {
      const fields = (count: number) =>
        Array.from({ length: count }, (_, index) => `\r\nX-${index}: a`).join('');
      // Host and Connection are two of them.
      const sendWith = (count: number) =>
        send(`GET /health HTTP/1.1\r\nHost: a${fields(count - 2)}`);
      expect(statusOf(await sendWith(198))).toBe(200);
      expect(statusOf(await sendWith(199))).toBe(here([431, 200]));
    });

    test('no number of fields hides the last one, which a proxy may have added', async () => {
      const many = '\r\na:'.repeat(2_500);
      const answer = await send(
        `POST /auth/start HTTP/1.1\r\nHost: a\r\nContent-Length: 0${many}\r\nX-Forwarded-For: x`,
      );
      expect(statusOf(answer)).toBe(here([431, 400]));
      if (index === 1) expect(answer).toContain('Invalid client address');
    });

    test.each(['2000000', '104857600'])(
      'a body of %s bytes is 413 before it is sent, and refused by the admin port',
      async (bytes) => {
        const head = `POST /auth/start HTTP/1.1\r\nHost: a\r\nContent-Length: ${bytes}`;
        expect(statusOf(await send(head))).toBe(413);
        expect(statusOf(await send(head.replace('/auth/start', '/metrics'), adminUrl))).toBe(413);
      },
    );

    test('the beginning of a body of unknown length is read', async () => {
      const { ask } = relay;
      const endless = new ReadableStream({
        start: (controller) => controller.enqueue(new Uint8Array(1_000).fill(0x20)),
      });
      const response = await ask('/auth/start', { method: 'POST', body: endless });
      expect([response.status, await response.text()]).toEqual([400, 'Invalid JSON\n']);
    });
  });

  describe('a path is not decoded; only .. is resolved, on Bun \\ too', () => {
    test.each<[string, Expected]>([
      ['/auth\\done', [200, 400]],
      ['/auth/.\\done', [200, 400]],
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
      expect(statusOf(await send(`GET ${path} HTTP/1.1\r\nHost: a`))).toBe(here(status));
    });

    test('/auth/%6dal is not the link of mal, even with a good state', async () => {
      const { state } = await start(relay);
      expect((await relay.ask(`/auth/%6dal?state=${state}`)).status).toBe(404);
    });
  });

  test('nothing of that is a fault in the log', () => {
    const faults = relay.events().filter(({ level }) => level === 'error' || level === 'warning');
    // What the last of 2,500 fields says. Bun refuses so many.
    const expected = index === 0 ? [] : ['forwarded_header_malformed'];
    expect(faults.map(({ event }) => event)).toEqual(expected);
    expect(
      relay
        .output()
        .split('\n')
        .filter((line) => line && !line.startsWith('{')),
    ).toEqual([]);
  });
});
