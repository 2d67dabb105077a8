/**
 * The load: devices, browsers and a provider, all in this process and on bare
 * sockets. `fetch` would cost it more than the relay spends on a response.
 */

/** Removes the first HTTP message from what was received, once it is complete. */
function takeMessage(received: { text: string }) {
  const headEnd = received.text.indexOf('\r\n\r\n');
  if (headEnd < 0) return undefined;
  const head = received.text.slice(0, headEnd);
  const bodyStart = headEnd + 4;
  // A response without a length has no body: only a 204 is one here.
  const end = bodyStart + Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0);
  if (received.text.length < end) return undefined;
  const body = received.text.slice(bodyStart, end);
  received.text = received.text.slice(end);
  return { head, body };
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
  const received = { text: '' };
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
        received.text += chunk.toString('latin1');
        const message = takeMessage(received);
        if (message === undefined) return;
        const answered = waiting;
        waiting = undefined;
        answered?.resolve({ status: Number(message.head.slice(9, 12)), body: message.body });
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
  const server = Bun.listen<{ text: string }>({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      open(socket) {
        socket.data = { text: '' };
      },
      data(socket, chunk) {
        socket.data.text += chunk.toString('latin1');
        const request = takeMessage(socket.data);
        if (request === undefined) return;
        const code = /(?:^|&)code=([^&]*)/.exec(request.body)?.[1] ?? '';
        const connection = /\r\nconnection: *close/i.test(request.head) ? 'close' : 'keep-alive';
        exchangedAtMs.set(code, performance.now());
        socket.write(
          `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: ${connection}\r\nContent-Length: ${TOKEN_RESPONSE.length}\r\n\r\n${TOKEN_RESPONSE}`,
        );
        if (connection === 'close') socket.end();
      },
      error() {},
    },
  });
  return `http://127.0.0.1:${server.port}`;
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

/** Returns how many failed. */
async function repeat(amount: Amount, work: () => Promise<unknown>): Promise<number> {
  if ('perSecond' in amount) return repeatAtRate(amount.perSecond, amount.seconds, work);
  let left = amount.count;
  async function workInSequence(): Promise<void> {
    while (left > 0) {
      left -= 1;
      await work();
    }
  }
  await Promise.all(Array.from({ length: amount.atOnce }, workInSequence));
  return 0;
}

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
  const failed = await repeat(amount, async () => {
    deliveriesMs.push(await signIn(ports, userMs));
  });
  return {
    perSecond: (deliveriesMs.length / (performance.now() - beginMs)) * 1_000,
    deliveriesMs,
    failed,
  };
}

async function forEach<T>(items: readonly T[], work: (item: T, index: number) => Promise<unknown>) {
  let next = 0;
  await repeat({ count: items.length, atOnce: 64 }, async () => {
    const index = next;
    next += 1;
    await work(items[index] as T, index);
  });
}

/** Starts so many sessions. */
export async function hold(ports: Ports, count: number, body?: string): Promise<Session[]> {
  const sessions: Session[] = [];
  await forEach(Array.from({ length: count }), async (_, index) => {
    sessions[index] = await start(ports, body);
  });
  return sessions;
}

/** Parks a poll for each session, on a connection of its own. */
export async function park({ device }: Ports, sessions: readonly Session[]) {
  const connections: Connection[] = [];
  await forEach(sessions, async (session, index) => {
    const connection = await connect(device);
    connections[index] = connection;
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
  await forEach(sessions, async (session) => {
    const path = `/auth/mal/callback?error=access_denied&state=${session.state}`;
    await expectStatus(200, browser, { path });
    await send(device, pollOf(session));
  });
  for (const connection of polls) connection.close();
}

/** Users sign in, but no device polls. */
export const completeWithoutPolls = (ports: Ports, sessions: readonly Session[]) =>
  forEach(sessions, (session) => browse(ports, session, 'unpolled', 0));
