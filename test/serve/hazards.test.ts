/** hazards.md §1b: what a socket may say to the running process. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { QR_LIMIT_OVERALL } from '../../src/limits.ts';
import { startLocalRelay } from '../support/local-relay.ts';
import { sendRaw, statusOf } from '../support/raw-http.ts';
import type { RelayProcess } from '../support/relay-process.ts';
import { startSession } from '../support/wire.ts';

let relay: RelayProcess;
beforeAll(async () => {
  relay = await startLocalRelay({
    MAL_CLIENT_ID: 'mal-client',
    START_BURST: '1000',
    TRUSTED_PROXY_CIDRS: '127.0.0.1',
  });
});
afterAll(() => relay.stop());

const ask = (head: string) => sendRaw(relay.baseUrl, `${head}\r\nConnection: close\r\n\r\n`);

describe('Host', () => {
  test.each([
    ['none in HTTP/1.1 is refused', 'GET /auth/done HTTP/1.1', 400],
    ['none in HTTP/1.0 is a probe, and served', 'GET /auth/done HTTP/1.0', 200],
    ['none hides no path: /aa/auth/done is not /auth/done', 'GET /aa/auth/done HTTP/1.0', 404],
    ['an empty one is no matter', 'GET /auth/done HTTP/1.1\r\nHost:', 200],
    ['an empty one hides no path', 'GET /aa/auth/done HTTP/1.1\r\nHost:', 404],
    ['a broken one is no matter', 'GET /auth/done HTTP/1.1\r\nHost: a b/c?d', 200],
    ['two are refused (RFC 9112 §3.2)', 'GET /auth/done HTTP/1.1\r\nHost: a\r\nHost: b', 400],
    [
      'absolute form is served by its path',
      'GET http://evil.test/auth/done HTTP/1.1\r\nHost: a',
      200,
    ],
    ['two slashes are no host', 'GET //evil.test/auth/done HTTP/1.1\r\nHost: a', 404],
  ])('%s', async (_, head, status) => {
    expect(statusOf(await ask(head))).toBe(status);
  });

  test('it never gets into an address that the relay makes', async () => {
    const body = JSON.stringify({ service: 'mal' });
    const answer = await ask(
      `POST http://evil.test/auth/start HTTP/1.1\r\nHost: evil.test\r\nX-Forwarded-Host: evil.test\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
    );
    expect(answer).toContain(`"url":"${relay.baseUrl}/auth/mal?state=`);
    expect(answer).not.toContain('evil');
  });
});

describe('methods', () => {
  test.each(['HEAD', 'OPTIONS', 'PUT', 'DELETE', 'PATCH', 'TRACE', 'PROPFIND'])(
    '%s reaches no handler of GET or POST',
    async (method) => {
      for (const path of ['start', 'result', 'done', 'mal', 'mal/callback']) {
        const answer = await ask(`${method} /auth/${path} HTTP/1.1\r\nHost: a`);
        expect([path, statusOf(answer)]).toEqual([path, 405]);
        expect(answer).toContain(`\r\nAllow: ${path === 'start' ? 'POST' : 'GET'}\r\n`);
      }
    },
  );

  test.each(['start', 'result', 'done', 'mal', 'mal/callback'])(
    'what is no method gets no answer at /auth/%s, and CONNECT reaches no handler',
    async (path) => {
      for (const method of ['FOO', 'get']) {
        expect(await ask(`${method} /auth/${path} HTTP/1.1\r\nHost: a`)).toBe('');
      }
      expect(statusOf(await ask(`CONNECT /auth/${path} HTTP/1.1\r\nHost: a`))).toBe(405);
    },
  );

  test('nobody is connected to elsewhere', async () => {
    const answer = await ask('CONNECT provider.test:443 HTTP/1.1\r\nHost: provider.test:443');
    expect(statusOf(answer)).toBe(404);
  });

  test('HEAD burns no tokens: the GET after it still gets them', async () => {
    const { session, state } = await startSession(relay.baseUrl, 'mal');
    await fetch(`${relay.baseUrl}/auth/mal/callback?state=${state}&error=access_denied`);
    const url = `${relay.baseUrl}/auth/result?session=${session}`;
    expect((await fetch(url, { method: 'HEAD' })).status).toBe(405);
    expect(await (await fetch(url)).json()).toEqual({ error: 'access_denied' });
  });
});

describe('sizes', () => {
  test('an address or a header of 20 KB is refused, and nobody else is troubled', async () => {
    const long = 'x'.repeat(20_000);
    expect(statusOf(await ask(`GET /auth/mal?state=${long} HTTP/1.1\r\nHost: a`))).toBe(431);
    expect(statusOf(await ask(`GET /health HTTP/1.1\r\nHost: a\r\nX: ${long}`))).toBe(431);
    expect(statusOf(await ask('GET /health HTTP/1.1\r\nHost: a'))).toBe(200);
  });

  test('198 header fields are read, one more is refused', async () => {
    const fields = (count: number) =>
      Array.from({ length: count }, (_, index) => `\r\nX-${index}: a`).join('');
    // Host and Connection are two of them.
    const askWith = (count: number) => ask(`GET /health HTTP/1.1\r\nHost: a${fields(count - 2)}`);
    expect(statusOf(await askWith(198))).toBe(200);
    expect(statusOf(await askWith(199))).toBe(431);
  });

  test("an X-Forwarded-For of 1000 hops is no proxy's doing", async () => {
    const start = (hops: number) =>
      fetch(`${relay.baseUrl}/auth/start`, {
        method: 'POST',
        headers: { 'X-Forwarded-For': Array(hops).fill('203.0.113.9').join() },
        body: JSON.stringify({ service: 'mal' }),
      });
    expect((await start(32)).status).toBe(200);
    const refused = await start(1_000);
    expect([refused.status, await refused.text()]).toEqual([400, 'Invalid client address\n']);
  });

  test.each(['fe80::1%eth0', '[fe80::1%25eth0]:4711', '203.0.113.9, fe80::1%1'])(
    'a forwarded hop with a zone is malformed: %s',
    async (forwarded) => {
      const body = JSON.stringify({ service: 'mal' });
      const answer = await ask(
        `POST /auth/start HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: ${forwarded}\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
      );
      expect(answer).toEndWith('\r\n\r\nInvalid client address\n');
    },
  );

  test('a body of 2 MB is refused, one of 200 KB is cut at 512 bytes', async () => {
    const post = async (bytes: number) =>
      (await fetch(`${relay.baseUrl}/auth/start`, { method: 'POST', body: ' '.repeat(bytes) }))
        .status;
    expect(await post(2_000_000)).toBe(413);
    expect(await post(200_000)).toBe(400);
  });
});

describe('an address written otherwise', () => {
  test.each([
    ['/auth\\done', 200],
    ['/auth/.\\done', 200],
    ['/x/../auth/done', 200],
    ['/x/%2e%2e/auth/done', 200],
    ['/auth/done/.%2E/../auth/done', 200],
    ['/auth/mal/..%2fdone', 404],
    ['/auth/mal/..%5cdone', 404],
    ['/auth%5cdone', 404],
    ['/auth/done/%2e', 404],
    ['/auth/done%00', 404],
    ['/auth/done;a', 404],
    ['/auth//done', 404],
  ])('%s: only \\ and .. are resolved, nothing is decoded', async (path, status) => {
    expect(statusOf(await ask(`GET ${path} HTTP/1.1\r\nHost: a`))).toBe(status);
  });
});

test('a script in the address is never shown', async () => {
  const { state } = await startSession(relay.baseUrl, 'mal');
  const script = encodeURIComponent('<script>alert(1)</script>');
  const response = await fetch(
    `${relay.baseUrl}/auth/mal/callback?state=${state}&error=${script}&error_description=${script}`,
  );
  expect(await response.text()).not.toContain('script');
});

test('481 requests for the largest picture, of 481 /64s, are mostly refused', async () => {
  const startedAtMs = performance.now();
  const statuses = await Promise.all(
    Array.from({ length: 481 }, async (_, network) => {
      const headers = { 'X-Forwarded-For': `2001:db8:0:${network.toString(16)}::1` };
      const answer = await fetch(`${relay.baseUrl}/qr/BCDF-GHJK.png?size=1000`, { headers });
      return answer.status;
    }),
  );
  const seconds = (performance.now() - startedAtMs) / 1_000;
  const { burst, ratePerSecond } = QR_LIMIT_OVERALL;
  const drawn = statuses.filter((status) => status === 200).length;
  expect(drawn).toBeLessThanOrEqual(burst + ratePerSecond * seconds + 1);
  expect(statuses.filter((status) => status === 429)).toHaveLength(481 - drawn);
});
