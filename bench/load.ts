/**
 * The load: devices and browsers on bare sockets, and a provider, all in this process.
 * `fetch` would cost it more than the relay spends on a response.
 */
import { eachLimit } from '../test/kit/wait.ts';

/** Undefined until the whole response is there. */
function parseResponse(received: string) {
  const headEnd = received.indexOf('\r\n\r\n');
  if (headEnd < 0) return undefined;
  const bodyStart = headEnd + 4;
  // A response without a length has no body: only a 204 is one here.
  const length = /\r\ncontent-length: *(\d+)/i.exec(received.slice(0, headEnd))?.[1] ?? 0;
  if (received.length < bodyStart + Number(length)) return undefined;
  return { status: Number(received.slice(9, 12)), body: received.slice(bodyStart) };
}

interface Request {
  readonly method?: string;
  readonly path: string;
  readonly body?: string;
}

let clients = 0;

/** Encodes a request as a proxy forwards it. Each is from a new address, because the rate limit is per address. */
function encode({ method = 'GET', path, body }: Request): string {
  clients += 1;
  const from = `10.${(clients >> 16) & 255}.${(clients >> 8) & 255}.${clients & 255}`;
  const head = `${method} ${path} HTTP/1.1\r\nHost: relay.test\r\nX-Forwarded-For: ${from}\r\n`;
  return body === undefined
    ? `${head}\r\n`
    : `${head}Content-Length: ${body.length}\r\n\r\n${body}`;
}

type Connection = Awaited<ReturnType<typeof connect>>;

/** A connection that carries one request at a time. */
async function connect(port: number) {
  let received = '';
  const connection = { isOpen: true, send, close };
  let waiting: PromiseWithResolvers<{ status: number; body: string }> | undefined;

  function end(reason: string): void {
    connection.isOpen = false;
    waiting?.reject(new Error(reason));
    waiting = undefined;
  }
  const socket = await Bun.connect({
    hostname: '127.0.0.1',
    port,
    socket: {
      data(_, chunk) {
        received += chunk.toString('latin1');
        const response = parseResponse(received);
        if (response === undefined) return;
        received = '';
        const answered = waiting;
        waiting = undefined;
        answered?.resolve(response);
      },
      close: () => end('the connection was closed before the response'),
      error: (_, error) => end(error.message),
    },
  });

  function send(request: Request) {
    waiting = Promise.withResolvers();
    const { promise } = waiting;
    const text = encode(request);
    // Every request is shorter than the buffer of a socket.
    if (socket.write(text) !== text.length) end('the request could not be sent');
    return promise;
  }
  function close(): void {
    waiting = undefined;
    socket.end();
  }
  return connection;
}

/** Port -> connections that are not in use. They are kept alive, as between a proxy and the relay. */
const pools = new Map<number, Connection[]>();

async function send(port: number, request: Request) {
  const pool = pools.get(port) ?? [];
  pools.set(port, pool);
  let connection = pool.pop();
  while (connection?.isOpen === false) connection = pool.pop();
  connection ??= await connect(port);
  const response = await connection.send(request);
  pool.push(connection);
  return response;
}

async function expectStatus(status: number, port: number, request: Request): Promise<string> {
  const response = await send(port, request);
  if (response.status === status) return response.body;
  throw new Error(`${request.path.split('?')[0]}: ${response.status} ${response.body.trim()}`);
}

/** About as long as signed tokens are. */
const TOKEN_RESPONSE = JSON.stringify({
  access_token: 'a'.repeat(800),
  refresh_token: 'r'.repeat(100),
  expires_in: 3_600,
});

/** Code -> when its tokens were written to the relay. */
const exchangedAtMs = new Map<string, number>();

/** Returns the origin of a provider that has a token endpoint only. */
export function startProvider(): string {
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      const code = new URLSearchParams(await request.text()).get('code') ?? '';
      exchangedAtMs.set(code, performance.now());
      return new Response(TOKEN_RESPONSE, { headers: { 'Content-Type': 'application/json' } });
    },
  });
  return server.url.origin;
}

/** The ports where devices and browsers connect: of one relay, or of two that share a Redis. */
export interface Ports {
  readonly device: number;
  readonly browser: number;
}

export interface Session {
  readonly pollSecret: string;
  readonly state: string;
}

async function start({ device }: Ports, body = '{"service":"mal"}'): Promise<Session> {
  const text = await expectStatus(200, device, { method: 'POST', path: '/auth/start', body });
  const { session, url } = JSON.parse(text) as { session: string; url: string };
  return { pollSecret: session, state: url.slice(url.indexOf('=') + 1) };
}

const pollOf = ({ pollSecret }: Session) => ({ path: `/auth/result?session=${pollSecret}` });

/** The user opens the link, and comes back from the provider `userMs` later. */
async function browse({ browser }: Ports, { state }: Session, code: string, userMs: number) {
  await expectStatus(302, browser, { path: `/auth/mal?state=${state}` });
  if (userMs > 0) await Bun.sleep(userMs);
  await expectStatus(200, browser, { path: `/auth/mal/callback?code=${code}&state=${state}` });
}

let codes = 0;

async function signIn(ports: Ports, userMs: number) {
  const session = await start(ports);
  codes += 1;
  const code = String(codes);
  const delivered = expectStatus(200, ports.device, pollOf(session)).then((body) => {
    if (!body.startsWith('{"accessToken"')) throw new Error('the device got no tokens');
    return performance.now();
  });
  const [endMs] = await Promise.all([delivered, browse(ports, session, code, userMs)]);
  const deliveryMs = endMs - (exchangedAtMs.get(code) ?? Number.NaN);
  exchangedAtMs.delete(code);
  return deliveryMs;
}

/** A number of sign-ins as fast as possible, or a rate for some time. */
export type Amount =
  | { readonly count: number; readonly atOnce: number }
  | { readonly perSecond: number; readonly seconds: number };

/**
 * Starts work at random times, as independent users do, whether or not earlier work has ended.
 * Some of it fails when the machine stalls. Rejects if most of it fails.
 */
async function repeatAtRate(perSecond: number, seconds: number, work: () => Promise<unknown>) {
  const endMs = performance.now() + seconds * 1_000;
  const running: Promise<unknown>[] = [];
  const failures: unknown[] = [];
  for (let dueMs = performance.now(); dueMs < endMs; ) {
    if (dueMs > performance.now()) await Bun.sleep(dueMs - performance.now());
    running.push(work().catch((error: unknown) => failures.push(error)));
    dueMs -= (Math.log(1 - Math.random()) * 1_000) / perSecond;
  }
  await Promise.all(running);
  if (failures.length > running.length / 2) throw failures[0];
  return failures.length;
}

export async function signIns(ports: Ports, amount: Amount, userMs = 0) {
  const deliveriesMs: number[] = [];
  const beginMs = performance.now();
  const work = async () => void deliveriesMs.push(await signIn(ports, userMs));
  const failed =
    'perSecond' in amount
      ? await repeatAtRate(amount.perSecond, amount.seconds, work)
      : await eachLimit(amount.atOnce, Array.from({ length: amount.count }), work).then(() => 0);
  return {
    perSecond: (deliveriesMs.length / (performance.now() - beginMs)) * 1_000,
    deliveriesMs,
    failed,
  };
}

/** Where nothing is measured meanwhile. */
const AT_ONCE = 64;

/** Starts `count` sessions. */
export async function hold(ports: Ports, count: number, body?: string): Promise<Session[]> {
  const sessions: Session[] = [];
  await eachLimit(AT_ONCE, Array.from({ length: count }), async () => {
    sessions.push(await start(ports, body));
  });
  return sessions;
}

/** Parks a poll for each session, on a connection of its own. */
export async function park({ device }: Ports, sessions: readonly Session[]) {
  const connections: Connection[] = [];
  await eachLimit(AT_ONCE, sessions, async (session) => {
    const connection = await connect(device);
    connections.push(connection);
    // A response does not matter: `end` polls again.
    connection.send(pollOf(session)).catch(() => {});
  });
  return connections;
}

/** Ends all sessions: each user cancels, and the device polls. Every second device disconnects its parked poll before. */
export async function end(
  { device, browser }: Ports,
  sessions: readonly Session[],
  polls: readonly Connection[] = [],
): Promise<void> {
  polls.forEach((connection, index) => {
    if (index % 2 === 1) connection.close();
  });
  await eachLimit(AT_ONCE, sessions, async (session) => {
    const path = `/auth/mal/callback?error=access_denied&state=${session.state}`;
    await expectStatus(200, browser, { path });
    await send(device, pollOf(session));
  });
  for (const connection of polls) connection.close();
}

/** Users sign in, but no device polls. */
export const completeWithoutPolls = (ports: Ports, sessions: readonly Session[]) =>
  eachLimit(AT_ONCE, sessions, (session) => browse(ports, session, 'unpolled', 0));
