/**
 * Whatever a token endpoint answers, the user gets a page, and the device its own tokens or an
 * error. Answers as objects, in this process, and as bytes, to the relay on Bun and on Node.
 */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { deflateSync, gzipSync } from 'node:zlib';
import { poll, start, type Target } from '../kit/device.ts';
import { serveBytes } from '../kit/provider.ts';
import { testSeed } from '../kit/random.ts';
import { buildForNode, RUNTIMES, startRelay } from '../kit/relay.ts';
import { captureLog, createTestService } from '../kit/service.ts';
import { callback } from '../kit/user.ts';
import { inLanes } from '../kit/wait.ts';
import { countOf, createInput, type Input, MARK } from './input.ts';

setDefaultTimeout(7_200_000);
afterAll(() => captureLog());

const JSON_TYPE = 'Content-Type: application/json\r\n';

/** A change of its text makes no other sign-in's token. */
const tokenOf = (index: number) => `token-${index}-${Bun.hash(String(index))}`;

function granted(index: number): string {
  const tokens = { access_token: tokenOf(index), refresh_token: 'next', expires_in: 3_600 };
  return JSON.stringify({ ...tokens, scope: 'a b', token_type: 'Bearer', id_token: 'e30.e30.e30' });
}

/** Of a token endpoint: good ones, errors, and other JSON. */
function bodyOf({ pick, chance, mutate, hostile }: Input, index: number): string {
  const good = pick([
    granted(index),
    granted(index),
    granted(index),
    granted(index),
    '{"error":"invalid_grant","error_description":"no"}',
    '{"access_token":["a"],"expires_in":"x"}',
    '{"access_token":"a","expires_in":1e400,"scope":[1,{}],"__proto__":{"x":1}}',
    `{"access_token":"${'t'.repeat(70_000)}"}`,
    '[]',
    'null',
    '',
  ]);
  if (chance(0.5)) return good;
  return chance(0.7) ? mutate(good) : hostile();
}

/** What a device may get from a poll: only strings and numbers, none of them empty, and of no other sign-in. */
function checkResult(text: string, index: number): void {
  const json = JSON.parse(text) as Record<string, unknown>;
  for (const [name, value] of Object.entries(json)) {
    const isText = ['accessToken', 'refreshToken', 'tokenType', 'scope', 'idToken', 'error'];
    if (isText.includes(name) && typeof value === 'string' && value !== '') continue;
    if (name === 'expiresIn' && Number.isSafeInteger(value)) continue;
    throw new Error(`the device got ${name} = ${JSON.stringify(value)}`);
  }
  const { accessToken, error } = json;
  if ((accessToken === undefined) === (error === undefined)) throw new Error(`neither: ${text}`);
  const owner = Number(/^token-(\d+)-/.exec(String(accessToken))?.[1]);
  if (accessToken === tokenOf(owner) && owner !== index)
    throw new Error(`of another user: ${text}`);
}

/** The provider answers the code whatever it answers. Returns the status of the page. */
async function signIn(target: Target, index: number): Promise<number> {
  const { session, state } = await start(target, 'mal', { details: true });
  const page = await callback(target, state, `code=${index}`);
  expect([200, 502]).toContain(page.status);
  expect(await page.text()).not.toContain(MARK);
  const result = await poll(target, session);
  expect(result.status).toBe(200);
  checkResult(await result.text(), index);
  return page.status;
}

test('answers as objects: a page for the user, and tokens or an error for the device', async () => {
  const input = createInput(testSeed);
  const { chance, pick, below, mutate } = input;
  const HEADERS = [
    ['content-type', 'application/json'],
    ['content-type', 'text/html; charset=utf-16'],
    ['content-length', '5'],
    ['content-encoding', 'gzip'],
    ['location', `https://${MARK}.test`],
    ['set-cookie', MARK],
    ['retry-after', '99999999999'],
  ] as const;
  let index = 0;
  const service = createTestService(
    { startBurst: 1_000_000 },
    {
      fetch: async () => {
        if (chance(0.02)) throw Object.assign(new Error(MARK), { code: pick(['ECONNRESET', 7]) });
        const status = chance(0.7) ? 200 : 200 + below(400);
        const body = [204, 205, 304].includes(status) ? null : bodyOf(input, index);
        const headers = HEADERS.filter(() => chance(0.2)).map(([name, value]): [string, string] => [
          name,
          chance(0.8) ? value : mutate(value).replace(/[^ -~]/g, ''),
        ]);
        return new Response(body, { status, headers });
      },
    },
  );
  const log = captureLog('warning');
  const ends = new Map<number, number>();
  for (; index < countOf(6_000); index += 1) {
    const status = await signIn(service, index);
    ends.set(status, (ends.get(status) ?? 0) + 1);
  }
  console.log(`${index} answers: ${JSON.stringify(Object.fromEntries(ends))}`);
  expect([...ends.keys()].sort()).toEqual([200, 502]);
  expect(log.events.filter(({ level }) => level === 'error')).toEqual([]);
  service.clock.advance(7_200_000);
  expect(service.kept()).toMatchObject({ sessions: 0, startBuckets: 0 });
});

/** One answer in bytes: with a length, in chunks, compressed, informational first, or none of that. */
function bytesOf(input: Input, index: number): Buffer {
  const { chance, pick, mutate } = input;
  const body = Buffer.from(bodyOf(input, index));
  const ok = `HTTP/1.1 200 OK\r\n${JSON_TYPE}`;
  const withLength = (head: string, sent: Buffer) =>
    Buffer.concat([Buffer.from(`${head}Content-Length: ${sent.length}\r\n\r\n`), sent]);
  const inChunks = (sent: Buffer) =>
    Buffer.concat([
      Buffer.from(`${ok}Transfer-Encoding: chunked\r\n\r\n${sent.length.toString(16)}\r\n`),
      sent,
      Buffer.from('\r\n0\r\n\r\n'),
    ]);
  const made = pick([
    () => withLength(ok, body),
    () => withLength(ok, body),
    () => inChunks(body),
    () => Buffer.concat([Buffer.from(`${ok}\r\n`), body]),
    () => withLength(`${ok}Content-Encoding: gzip\r\n`, gzipSync(body)),
    () => withLength(`${ok}Content-Encoding: deflate\r\n`, deflateSync(body)),
    () => withLength(`${ok}Content-Encoding: br, gzip\r\n`, body),
    () => withLength(`HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n${ok}`, body),
    () => withLength(`HTTP/1.1 100 Continue\r\n\r\n${ok}`, body),
    () =>
      withLength(
        `HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n`,
        body,
      ),
    () => withLength(`HTTP/1.1 101 Switching Protocols\r\n\r\n`, body),
    () => withLength(`${ok}Upgrade: websocket\r\nConnection: Upgrade\r\n`, body),
    () => withLength('HTTP/1.1 204 No Content\r\n', body),
    () => withLength('HTTP/1.1 304 Not Modified\r\n', body),
    () => withLength('HTTP/1.1 999 What\r\n', body),
    () => withLength(`HTTP/1.1 307 x\r\nLocation: http://127.0.0.1:9/\r\n`, body),
    () => withLength(`HTTP/1.0 200 OK\r\n${JSON_TYPE}`, body),
    () => withLength(`${ok}X: ${'y'.repeat(100_000)}\r\n`, body),
    () => withLength(`${ok}${'X: y\r\n'.repeat(3_000)}`, body),
    () => withLength(`${ok}X: \x01\x7f\x80\xff\r\n`, body),
    () => Buffer.alloc(0),
  ])();
  return chance(0.7) ? made : Buffer.from(mutate(made.toString('latin1')), 'latin1');
}

/** Answers the request with `code=N` with the Nth bytes, in one or two parts, and closes. */
async function startByteProvider() {
  const input = createInput(testSeed);
  const answers = new Map<string, Buffer>();
  const { url, stop } = await serveBytes((socket, _, received) => {
    // Head and body may come one after the other. The answer stays, since the relay asks again
    // if it gets none over a connection that was kept alive.
    const code = /(?:^|[&\n])code=(\d+)(?:&|$)/.exec(received)?.[1] ?? '';
    const bytes = answers.get(code);
    if (bytes === undefined) return;
    const cut = input.chance(0.5) ? bytes.length : input.below(bytes.length + 1);
    socket.write(bytes.subarray(0, cut));
    // In another packet.
    setImmediate(() => socket.end(bytes.subarray(cut)));
  });
  return {
    tokenUrl: url,
    prepare(index: number, bytes = bytesOf(input, index)): string {
      answers.set(String(index), bytes);
      return bytes.toString('latin1');
    },
    stop,
  };
}

/** Gives up sooner than the relay does with a provider that is silent (15 s). None is: each closes its connection. */
const impatient = (relay: Target): Target => ({
  ask: (path, init) => relay.ask(path, { signal: AbortSignal.timeout(14_000), ...init }),
});

await buildForNode();

describe.each(RUNTIMES)('on %s', (_, command) => {
  test('answers as bytes: a page for the user, and tokens or an error for the device', async () => {
    const provider = await startByteProvider();
    const relay = await startRelay(
      {
        ...{ MAL_TOKEN_URL: provider.tokenUrl, LOG_LEVEL: 'info' },
        ...{ START_BURST: '1000000', START_RATE: '1000000' },
      },
      { command },
    );
    const ends = new Map<number, number>();
    const count = countOf(200);
    async function signInAt(index: number): Promise<void> {
      const bytes = provider.prepare(index);
      try {
        const status = await signIn(impatient(relay), index);
        ends.set(status, (ends.get(status) ?? 0) + 1);
      } catch (error) {
        throw new Error(`answer ${index}: ${JSON.stringify(bytes.slice(0, 2_000))}`, {
          cause: error,
        });
      }
    }
    try {
      await inLanes(8, Array.from({ length: count }).keys(), signInAt);
      console.log(`${count} answers: ${JSON.stringify(Object.fromEntries(ends))}`);
      expect([...ends.keys()].sort()).toEqual([200, 502]);
      expect((await relay.ask('/health')).status).toBe(200);
      expect(relay.output()).not.toMatch(/"level":"error"|^[^{\n]/m);
    } finally {
      provider.stop();
      await relay.stop('SIGKILL');
    }
  });

  test('a provider that switches protocols has given no tokens', async () => {
    const provider = await startByteProvider();
    const relay = await startRelay({ MAL_TOKEN_URL: provider.tokenUrl }, { command });
    const head = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n';
    provider.prepare(0, Buffer.from(head));
    try {
      const { session, state } = await start(relay);
      const page = await callback(impatient(relay), state, 'code=0');
      expect(page.status).toBe(502);
      expect(await (await poll(relay, session)).json()).toEqual({ error: 'exchange_failed' });
    } finally {
      provider.stop();
      // An exchange that never ends would hold a SIGTERM.
      await relay.stop('SIGKILL');
    }
  });
});
