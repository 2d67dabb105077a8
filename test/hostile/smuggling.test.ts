/**
 * Request smuggling (RFC 9112 §11.2), to the relay itself and through nginx and Caddy
 * with the files of deploy/. Each attack (smuggling-attacks.ts) hides a second request, which
 * would cancel a sign-in. Nobody may read it as a request unless everybody does: then its sender
 * gets its answer, and nobody else. test/serve/http-parsing.test.ts has the status of each class
 * at the relay.
 */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { connect as connectTcp } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { pollOnce, start, type Target } from '../kit/device.ts';
import { PROXY_NAMES, startProxy } from '../kit/proxies.ts';
import { testSeed } from '../kit/random.ts';
import { buildForNode, RUNTIMES, startRelay } from '../kit/relay.ts';
import { statusesOf } from '../kit/sockets.ts';
import { inLanes } from '../kit/wait.ts';
import { countOf, createInput } from './input.ts';
import { ATTACKS, type Attack, bytesOf } from './smuggling-attacks.ts';

setDefaultTimeout(7_200_000);
await buildForNode();

/** A server that waits for the rest of a request sends nothing. */
const QUIET_MS = 300;
const LANES = 16;

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
  const final = statusesOf(sent.received()).filter((status) => Number(status) >= 200);
  expect(final).toHaveLength(2);
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
