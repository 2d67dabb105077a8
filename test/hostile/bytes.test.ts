/**
 * Bytes on the sockets of real processes: the relay and its admin port on Bun and on Node, and
 * both ports of the dev relay. Every answer is HTTP, none is a fault, and each process lives on.
 */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test';
import { startDev } from '../kit/dev.ts';
import { findFreePort } from '../kit/process.ts';
import { testSeed } from '../kit/random.ts';
import { buildForNode, RUNTIMES, startRelay } from '../kit/relay.ts';
import { openRaw } from '../kit/sockets.ts';
import { inLanes } from '../kit/wait.ts';
import { countOf, createInput, type Input, isHarmful, MARK } from './input.ts';

setDefaultTimeout(7_200_000);
await buildForNode();

const HOST = 'HTTP/1.1\r\nHost: 127.0.0.1\r\n';
const CLOSE = 'Connection: close\r\n\r\n';
const post = (path: string, body: string) =>
  `POST ${path} ${HOST}Content-Length: ${body.length}\r\n${CLOSE}${body}`;

const REQUESTS = [
  post('/auth/start', '{"service":"mal","device":"TV","code":true}'),
  post('/auth/start', '{"service":"dev","device":"TV","code":true}'),
  post('/link', 'code=BCDF-GHJK'),
  post('/next', '{"scenario":"approve"}'),
  post('/token', 'grant_type=authorization_code&code=x&client_id=a'),
  `POST /auth/start ${HOST}Transfer-Encoding: chunked\r\n${CLOSE}5\r\n{"ser\r\n0\r\n\r\n`,
  `GET /auth/result?session=${'A'.repeat(24)}&wait=0 ${HOST}${CLOSE}`,
  `GET /auth/mal/callback?state=${'B'.repeat(24)}&code=a ${HOST}Cookie: a=b\r\n${CLOSE}`,
  `GET /authorize?client_id=a&redirect_uri=http://127.0.0.1/&state=x&response_type=code ${HOST}${CLOSE}`,
  `GET /link?code=x ${HOST}Accept-Language: de\r\nX-Forwarded-For: 1.2.3.4\r\n${CLOSE}`,
  `GET http://127.0.0.1/health ${HOST}${CLOSE}`,
  `GET /now ${HOST}Authorization: Bearer x\r\n${CLOSE}`,
  `GET /health HTTP/1.0\r\n\r\n`,
  `GET /health ${HOST}\r\nGET /health ${HOST}${CLOSE}`,
  `OPTIONS * ${HOST}${CLOSE}`,
  '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
  'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
];

const makeBytes = ({ pick, chance, mutate, hostile }: Input) => {
  const good = pick(REQUESTS);
  if (chance(0.1)) return good;
  return chance(0.9) ? mutate(good) : hostile();
};

/** Sends all, then that there is no more, and resolves with what came until the server closed. */
async function exchange(port: number, bytes: string): Promise<string> {
  const connection = openRaw(`http://127.0.0.1:${port}`);
  await connection.send(Buffer.from(bytes, 'latin1'));
  connection.sendEnd();
  return connection.closed;
}

/** The documented statuses of docs/protocol.md and of docs/operating.md "What the runtime answers by itself". */
const STATUSES = new Set([
  ...[100, 200, 204, 302, 303, 400, 401, 403, 404, 405, 408, 410, 413, 417, 421, 429, 431, 505],
]);

/** Throws if it is no sequence of HTTP responses, or one of them is a fault. The last body may be cut. */
function checkAnswer(answer: string): void {
  let rest = answer;
  while (rest !== '') {
    const [, status, fields] =
      /^HTTP\/1\.[01] (\d{3})[^\r\n]*\r\n((?:[\w-]+:[^\r\n]*\r\n)*)\r\n/.exec(rest) ?? [];
    if (fields === undefined) throw new Error('no HTTP');
    if (!STATUSES.has(Number(status))) throw new Error(`a status ${status} that is not documented`);
    if (fields.includes(MARK)) throw new Error('text of the request in a header');
    rest = rest.slice(rest.indexOf('\r\n\r\n') + 4);
    const length = /^content-length: *(\d+)\r$/im.exec(fields)?.[1];
    const next = rest.search(/HTTP\/1\.[01] \d{3}/);
    const isChunked = /^transfer-encoding: *chunked/im.test(fields);
    const end = isChunked
      ? (/(?:^|\r\n)0\r\n\r\n/.exec(rest)?.index ?? rest.length) + 7
      : Number(length ?? 0);
    // A response to HEAD has a length and no body.
    const body = rest.slice(0, next === -1 ? end : Math.min(end, next));
    if (/^\s+at .*:\d+:\d+|\/src\/|node_modules/m.test(body)) throw new Error('a stack');
    rest = rest.slice(body.length);
  }
}

async function attack(port: number, count: number): Promise<void> {
  const input = createInput(testSeed);
  const all = Array.from({ length: count }, () => makeBytes(input));
  let answered = 0;
  await inLanes(16, all, async (bytes, index) => {
    const answer = await exchange(port, bytes);
    if (answer !== '') answered += 1;
    try {
      checkAnswer(answer);
    } catch (error) {
      throw new Error(`input ${index}: ${JSON.stringify(bytes)} got ${JSON.stringify(answer)}`, {
        cause: error,
      });
    }
  });
  expect(answered).toBeGreaterThan(count / 3);
  console.log(`${count} inputs, ${answered} answers`);
}

const adminPorts = await Promise.all(RUNTIMES.map(findFreePort));
const relays = await Promise.all(
  RUNTIMES.map(([, command], index) =>
    startRelay({ ADMIN_PORT: String(adminPorts[index]), START_BURST: '1000000' }, { command }),
  ),
);
const dev = await startDev();
afterAll(async () => {
  await Promise.all(relays.map((relay) => relay.stop()));
  await dev.stop();
});

test.each(RUNTIMES.map(([name], index) => [name, index] as const))(
  'the relay on %s and its admin port',
  async (_, index) => {
    const relay = relays[index] as (typeof relays)[number];
    await attack(relay.port, countOf(1_500));
    await attack(adminPorts[index] ?? 0, countOf(500));
    expect((await relay.ask('/health')).status).toBe(200);
    expect(relay.output()).not.toMatch(/"level":"error"|^[^{\n]/m);
    expect(isHarmful(relay.output())).toBe(false);
  },
);

test('the ports of the dev relay, and what it writes to its terminal', async () => {
  await attack(dev.port, countOf(600));
  await attack(dev.port + 1, countOf(600));
  expect((await dev.ask('/health')).status).toBe(200);
  expect((await dev.askProvider('/')).status).toBe(200);
  expect(isHarmful(dev.output())).toBe(false);
  expect(dev.output()).not.toContain('reports a fault');
});
