/** How long honest sign-ins take, and how many fail, while others load the relay with something else. */
import { readFileSync } from 'node:fs';
import { DEFAULT_MAX_SESSIONS } from '../../src/limits.ts';
import { record } from '../figures.ts';
import {
  connect,
  hold,
  type Ports,
  requests,
  type Session,
  signIns,
  startProvider,
} from '../load.ts';
import { type Bench, type Column, startWarm, type Target } from '../processes.ts';

const ABUSE = 'A sign-in during abuse';
const SIGN_INS_PER_SECOND = 20;
const IDLE = 20_000;
const SLOW = 2_000;
const SLOW_READERS = 500;
const POLLS_OF_ONE = 1_000;
/** More than the relay has in progress at all providers together: one provider may not use that up. */
const HANGING = 4_500;
const FLOOD_PER_SECOND = 2_000;
const ADDRESSES = 5_000;
const STEP_MS = 1_000;

/** Ends the abuse. */
type Stop = () => void;
type Abuse = (ports: Ports, seconds: number) => Promise<Stop>;

const START = { method: 'POST', path: '/auth/start', body: '{"service":"mal"}' };

const ABUSES: Readonly<Record<string, Abuse>> = {
  'nothing else': async () => () => {},
  [`${describeIdle()} idle connections`]: ({ device }) =>
    openAll(device, idleConnections(), (socket) => socket.write(`${HEALTH}\r\n`)),
  [`${SLOW} slow headers`]: ({ device }) =>
    openAll(device, SLOW, (socket) => socket.write('GET /health HTTP/1.1\r\nX-Slow: '), 'x'),
  [`${SLOW} slow bodies`]: ({ device }) => openAll(device, SLOW, beginBody, ' '),
  [`${SLOW_READERS} slow readers`]: readSlowly,
  [`${POLLS_OF_ONE} polls of one session, again and again`]: pollOneSession,
  [`${HANGING} exchanges with another provider that hangs`]: hangExchanges,
};

/** With the default of MAX_SESSIONS, which a flood fills unless it is refused. */
const FLOODS: Readonly<Record<string, Abuse>> = {
  [`${FLOOD_PER_SECOND} starts a second from one address`]: (ports, seconds) =>
    flood(ports, seconds, () => '192.0.2.1'),
  [`${FLOOD_PER_SECOND} starts a second from one /64`]: (ports, seconds) =>
    flood(ports, seconds, (index) => `2001:db8:0:1::${index.toString(16)}`),
  [`${FLOOD_PER_SECOND} starts a second from ${ADDRESSES} addresses`]: fromManyAddresses,
};

export async function measureAbuse(bench: Bench): Promise<void> {
  const columns: Column[] = bench.redis === undefined ? ['memory'] : ['memory', 'Redis, one relay'];
  const other = `${startProvider()}/token`;
  const settings = { ANILIST_CLIENT_ID: 'bench', ANILIST_TOKEN_URL: other };
  for (const column of columns) {
    await measureEach(bench, await startWarm(bench, column, settings), ABUSES);
    // The store of the next relay has no sessions yet.
    await bench.redis?.cli('FLUSHALL');
    const MAX_SESSIONS = String(DEFAULT_MAX_SESSIONS);
    await measureEach(bench, await startWarm(bench, column, { ...settings, MAX_SESSIONS }), FLOODS);
  }
}

async function measureEach(bench: Bench, target: Target, abuses: typeof ABUSES): Promise<void> {
  for (const [name, begin] of Object.entries(abuses)) await measure(bench, target, name, begin);
  await target.stop();
}

async function measure(
  { plan }: Bench,
  { column, ports }: Target,
  name: string,
  begin: Abuse,
): Promise<void> {
  const stop = await begin(ports, plan.abuseSeconds);
  const amount = { perSecond: SIGN_INS_PER_SECOND, seconds: plan.abuseSeconds };
  // Rejected: most of them failed.
  const measured = await signIns(ports, amount, plan.userMs).catch(() => undefined);
  stop();
  const add = (row: string, value: number) => record(ABUSE, column, `${name}: ${row}`, value);
  if (measured !== undefined) {
    add('p50, ms', measured.whole.p50);
    add('p99, ms', measured.whole.p99);
  }
  const most = SIGN_INS_PER_SECOND * plan.abuseSeconds;
  add(`failed, of ${most}`, measured?.failed ?? most);
}

const HEALTH = 'GET /health HTTP/1.1\r\nHost: relay.test\r\n';

/** The load is one process, and so is the relay: neither may open more than the system lets it. */
function idleConnections(): number {
  const limit = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
  return Math.min(IDLE, Number(limit ?? IDLE) - 4_000);
}

function describeIdle(): string {
  return idleConnections().toLocaleString('en');
}

type Socket = Bun.Socket<undefined>;

/** Opens connections, 64 at a time, and sends on each one more byte a second, if one is given. */
async function openAll(
  port: number,
  count: number,
  begin: (socket: Socket) => unknown,
  drop?: string,
): Promise<Stop> {
  const sockets = new Set<Socket>();
  const close = (socket: Socket) => void sockets.delete(socket);
  // Counted as opened: the relay closes slow ones meanwhile.
  for (let opened = 0; opened < count; opened += 64) {
    const batch = Array.from({ length: 64 }, () =>
      Bun.connect({
        ...{ hostname: '127.0.0.1', port },
        socket: { data() {}, close, error: close },
      }),
    );
    for (const socket of await Promise.all(batch)) {
      sockets.add(socket);
      begin(socket);
    }
  }
  const dripping = setInterval(() => {
    if (drop !== undefined) for (const socket of sockets) socket.write(drop);
  }, STEP_MS);
  return () => {
    clearInterval(dripping);
    for (const socket of sockets) socket.terminate();
  };
}

function beginBody(socket: Socket): void {
  const head = 'POST /auth/start HTTP/1.1\r\nHost: relay.test\r\nX-Forwarded-For: 192.0.2.2\r\n';
  socket.write(`${head}Content-Length: 500\r\n\r\n{`);
}

/** So many responses that buffers of the kernel do not hold them. */
function askAndNeverRead(socket: Socket): void {
  socket.pause();
  socket.write('GET /openapi.json HTTP/1.1\r\nHost: relay.test\r\n\r\n'.repeat(100));
}

/** The requests themselves are served before anything is measured. */
async function readSlowly({ device }: Ports): Promise<Stop> {
  const stop = await openAll(device, SLOW_READERS, askAndNeverRead);
  await Bun.sleep(5 * STEP_MS);
  return stop;
}

/** Each poll is held for a second, then its device disconnects and polls again. */
async function pollOneSession(ports: Ports): Promise<Stop> {
  const [session] = await hold(ports, 1);
  let goesOn = true;
  const pollAgain = async (one: Session) => {
    while (goesOn) {
      const connection = await connect(ports.device);
      connection.send({ path: `/auth/result?session=${one.pollSecret}` }).catch(() => {});
      await Bun.sleep(STEP_MS);
      connection.close();
    }
  };
  if (session !== undefined) {
    for (let index = 0; index < POLLS_OF_ONE; index += 1) void pollAgain(session).catch(() => {});
  }
  return () => {
    goesOn = false;
  };
}

async function flood(
  { device }: Ports,
  seconds: number,
  addressOf: (index: number) => string,
): Promise<Stop> {
  let index = 0;
  const next = () => {
    index += 1;
    return { ...START, client: addressOf(index % 60_000) };
  };
  const amount = { perSecond: FLOOD_PER_SECOND, seconds };
  void requests(device, next, amount).catch(() => {});
  return () => {};
}

function fromManyAddresses(ports: Ports, seconds: number): Promise<Stop> {
  return flood(ports, seconds, (index) => {
    const host = index % ADDRESSES;
    return `198.18.${host >> 8}.${host & 255}`;
  });
}

async function hangExchanges(ports: Ports): Promise<Stop> {
  const sessions = await hold(ports, HANGING, '{"service":"anilist"}');
  const connections = await Promise.all(sessions.map(() => connect(ports.browser)));
  connections.forEach((connection, index) => {
    const path = `/auth/anilist/callback?code=hang&state=${sessions[index]?.state}`;
    connection.send({ path }).catch(() => {});
  });
  return () => {
    for (const connection of connections) connection.close();
  };
}
