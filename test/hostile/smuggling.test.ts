/**
 * Request smuggling (RFC 9112 §11.2), to the relay itself and through nginx, HAProxy and Caddy
 * with the files of deploy/. Each attack hides a second request, which would cancel a sign-in.
 * Nobody may read it as a request unless everybody does: then its sender gets its answer, and
 * nobody else. test/serve/http-parsing.test.ts has the status of each class at the relay.
 */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { connect as connectTcp } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { pollOnce, start, type Target } from '../kit/device.ts';
import { PROXY_NAMES, startProxy } from '../kit/proxies.ts';
import { testSeed } from '../kit/random.ts';
import { buildForNode, RUNTIMES, startRelay } from '../kit/relay.ts';
import { inLanes } from '../kit/wait.ts';
import { countOf, createInput } from './input.ts';

setDefaultTimeout(7_200_000);
await buildForNode();

/** A server that waits for the rest of a request sends nothing. */
const QUIET_MS = 300;
const LANES = 16;

const CHUNKED = 'Transfer-Encoding: chunked';

/** A request line and header fields, and a body that ends where some would say that it does. */
interface Attack {
  readonly name: string;
  /** `{length}` is that of the body with the hidden request. */
  readonly head: string;
  /** Before the hidden request. */
  readonly body?: string;
  readonly isWithoutHost?: boolean;
}

const POST = 'POST /auth/start HTTP/1.1';
const GET = 'GET /health HTTP/1.1';

/** Ways to write Transfer-Encoding that one server obeys and another ignores. */
const TE_FORMS = [
  ...[
    `${CHUNKED}, identity`,
    'Transfer-Encoding: identity, chunked',
    'Transfer-Encoding: x, chunked',
  ],
  ...['Transfer-Encoding: xchunked', 'Transfer-Encoding: chunkedx', 'Transfer-Encoding : chunked'],
  ...['Transfer-Encoding\t: chunked', 'Transfer-Encoding:\tchunked', 'Transfer-Encoding:chunked'],
  ...[
    'Transfer-Encoding: \x0bchunked',
    'Transfer-Encoding: \x0cchunked',
    'Transfer-Encoding: chunked\x0b',
  ],
  ...[
    'Transfer-Encoding: \xa0chunked',
    'Transfer-Encoding: "chunked"',
    "Transfer-Encoding: 'chunked'",
  ],
  ...[
    `X: y\n${CHUNKED}`,
    `X: y\r${CHUNKED}`,
    `X: y\0\r\n${CHUNKED}`,
    ` ${CHUNKED}`,
    `\t${CHUNKED}`,
  ],
  ...['Transfer-Encoding:\r\n chunked', 'Transfer-Encoding: chun\r\n ked', `X: y\r\n ${CHUNKED}`],
  ...[
    'Transfer-Encoding: chunked;q=1',
    'Transfer-Encoding: ,chunked',
    'Transfer-Encoding: chunked,',
  ],
  ...['TRANSFER-ENCODING: CHUNKED', 'Transfer_Encoding: chunked', 'Transfer Encoding: chunked'],
  ...[
    `${CHUNKED}\r\nTransfer-Encoding: x`,
    `Transfer-Encoding: x\r\n${CHUNKED}`,
    `${CHUNKED}\r\n${CHUNKED}`,
  ],
  ...[
    'Transfer-Encoding: gzip, chunked',
    'Transfer-Encoding:',
    'TE: chunked',
    'Content-Encoding: chunked',
  ],
  ...[
    'Transfer-Encoding: chunke\u0064\0',
    'Transfer\x00-Encoding: chunked',
    '\xefTransfer-Encoding: chunked',
  ],
];

const CL_FORMS = [
  ...[
    '+0',
    '-0',
    '0x0',
    '00',
    '0 ',
    '0, 0',
    '0;a',
    '0\t',
    '0\x0b',
    '\x0b0',
    '0\0',
    '0e0',
    '0.0',
    '٠',
    '',
  ],
  ...[
    '18446744073709551616',
    '18446744073709551660',
    '4294967296',
    '0\r\n 4',
    '0, {length}',
    '{length}, 0',
  ],
];

const ATTACKS: readonly Attack[] = [
  { name: 'CL.TE', head: `${POST}\r\nContent-Length: {length}\r\n${CHUNKED}`, body: '0\r\n\r\n' },
  { name: 'TE.CL', head: `${POST}\r\n${CHUNKED}\r\nContent-Length: 4`, body: '0\r\n\r\n' },
  {
    name: 'HTTP/1.0 with TE',
    head: `POST /auth/start HTTP/1.0\r\n${CHUNKED}\r\nContent-Length: {length}\r\nConnection: keep-alive`,
    body: '0\r\n\r\n',
  },
  ...TE_FORMS.flatMap((form): Attack[] => [
    {
      name: `CL and ${JSON.stringify(form)}`,
      head: `${POST}\r\nContent-Length: {length}\r\n${form}`,
      body: '0\r\n\r\n',
    },
    { name: `${JSON.stringify(form)} alone`, head: `${POST}\r\n${form}`, body: '0\r\n\r\n' },
  ]),
  ...CL_FORMS.flatMap((form): Attack[] => [
    { name: `length ${JSON.stringify(form)}`, head: `${POST}\r\nContent-Length: ${form}` },
    {
      name: `CL.CL with ${JSON.stringify(form)}`,
      head: `${POST}\r\nContent-Length: ${form}\r\nContent-Length: {length}`,
    },
    {
      name: `CL.CL before ${JSON.stringify(form)}`,
      head: `${POST}\r\nContent-Length: {length}\r\nContent-Length: ${form}`,
    },
  ]),
  ...[
    'Content-Length : {length}',
    'Content_Length: {length}',
    ' Content-Length: {length}',
    'X: y\nContent-Length: {length}',
  ].map((form): Attack => ({ name: `${JSON.stringify(form)}`, head: `${POST}\r\n${form}` })),
  // CL.0: a body where a server expects none.
  ...['GET', 'HEAD', 'OPTIONS', 'DELETE', 'TRACE', 'PUT'].flatMap((method): Attack[] =>
    ['/health', '/auth/done', '/nowhere', '/favicon.ico', '/auth/result', '/auth/../health'].map(
      (path) => ({
        name: `CL.0 by ${method} ${path}`,
        head: `${method} ${path} HTTP/1.1\r\nContent-Length: {length}`,
      }),
    ),
  ),
  { name: 'GET with chunks', head: `${GET}\r\n${CHUNKED}`, body: '0\r\n\r\n' },
  { name: 'Expect', head: `${POST}\r\nExpect: 100-continue\r\nContent-Length: {length}` },
  {
    name: 'an unknown Expect',
    head: `${POST}\r\nExpect: x 100-continue\r\nContent-Length: {length}`,
  },
  // Framing by a header that the proxy removes.
  ...[
    'Content-Length',
    'Transfer-Encoding',
    'Host',
    'close, Content-Length',
    'X-Forwarded-For',
  ].map(
    (name): Attack => ({
      name: `Connection: ${name}`,
      head: `${POST}\r\nConnection: ${name}\r\nContent-Length: {length}`,
    }),
  ),
  {
    name: 'upgrade to h2c',
    head: `${GET}\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\nContent-Length: {length}`,
  },
  {
    name: 'upgrade to a WebSocket',
    head: `${GET}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nContent-Length: {length}`,
  },
  {
    name: 'upgrade of a WebSocket version that fails',
    head: `${GET}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 777\r\nContent-Length: {length}`,
  },
  // Chunks.
  ...[
    '0;\n\r\n\r\n',
    '0;a=b\nc\r\n\r\n',
    '0\n\n',
    '0\r\r\n',
    '0 \r\n\r\n',
    '00000000000000000\r\n\r\n',
    '0x0\r\n\r\n',
    '-0\r\n\r\n',
    '0_0\r\n\r\n',
    '100000000000000000\r\n\r\n',
    '1\r\nZ\n0\r\n\r\n',
    '1\r\nZZ0\r\n\r\n',
    '0\r\nX: y\r\n\r\n',
    '0\r\nContent-Length: 99\r\n\r\n',
    '0\r\nHost: x\n\r\n',
    '0\r\n\r',
    '0\r\n\n',
    '\r\n0\r\n\r\n',
    '0;a="\r\n\r\n',
  ].map(
    (body): Attack => ({
      name: `chunk ${JSON.stringify(body)}`,
      head: `${POST}\r\n${CHUNKED}`,
      body,
    }),
  ),
  // Targets and hosts.
  ...[
    'http://evil.test/health',
    'http://evil.test',
    '//evil.test/health',
    '*',
    '/health HTTP/1.1 x',
    '/hea lth',
    '/health\tHTTP/1.1',
    '/%0d%0ahealth',
    '/health#x',
    '\\health',
    '/health?\x01',
  ].map(
    (target): Attack => ({
      name: `target ${JSON.stringify(target)}`,
      head: `GET ${target} HTTP/1.1\r\nContent-Length: {length}`,
    }),
  ),
  ...[
    'Host: a\r\nHost: b',
    ' Host: a',
    'Host : a',
    'Host: a\r\n b',
    'Host: a, b',
    'Host: a@b',
    'Host:',
    'Host: a\x00',
  ].map(
    (host): Attack => ({
      name: `${JSON.stringify(host)}`,
      head: `${GET}\r\n${host}\r\nContent-Length: {length}`,
      isWithoutHost: true,
    }),
  ),
  ...['HTTP/0.9', 'HTTP/1.2', 'HTTP/2.0', 'HTTP/1.10', 'http/1.1', 'HTTP/1.1 ', ''].map(
    (version): Attack => ({
      name: `version ${JSON.stringify(version)}`,
      head: `GET /health ${version}\r\nContent-Length: {length}`,
    }),
  ),
  { name: 'an empty line first', head: `\r\n\r\n${GET}\r\nContent-Length: {length}` },
  { name: 'lines that end in LF', head: `${GET}\nContent-Length: {length}\nX: y` },
  { name: 'lines that end in CR', head: `${GET}\rContent-Length: {length}\rX: y` },
];

interface Server {
  readonly target: Target;
  /** Resolves once nothing more has come for a while. */
  send(bytes: string): Promise<Sent>;
}

interface Sent {
  received(): string;
  /** Resolves once the server has closed the connection. */
  readonly closed: Promise<unknown>;
  leave(): void;
}

function serverAt(target: Target, url: string, ca?: string): Server {
  const { hostname, port } = new URL(url);
  const at = { host: hostname, port: Number(port) };
  async function send(bytes: string): Promise<Sent> {
    const onConnect = () => void socket.write(Buffer.from(bytes, 'latin1'));
    const socket =
      ca === undefined
        ? connectTcp(at, onConnect)
        : connectTls({ ...at, ca, ALPNProtocols: ['http/1.1'] }, onConnect);
    let received = '';
    socket.on('data', (part) => {
      received += part.toString('latin1');
    });
    socket.on('error', () => {});
    const closed = new Promise((resolve) => socket.once('close', resolve));
    const quiet = new Promise((resolve) => socket.setTimeout(QUIET_MS, () => resolve(undefined)));
    await Promise.race([closed, quiet]);
    return { received: () => received, closed, leave: () => void socket.destroy() };
  }
  return { target, send };
}

const statusesOf = (answer: string) =>
  [...answer.matchAll(/HTTP\/1\.[01] (\d{3})/g)]
    .map(([, status]) => Number(status))
    .filter((status) => status >= 200);

function bytesOf({ head, body = '', isWithoutHost }: Attack, hidden: string): string {
  const length = String(body.length + hidden.length);
  const [line = '', ...fields] = head.split(/(?<=^\s*\S[^\r\n]*)(?=[\r\n])/);
  const host = isWithoutHost ? '' : '\r\nHost: relay.example';
  return `${line}${host}${fields.join('')}\r\n\r\n${body}${hidden}`.replaceAll('{length}', length);
}

/** Three requests of other users, over connections that the attack may have left behind. */
async function checkOthers({ target }: Server, session: string): Promise<void> {
  const [health, polled, done] = await Promise.all([
    target.ask('/health'),
    pollOnce(target, session),
    target.ask('/auth/done'),
  ]);
  expect([health.status, await health.text()]).toEqual([200, 'ok']);
  expect(polled.status).toBe(204);
  expect([done.status, (await done.text()).includes('Signed in')]).toEqual([200, true]);
}

interface Attacked {
  readonly name: string;
  readonly bytes: string;
  readonly sent: Sent;
  /** The session that the hidden request would cancel. */
  readonly session: string;
}

async function attack(server: Server, parts: Attack): Promise<Attacked> {
  const { session } = await start(server.target);
  const hidden = `GET /auth/result?session=${session}&cancel=1 HTTP/1.1\r\nHost: relay.example\r\nConnection: close\r\n\r\n`;
  const bytes = bytesOf(parts, hidden);
  return { name: parts.name, bytes, sent: await server.send(bytes), session };
}

/** The hidden request is executed only if its sender gets two answers: then all read two requests. */
async function checkHidden({ target }: Server, { sent, session }: Attacked): Promise<void> {
  const { status } = await pollOnce(target, session);
  if (status === 204) return;
  expect(status).toBe(410);
  await sent.closed;
  expect(statusesOf(sent.received())).toHaveLength(2);
}

/** Several at a time, so that they meet each other's connections. */
async function attackAll(server: Server, attacks: readonly Attack[]): Promise<void> {
  const { session: other } = await start(server.target);
  const attacked: Attacked[] = [];
  async function withInput({ name, bytes, sent }: Attacked, run: () => Promise<void>) {
    await run().catch((cause: unknown) => {
      const [asked, got] = [bytes, sent.received()].map((text) => JSON.stringify(text));
      throw new Error(`${name}: ${asked} got ${got}`, { cause });
    });
  }
  await inLanes(LANES, attacks, async (each) => {
    const done = await attack(server, each);
    attacked.push(done);
    await withInput(done, () => checkOthers(server, other));
  });
  // At the end, so that a server that is slow has executed what it would.
  await inLanes(LANES, attacked, (each) => withInput(each, () => checkHidden(server, each)));
  for (const { sent } of attacked) sent.leave();
}

const ENV = {
  START_BURST: '1000000',
  START_RATE: '1000000',
  MAX_SESSIONS: '1000000',
  LOG_LEVEL: 'info',
};
const relays = await Promise.all(RUNTIMES.map(([, command]) => startRelay(ENV, { command })));
const direct = RUNTIMES.map(([name], index) => {
  const relay = relays[index] as (typeof relays)[number];
  return [`the relay on ${name}`, serverAt(relay, relay.baseUrl)] as const;
});
/** Each proxy before each runtime: what one of them reads in another way is the danger. */
const pairs = PROXY_NAMES.flatMap((name) => relays.map((relay, index) => ({ name, relay, index })));
const proxies = await Promise.all(pairs.map(({ name, relay }) => startProxy(name, [relay.port])));
afterAll(async () => {
  await Promise.all(proxies.map((proxy) => proxy.stop()));
  await Promise.all(relays.map((relay) => relay.stop()));
});
const throughProxies = pairs.map(({ name, index }, at) => {
  const proxy = proxies[at] as (typeof proxies)[number];
  const server = serverAt(proxy, proxy.baseUrl, readFileSync(proxy.caFile, 'utf8'));
  return [`${name} and the relay on ${RUNTIMES[index]?.[0]}`, server] as const;
});

function changeAtRandom(count: number): Attack[] {
  const { pick, chance, mutate } = createInput(testSeed);
  return Array.from({ length: count }, () => {
    const each = pick(ATTACKS);
    return chance(0.5)
      ? { ...each, head: mutate(each.head) }
      : { ...each, body: mutate(each.body ?? '0\r\n\r\n') };
  });
}

test.concurrent.each([...direct, ...throughProxies])(
  `%s: of ${ATTACKS.length} ways to hide a request, and changes of them, none executes it or reaches another user`,
  async (_, server) => {
    await attackAll(server, [...ATTACKS, ...changeAtRandom(countOf(20))]);
  },
);

afterAll(() => {
  for (const relay of relays) expect(relay.output()).not.toMatch(/"level":"error"|^[^{\n]/m);
});
